// Windows of planes as columns of a matrix, and back.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// x (N, C, H, W) or (C, H, W) -> (N, C * kernel, L): column l holds the C windows at place l, in row-major
// order of the places. One number holds for both dims. Padding is zeros.
TARN_API Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                       IntArrayRef stride);
// The gradient of im2col: x (N, C * kernel, L) or (C * kernel, L) -> (N, C, H, W), where (H, W) is
// output_size; elements of several windows are summed.
TARN_API Tensor col2im(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel_size,
                       IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);

// Their names in nn::functional, where unfold is not the method of that name.
namespace detail {
inline Tensor unfold_windows(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation = 1,
                             IntArrayRef padding = 0, IntArrayRef stride = 1) {
  return im2col(x, kernel_size, dilation, padding, stride);
}
inline Tensor fold(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel_size,
                   IntArrayRef dilation = 1, IntArrayRef padding = 0, IntArrayRef stride = 1) {
  return col2im(x, output_size, kernel_size, dilation, padding, stride);
}
}  // namespace detail

}  // namespace tarn::inline v1
