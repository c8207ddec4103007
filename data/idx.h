// IDX, the array files of the MNIST family: two zero bytes, the element type, the rank, the sizes as 32-bit
// big-endian numbers, the elements in row-major order. Mostly gzipped. Format:
// http://yann.lecun.com/exdb/mnist, "file formats".
#pragma once

#include <string>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::data {

// Reads a file, gzipped or not, that must hold a tensor of this dtype and rank. Type, rank, sizes and the
// file's length are checked before memory for the elements is taken. Error: file, position and the rule that
// is broken.
TARN_API Tensor read_idx(const std::string& path, ScalarType dtype, int64_t rank);

}  // namespace tarn::inline v1::data
