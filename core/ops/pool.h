// Pooling over windows of (N, C, H, W) or (C, H, W), or of (N, C, W), (C, W) for the 1d forms and (N, C, D,
// H, W), (C, D, H, W) for the 3d ones. Sizes given as one number hold for all dims; a stride that is not
// given is the kernel's size. channels_last is preserved.
#pragma once

#include <optional>
#include <tuple>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// The largest element of each window; NaN if there is one. Padding (at most half of the kernel) is never
// chosen. ceil_mode lets the last window reach past the end, as long as it starts inside of the input or its
// left padding.
TARN_API Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
TARN_API Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
// Also where each was found: its place in the H * W plane (int64), the first of equals.
TARN_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                            IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                            IntArrayRef dilation = 1, bool ceil_mode = false);
TARN_API std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                            IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                            IntArrayRef dilation = 1, bool ceil_mode = false);
TARN_API Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
// Its places are those in the D * H * W volume.
TARN_API std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                            IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                            IntArrayRef dilation = 1, bool ceil_mode = false);

// The sum of each window over its size, padding counted as zeros or, without count_include_pad, not counted;
// or over divisor_override.
TARN_API Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
TARN_API Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                           std::optional<int64_t> divisor_override = {});
TARN_API Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                           std::optional<int64_t> divisor_override = {});

// Windows that divide the input evenly: output i covers floor(i * in / out) to ceil((i + 1) * in / out).
TARN_API Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size);
TARN_API Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size);
TARN_API Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size);
TARN_API std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size);
TARN_API std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size);
TARN_API std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size);

// max_pool over windows of kernel_size whose starts are spread at random over x: random_samples (N, C, 2 or
// 3), in [0, 1) and of x's dtype, say where, per sample and channel. Source: Graham, arXiv:1412.6071.
TARN_API std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size,
                                                          IntArrayRef output_size,
                                                          const Tensor& random_samples);
TARN_API std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size,
                                                          IntArrayRef output_size,
                                                          const Tensor& random_samples);

// Zeros of output_size, with x's elements where `indices` (of x's sizes, from max_pool) say. Places that are
// named twice hold one of their elements.
TARN_API Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
TARN_API Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size,
                             IntArrayRef stride, IntArrayRef padding);

// What libtorch has in nn::functional alone.
namespace detail {
TARN_API Tensor max_unpool1d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
// (sum of x^p over each window)^(1/p), the largest and smallest |x| for p of inf and -inf.
TARN_API Tensor lp_pool1d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                          bool ceil_mode = false);
TARN_API Tensor lp_pool2d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                          bool ceil_mode = false);
TARN_API Tensor lp_pool3d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                          bool ceil_mode = false);
}  // namespace detail

}  // namespace tarn::inline v1
