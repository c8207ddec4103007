// CRC-32C (Castagnoli), the checksum of TensorBoard's record files. Private.
#pragma once

#include <cstdint>
#include <string_view>

namespace tarn::inline v1::data::detail {

uint32_t crc32c(std::string_view bytes);

}  // namespace tarn::inline v1::data::detail
