// Connectionist temporal classification.
#pragma once

#include <tarn/core/reduction.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// Minus the log-probability of a labelling of unknown alignment. log_probs (T, N, C) or (T, C); targets (N,
// S), or all of them one after another, without blanks; lengths of each sample's input and target. Mean
// divides each loss by its target's length (at least 1) and averages. Where no alignment exists the loss is
// infinite, or 0 with 0 gradients if zero_infinity. On the CPU only; differentiable once. The gradient is
// that of log_probs as free variables; PyTorch's holds behind a log_softmax only, where the two agree.
// Source: Graves et al., ICML 2006.
TARN_API Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                         IntArrayRef target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                         bool zero_infinity = false);
TARN_API Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                         const Tensor& target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                         bool zero_infinity = false);

}  // namespace tarn::inline v1
