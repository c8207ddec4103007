// Private to core/ops.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// Moves batch_norm's running statistics, both (C) and in place, to a batch's mean and biased variance
// (double), which were taken over `count` elements of each channel.
void move_running_statistics(const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
                             const Tensor& variance, double momentum, int64_t count);

}  // namespace tarn::inline v1::detail
