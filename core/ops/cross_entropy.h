// Losses of classification.
#pragma once

#include <tarn/core/reduction.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// The negative log-likelihood: -weight[t] * x[n, t] for each target t, where x (N, C), (C) or (N, C, d1, ...)
// holds log-probabilities and target (N), () or (N, d1, ...) class numbers (int64). A target equal to
// ignore_index adds nothing. Mean divides by the sum of the targets' weights; reduction None gives target's
// sizes. weight: (C), of x's dtype.
TARN_API Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                         int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);

// nll_loss(log_softmax(x, 1), target, ...) in one pass over x. label_smoothing e mixes in the mean over all
// classes with share e. A target of x's sizes and a floating dtype holds probabilities instead of class
// numbers; ignore_index has no meaning then and Mean divides by the number of predictions.
TARN_API Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                   int64_t reduction = Reduction::Mean, int64_t ignore_index = -100,
                                   double label_smoothing = 0);

}  // namespace tarn::inline v1
