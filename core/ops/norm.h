// Normalisations.
#pragma once

#include <optional>

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

// The same for x (N, C, ...) over groups of C / num_groups channels with all that follows; weight and bias
// (C). Source: Wu and He, arXiv:1803.08494.
TARN_API Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {},
                           const Tensor& bias = {}, double eps = 1e-5, bool cudnn_enabled = true);

// batch_norm of each sample by itself. With use_input_stats the running statistics, if defined, move to the
// mean of the samples' ones. Source: Ulyanov, Vedaldi and Lempitsky, arXiv:1607.08022.
TARN_API Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                              double momentum, double eps, bool cudnn_enabled = true);

// x / sqrt(mean(x^2) + eps) * weight over the last dims of x, whose sizes are normalized_shape, as is
// weight's. eps defaults to the epsilon of the type computed in, float for 16-bit floats. Source: Zhang and
// Sennrich, arXiv:1910.07467.
TARN_API Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                         std::optional<double> eps = {});

namespace detail {
// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta for x (N, C, ...). Source: Krizhevsky,
// Sutskever and Hinton, 2012, section 3.3. libtorch has it in nn::functional alone.
TARN_API Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                                    double k = 1);
}  // namespace detail

}  // namespace tarn::inline v1
