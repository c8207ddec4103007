// PNG images from tensors of bytes.
#pragma once

#include <string>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::data {

// The PNG file's bytes for an image of dtype uint8, (1, H, W) grey, (3, H, W) RGB, (4, H, W) RGBA or (H, W)
// grey.
TARN_API std::string encode_png(const Tensor& image);

// Writes encode_png(image) to a file.
TARN_API void write_png(const std::string& path, const Tensor& image);

}  // namespace tarn::inline v1::data
