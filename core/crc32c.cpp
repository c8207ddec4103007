#include <tarn/core/crc32c.h>

#include <array>
#include <bit>
#include <cstring>

namespace tarn::inline v1::detail {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

// table[k][b]: what byte b adds to the checksum when k more bytes follow it in its word.
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  Tables t = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t c = byte;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    t[0][byte] = c;
  }
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (size_t k = 1; k < 8; ++k) t[k][byte] = t[k - 1][byte] >> 8 ^ t[0][t[k - 1][byte] & 255];
  return t;
}
constexpr Tables kTables = make_tables();

uint64_t word_at(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint32_t add_byte(uint32_t c, char byte) { return kTables[0][(c ^ uint8_t(byte)) & 255] ^ c >> 8; }

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] uint32_t crc32c_by_instruction(std::string_view bytes, uint32_t before) {
  uint64_t c = uint32_t(~before);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) c = __builtin_ia32_crc32di(c, word_at(bytes.data() + i));
  for (; i < bytes.size(); ++i) c = add_byte(uint32_t(c), bytes[i]);
  return ~uint32_t(c);
}
bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }
#else
uint32_t crc32c_by_instruction(std::string_view bytes, uint32_t before) {
  return crc32c_by_table(bytes, before);
}
bool has_instruction() { return false; }
#endif

}  // namespace

// Eight tables, eight bytes at a time (Kounavis and Berry, 2005).
uint32_t crc32c_by_table(std::string_view bytes, uint32_t before) {
  uint32_t c = ~before;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = word_at(bytes.data() + i) ^ c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][word >> (8 * k) & 255];
  }
  for (; i < bytes.size(); ++i) c = add_byte(c, bytes[i]);
  return ~c;
}

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  return has_instruction() ? crc32c_by_instruction(bytes, before) : crc32c_by_table(bytes, before);
}

}  // namespace tarn::inline v1::detail
