// Comparisons of whole tensors.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// |a - b| <= atol + rtol * |b|, by element; infinities are close to themselves, NaN to NaN if `equal_nan`.
// Both tensors have one dtype and broadcast.
TARN_API Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                        bool equal_nan = false);
// Whether all elements are close.
TARN_API bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false);
// Whether sizes and all elements are equal; NaN equals nothing. Both tensors have one dtype.
TARN_API bool equal(const Tensor& a, const Tensor& b);

}  // namespace tarn::inline v1
