// Reductions. `dims` may be negative; an empty list means all of them. With keepdim the reduced dims stay
// as 1. Dims outside of the tensor or given twice are Errors. Sums of integers and bools are int64; 16-bit
// floats accumulate in float. Results do not depend on the number of threads.
#pragma once

#include <optional>
#include <tuple>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// With a dtype, x is converted first.
TARN_API Tensor sum(const Tensor& x, std::optional<ScalarType> dtype = {});
TARN_API Tensor sum(const Tensor& x, IntArrayRef dims, bool keepdim = false,
                    std::optional<ScalarType> dtype = {});
// Needs a floating tensor or dtype. Does not overflow where the mean itself is finite; NaN where there is
// nothing.
TARN_API Tensor mean(const Tensor& x, std::optional<ScalarType> dtype = {});
TARN_API Tensor mean(const Tensor& x, IntArrayRef dims, bool keepdim = false,
                     std::optional<ScalarType> dtype = {});

// The largest and smallest element; NaN if there is one. A reduced dim of size 0 is an Error. Ties share the
// gradient.
TARN_API Tensor amax(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
TARN_API Tensor amin(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
TARN_API Tensor max(const Tensor& x);
TARN_API Tensor min(const Tensor& x);
// The values along one dim and where they are (int64): the first place of the largest, or of the first NaN.
// The gradient goes to that place.
TARN_API std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
TARN_API std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
// Just the place; without a dim, in the tensor flattened row by row.
TARN_API Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
TARN_API Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

}  // namespace tarn::inline v1
