// Reductions. `dims` may be negative; an empty list means all of them. With keepdim the reduced dims stay
// as 1. Dims outside of the tensor or given twice are Errors. Sums of integers and bools are int64; 16-bit
// floats accumulate in float. Results do not depend on the number of threads.
#pragma once

#include <concepts>
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

// amin and amax, over one dim or all; of no elements an Error.
TARN_API std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                            bool keepdim = false);

// sum and mean of the elements that are not NaN; the mean of none is NaN. The gradient at a NaN
// is 0, also where PyTorch's is NaN because nothing else is left. nanmean needs a floating tensor.
TARN_API Tensor nansum(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false,
                       std::optional<ScalarType> dtype = {});
TARN_API Tensor nanmean(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false,
                        std::optional<ScalarType> dtype = {});

TARN_API Tensor prod(const Tensor& x, std::optional<ScalarType> dtype = {});
TARN_API Tensor prod(const Tensor& x, int64_t dim, bool keepdim = false,
                     std::optional<ScalarType> dtype = {});

// Whether any or every element is not zero; NaN is not. Bool, but uint8 of uint8.
TARN_API Tensor any(const Tensor& x);
TARN_API Tensor any(const Tensor& x, int64_t dim, bool keepdim = false);
TARN_API Tensor any(const Tensor& x, IntArrayRef dims, bool keepdim = false);
TARN_API Tensor all(const Tensor& x);
TARN_API Tensor all(const Tensor& x, int64_t dim, bool keepdim = false);
TARN_API Tensor all(const Tensor& x, IntArrayRef dims, bool keepdim = false);
// How many elements are not zero (Long); NaN is not.
TARN_API Tensor count_nonzero(const Tensor& x, IntArrayRef dims = {});

// Variance and standard deviation by the corrected two-pass algorithm (Chan, Golub and LeVeque, 1983). The
// sum of squares is divided by n - 1 if unbiased, by n - correction, or by n; by 0 where that is negative.
// Need a floating tensor.
TARN_API Tensor var(const Tensor& x, IntArrayRef dims, bool unbiased = true, bool keepdim = false);
TARN_API Tensor var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction,
                    bool keepdim = false);
TARN_API Tensor std(const Tensor& x, IntArrayRef dims, bool unbiased = true, bool keepdim = false);
TARN_API Tensor std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction,
                    bool keepdim = false);
// Together with the mean.
TARN_API std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, bool unbiased = true,
                                             bool keepdim = false);
TARN_API std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, bool unbiased = true,
                                             bool keepdim = false);
inline Tensor var(const Tensor& x, IntArrayRef dims, int correction, bool keepdim = false) {
  return var(x, dims, std::optional<Scalar>(correction), keepdim);
}
inline Tensor std(const Tensor& x, IntArrayRef dims, int correction, bool keepdim = false) {
  return std(x, dims, std::optional<Scalar>(correction), keepdim);
}
// Over all dims. A bool and nothing that converts to one: var(x, 1) and var(x, {1}) mean dim 1.
inline Tensor var(const Tensor& x) { return var(x, IntArrayRef{}, true); }
template <std::same_as<bool> B>
Tensor var(const Tensor& x, B unbiased) {
  return var(x, IntArrayRef{}, unbiased);
}
inline Tensor std(const Tensor& x) { return std(x, IntArrayRef{}, true); }
template <std::same_as<bool> B>
Tensor std(const Tensor& x, B unbiased) {
  return std(x, IntArrayRef{}, unbiased);
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& x) { return var_mean(x, IntArrayRef{}, true); }
template <std::same_as<bool> B>
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, B unbiased) {
  return var_mean(x, IntArrayRef{}, unbiased);
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& x) { return std_mean(x, IntArrayRef{}, true); }
template <std::same_as<bool> B>
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, B unbiased) {
  return std_mean(x, IntArrayRef{}, unbiased);
}

// sum(|x|^p)^(1/p) over the elements, whatever the dims: p = 2 is the Euclidean norm, inf and -inf the
// largest and smallest |x|, 0 the number of elements that are not 0. Needs a floating tensor. p = 2 does not
// overflow where the norm is finite.
TARN_API Tensor norm(const Tensor& x, const Scalar& p = 2);
TARN_API Tensor norm(const Tensor& x, const Scalar& p, IntArrayRef dims, bool keepdim = false);

// log(sum(exp(x))), safe for large values. Needs a floating tensor.
TARN_API Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keepdim = false);

// y[i] = x[0] + ... + x[i] along dim. With a dtype, x is converted first; integers and bools give int64.
TARN_API Tensor cumsum(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype = {});
// y[i] = x[0] * ... * x[i], likewise.
TARN_API Tensor cumprod(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype = {});
// y[i] = log(exp(x[0]) + ... + exp(x[i])), safe for large values. Needs a floating tensor.
TARN_API Tensor logcumsumexp(const Tensor& x, int64_t dim);
// The largest (smallest) of x[0] to x[i] and where it is (Long): of equals the last, from a NaN on the last
// NaN. The gradient goes to that place.
TARN_API std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
TARN_API std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);

}  // namespace tarn::inline v1
