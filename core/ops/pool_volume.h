// The geometry of pooling in up to three dims. Private to core/ops.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

struct VolumeWindows {
  int64_t adaptive = 0;    // then `out` are the output's sizes and the rest is unused
  int64_t fractional = 0;  // windows of `kernel`, `out` of them, starting where samples say
  int64_t kernel[3] = {}, stride[3] = {}, padding[3] = {}, dilation[3] = {1, 1, 1};
  int64_t ceil_mode = 0;
  int64_t out[3] = {};
};

// x as (N, C, D, H, W), and a result back in x's rank.
Tensor to_volumes(const char* op, const Tensor& x);
Tensor from_volumes(const Tensor& y, const Tensor& x);

// Kernel, stride (empty: the kernel), padding and dilation as one number or three; checks and computes `out`
// for inputs of x's sizes (N, C, D, H, W).
VolumeWindows volume_windows(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);
VolumeWindows adaptive_windows(const char* op, const Tensor& x, IntArrayRef output_size);

// x (N, C, D, H, W) -> values and places (Long). samples (N, C, 3) are undefined but for fractional windows,
// whose places they give for D, H and W.
std::tuple<Tensor, Tensor> max_pool_volume(const Tensor& x, const Tensor& samples,
                                           const VolumeWindows& windows);

}  // namespace tarn::inline v1::detail
