// Convolutions (cross-correlations, as everywhere in deep learning).
#pragma once

#include <string_view>
#include <type_traits>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// y[n, o, p] = bias[o] + sum over c, k of x[n, c, p * stride + k * dilation - padding] * weight[o, c, k].
// x is (N, C, W), (N, C, H, W) or (N, C, D, H, W), or lacks the N; weight (O, C / groups, kernel...), bias
// (O). stride, padding and dilation are one number for all dims or one per dim. An input or weight in
// channels_last gives a channels_last result.
TARN_API Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                       IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
TARN_API Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                       IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
TARN_API Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                       IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);

// The gradient of such a convolution with respect to its input, as a layer: x (N, C, ...) has the sizes of
// the convolution's result, weight is (C, O / groups, kernel...), bias (O), and the result is (N, O, ...)
// with sizes (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1. output_padding,
// less than stride or dilation, says which of the input sizes that give x's is meant.
TARN_API Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                 IntArrayRef stride = 1, IntArrayRef padding = 0,
                                 IntArrayRef output_padding = 0, int64_t groups = 1,
                                 IntArrayRef dilation = 1);
TARN_API Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                 IntArrayRef stride = 1, IntArrayRef padding = 0,
                                 IntArrayRef output_padding = 0, int64_t groups = 1,
                                 IntArrayRef dilation = 1);
TARN_API Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                 IntArrayRef stride = 1, IntArrayRef padding = 0,
                                 IntArrayRef output_padding = 0, int64_t groups = 1,
                                 IntArrayRef dilation = 1);

namespace detail {
// `padding` is "valid" (none) or "same": as many outputs as inputs, stride 1; the odd one of an even window's
// padding comes last. nd is 1, 2 or 3.
TARN_API Tensor conv_by_name(int nd, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             IntArrayRef stride, std::string_view padding, IntArrayRef dilation,
                             int64_t groups);
// What a padding given as text may be; not the literal 0, which is a null pointer too.
template <class S>
concept PaddingName = std::is_convertible_v<S, std::string_view> && !std::is_integral_v<S>;
}  // namespace detail

template <detail::PaddingName S>
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const S& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return detail::conv_by_name(1, x, weight, bias, stride, padding, dilation, groups);
}
template <detail::PaddingName S>
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const S& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return detail::conv_by_name(2, x, weight, bias, stride, padding, dilation, groups);
}
template <detail::PaddingName S>
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const S& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return detail::conv_by_name(3, x, weight, bias, stride, padding, dilation, groups);
}

}  // namespace tarn::inline v1
