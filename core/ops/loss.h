// Losses of regression, of yes-or-no answers and of margins; those of classification are in cross_entropy.h.
// All are composites. Mean divides by the number of losses that None returns. 16-bit floats are computed in
// float.
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
// -weight * (target * log(x) + (1 - target) * log(1 - x)), reduced, for probabilities x; logarithms are at
// least -100. Where x is 0 or 1 they have no gradient, and outside of [0, 1] the result is NaN (PyTorch:
// gradients of 1e12, an error).
TARN_API Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                     int64_t reduction = Reduction::Mean);

// (x - target)^2 / (2 beta) where |x - target| < beta, elsewhere |x - target| - beta / 2. Source: Girshick,
// arXiv:1504.08083.
TARN_API Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
                               double beta = 1);
// delta times smooth_l1_loss of beta = delta. Source: Huber, 1964.
TARN_API Tensor huber_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
                           double delta = 1);

// target * (log(target) - x), or exp(target) * (target - x) with log_target: x holds log-probabilities. Mean
// is over all elements; the divergence per sample is sum / N.
TARN_API Tensor kl_div(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
                       bool log_target = false);

// exp(x) - target * x, or x - target * log(x + eps) without log_input; with `full`, plus Stirling's formula
// for log(target!) where target > 1.
TARN_API Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full, double eps,
                                 int64_t reduction);

// x where target is 1, max(0, margin - x) where it is -1, their sum elsewhere.
TARN_API Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                                     int64_t reduction = Reduction::Mean);
// 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where it is -1. x1, x2 (N, D) with target
// (N), or (D) with ().
TARN_API Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                                      double margin = 0, int64_t reduction = Reduction::Mean);
// max(0, -target * (x1 - x2) + margin).
TARN_API Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                                    double margin = 0, int64_t reduction = Reduction::Mean);
// log(1 + exp(-target * x)), without overflow.
TARN_API Tensor soft_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);
// weight[t] / C times the sum over classes j other than t of max(0, margin - x[t] + x[j])^p, for x (N, C)
// with targets t (N), or (C) with (). p is 1 or 2.
TARN_API Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p = 1,
                                  const Scalar& margin = 1, const Tensor& weight = {},
                                  int64_t reduction = Reduction::Mean);
// 1 / C times the sum over target classes t and other classes j of max(0, 1 - x[t] + x[j]); x and target (N,
// C) or (C). The targets (Long) of a sample stand before its first -1.
TARN_API Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                                       int64_t reduction = Reduction::Mean);
// max(0, margin + |anchor - positive + eps| - |anchor - negative + eps|) in p-norms over the last dim. With
// `swap`, the second distance is at most that of positive and negative. Source: Balntas et al., BMVC 2016.
TARN_API Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                    double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                                    int64_t reduction = Reduction::Mean);

// What libtorch has in nn::functional alone.
namespace detail {
// (log(var) + (x - target)^2 / var) / 2, with `full` plus log(2 pi) / 2. var is at least eps, which its
// gradient does not see; it has x's sizes, or lacks the last dim, or 1 stands there.
TARN_API Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full = false,
                                  double eps = 1e-6, int64_t reduction = Reduction::Mean);
// Mean over the last dim of binary_cross_entropy_with_logits, each class weighted.
TARN_API Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                            int64_t reduction = Reduction::Mean);
}  // namespace detail

}  // namespace tarn::inline v1
