// Matrix products. All tensors of one call have one dtype; Half and BFloat16 are summed in float.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// (n, k) x (k, m) -> (n, m).
TARN_API Tensor mm(const Tensor& a, const Tensor& b);
// (B, n, k) x (B, k, m) -> (B, n, m).
TARN_API Tensor bmm(const Tensor& a, const Tensor& b);
// (n, k) x (k) -> (n).
TARN_API Tensor mv(const Tensor& matrix, const Tensor& vector);
// (k) x (k) -> ().
TARN_API Tensor dot(const Tensor& a, const Tensor& b);
// (n) x (m) -> (n, m).
TARN_API Tensor outer(const Tensor& a, const Tensor& b);
// dot, mv, mm or bmm by the ranks: a vector on the left is a row, one on the right a column, and leading dims
// are a batch that broadcasts. Source: numpy.matmul.
TARN_API Tensor matmul(const Tensor& a, const Tensor& b);
// beta * c + alpha * (a x b); c broadcasts to (n, m). With beta = 0, c is not read.
TARN_API Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                      const Scalar& alpha = 1);
// The same for batches: c broadcasts to (B, n, m).
TARN_API Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                        const Scalar& alpha = 1);
// x (..., in) times the transpose of weight (out, in), plus bias (out) -> (..., out). A weight (in) gives
// (...).
TARN_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tarn::inline v1
