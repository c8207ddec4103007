// Normalisations.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// y = (x - mean) / sqrt(var + eps) * weight + bias per channel, for x (N, C, ...). weight, bias (C) may be
// undefined: 1, 0. Training takes mean and (biased) variance over all but the channels, and moves
// running_mean and running_var, if defined, to them by `momentum` (the variance unbiased). Otherwise the
// running ones are used. Statistics are summed in double. Source: Ioffe and Szegedy, arXiv:1502.03167.
TARN_API Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum = 0.1, double eps = 1e-5, bool cudnn_enabled = true);

// The same over the last dims of x, whose sizes are normalized_shape: statistics per row, weight and bias (of
// normalized_shape) per element. Source: Ba, Kiros and Hinton, arXiv:1607.06450.
TARN_API Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                           const Tensor& bias = {}, double eps = 1e-5, bool cudnn_enabled = true);

}  // namespace tarn::inline v1
