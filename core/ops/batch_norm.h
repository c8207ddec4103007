// Batch normalisation in two parts, for the compile layer, which fuses the second with what stands around it.
// Private to core/ops and compile.
#pragma once

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

// Training: inputs x (N, C, ...), weight, bias; outputs y, mean, 1 / sqrt(var + eps), biased variance.
// Scalar: eps.
extern const Op batch_norm_op;

// The same inputs and scalar; outputs mean, 1 / sqrt(var + eps), biased variance, and the coefficients (4, C)
// of
//   y = (x - c[0] - c[1]) * c[2] + c[3]
// to the bit, computed in the coefficients' dtype.
extern const Op batch_norm_statistics_op;

// Op::cuda of training, of its gradient, and of evaluation.
void batch_norm_train_cuda(const Args& a, Tensor* out);
void batch_norm_backward_cuda(const Args& a, Tensor* out);
void batch_norm_eval_cuda(const Args& a, Tensor* out);

}  // namespace tarn::inline v1::detail
