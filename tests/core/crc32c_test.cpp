#include <tarn/core/crc32c.h>

#include <string>

#include <tarn/tests/catch.h>

using tarn::detail::crc32c;
using tarn::detail::crc32c_by_table;

TEST_CASE("crc32c gives the check values of the standard") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c("") == 0u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, B.4
}

TEST_CASE("crc32c is the same by table and by instruction, in one go and in parts") {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    uint32_t whole = crc32c(text);
    CHECK(crc32c_by_table(text) == whole);
    std::string_view all = text;
    for (size_t cut : {size_t(1), size_t(8), size_t(13)})
      if (cut <= all.size()) CHECK(crc32c(all.substr(cut), crc32c(all.substr(0, cut))) == whole);
    text.push_back(char(i * 37 + 5));
  }
}
