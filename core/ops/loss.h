// Losses of regression and of yes-or-no answers; those of classification are in cross_entropy.h. All are
// composites.
#pragma once

#include <tarn/core/reduction.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// (x - target)^2 and |x - target|, reduced; x and target broadcast, as in PyTorch.
TARN_API Tensor mse_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);
TARN_API Tensor l1_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);

// -weight * (pos_weight * target * log(sigmoid(x)) + (1 - target) * log(1 - sigmoid(x))), reduced, for logits
// x of any size and targets of x's sizes; the weights broadcast to them.
TARN_API Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                                 const Tensor& weight = {}, const Tensor& pos_weight = {},
                                                 int64_t reduction = Reduction::Mean);

}  // namespace tarn::inline v1
