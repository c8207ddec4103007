// CRC-32C (Castagnoli, RFC 3720): the checksum of TensorBoard's record files and of our checkpoints. Private.
#pragma once

#include <cstdint>
#include <string_view>

namespace tarn::inline v1::detail {

// The checksum of a text whose beginning has the checksum `before` and whose rest is `bytes`.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

// The same without the CPU's instruction for it. Apart for tests.
uint32_t crc32c_by_table(std::string_view bytes, uint32_t before = 0);

}  // namespace tarn::inline v1::detail
