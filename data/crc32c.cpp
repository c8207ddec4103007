#include <tarn/data/crc32c.h>

#include <array>

namespace tarn::inline v1::data::detail {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t c = byte;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    table[byte] = c;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t c = ~0u;
  for (char byte : bytes) c = kTable[(c ^ uint8_t(byte)) & 255] ^ c >> 8;
  return ~c;
}

}  // namespace tarn::inline v1::data::detail
