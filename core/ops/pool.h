// Pooling over windows of (N, C, H, W) or (C, H, W), or of (N, C, W), (C, W) for the 1d forms. Sizes given as
// one number hold for both dims; a stride that is not given is the kernel's size. channels_last is preserved.
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

// The sum of each window over its size, padding counted as zeros or, without count_include_pad, not counted;
// or over divisor_override.
TARN_API Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
TARN_API Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                           IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                           std::optional<int64_t> divisor_override = {});

// Windows that divide the input evenly: output i covers floor(i * in / out) to ceil((i + 1) * in / out).
TARN_API Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size);
TARN_API Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size);
TARN_API std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size);

}  // namespace tarn::inline v1
