// Order: sorting, ranks, distinct values, search in sorted tensors, histograms, differences and statistics.
// Names, defaults and results are PyTorch's (torch 2.15). `dim` may be negative; a dim outside of the tensor
// is an Error. Any dtype but where said. NaN is larger than every number; zeros of both signs are equal. Of
// equal elements the first comes first, where PyTorch leaves open which. Gradients of values go to the places
// they came from. On a device the work is done by the CPU, on copies.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// --- sorting ---

// The elements along dim in order, and where they were (Long). Always stable.
TARN_API std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
TARN_API std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool> stable, int64_t dim = -1,
                                         bool descending = false);
// Just the places.
TARN_API Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
// A bool and nothing that converts to one: argsort(x, 0) means dim 0.
template <std::same_as<bool> B>
Tensor argsort(const Tensor& x, B stable, int64_t dim = -1, bool descending = false) {
  return std::get<1>(sort(x, std::optional<bool>(stable), dim, descending));
}
// Sorted along the first dim.
TARN_API Tensor msort(const Tensor& x);
// The k largest (or smallest) elements along dim, best first whatever `sorted` says, and their places. k
// outside of 0 to the dim's size is an Error.
TARN_API std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true,
                                         bool sorted = true);

// --- elements by rank ---

// The k-th smallest element along dim, k from 1, and its place. A dim of size 0 is an Error.
TARN_API std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1,
                                             bool keepdim = false);
// The middle element, the lower one of two. Where there is a NaN, that; nanmedian passes NaNs over. Of the
// whole tensor (elements equal to it share the gradient; NaN if it is empty), or along dim with its place.
TARN_API Tensor median(const Tensor& x);
TARN_API std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
TARN_API Tensor nanmedian(const Tensor& x);
TARN_API std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
// The element that occurs most often along dim, the smallest of several, and the last of its places.
TARN_API std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
// The element at rank q * (n - 1) of n, along dim or of the whole tensor; between two elements by
// `interpolation`: "linear", "lower", "higher", "nearest" (halves to the even rank), "midpoint". q is a
// number or (Q), of x's dtype, in [0, 1]; the result is (Q, ...), without Q for a number. NaN where there is
// one; nanquantile passes NaNs over. Float and Double only; no elements, no result but an Error.
TARN_API Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {},
                         bool keepdim = false, std::string_view interpolation = "linear");
TARN_API Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                         std::string_view interpolation = "linear");
TARN_API Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {},
                            bool keepdim = false, std::string_view interpolation = "linear");
TARN_API Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                            std::string_view interpolation = "linear");

// --- distinct values; without gradient ---

// The distinct elements, sorted (whatever `sorted` says); with the inverse, the place of each element of x
// among them (of x's shape), and the counts; those are empty where not asked for. With a dim: the distinct
// slices along it, in lexicographic order; then no other dim may be empty. NaN differs from NaN.
TARN_API std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& x, bool sorted = true,
                                                   bool return_inverse = false, bool return_counts = false,
                                                   std::optional<int64_t> dim = {});
// The same without sorting: of each run of equal neighbours the first.
TARN_API std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse = false,
                                                               bool return_counts = false,
                                                               std::optional<int64_t> dim = {});
// unique under libtorch's names.
inline std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool sorted = true,
                                                   bool return_inverse = false, bool return_counts = false) {
  return unique(x, sorted, return_inverse, return_counts);
}
inline std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, bool sorted = true,
                                                     bool return_inverse = false,
                                                     bool return_counts = false) {
  return unique(x, sorted, return_inverse, return_counts, dim);
}

// --- search; without gradient ---

// Where each value would be inserted into the sequence (..., n), sorted along its last dim: before elements
// equal to it, behind them with right = true or side "right". The sequence has 1 dim or agrees with the
// values in all dims but the last; a number needs 1 dim. `sorter` (Long, the sequence's shape) sorts a
// sequence that is not. dtypes are promoted. Long, or Int with out_int32. That the sequence is sorted is not
// checked.
TARN_API Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32 = false,
                             bool right = false, std::optional<std::string_view> side = {},
                             const std::optional<Tensor>& sorter = {});
TARN_API Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, bool out_int32 = false,
                             bool right = false, std::optional<std::string_view> side = {},
                             const std::optional<Tensor>& sorter = {});
// The same with boundaries (n): i where boundaries[i - 1] < x <= boundaries[i], with right = true where
// boundaries[i - 1] <= x < boundaries[i].
TARN_API Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32 = false,
                          bool right = false);
TARN_API Tensor bucketize(const Scalar& value, const Tensor& boundaries, bool out_int32 = false,
                          bool right = false);
// The places of the elements that are not zero, (count, rank), Long: nonzero().
TARN_API Tensor argwhere(const Tensor& x);

// --- histograms; without gradient ---

// out[v] = how often v occurs in x, integers (N) that are not negative; or the sum of the weights (N) there,
// Float of Float weights, else Double. At least `minlength` long.
TARN_API Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);
// Counts in `bins` bins of equal width from min to max, of x's floating dtype; max belongs to the last bin.
// Elements outside and NaN are not counted. min = max: from the least to the largest element.
TARN_API Tensor histc(const Tensor& x, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);

// --- differences, integrals, statistics ---

// The n-th differences along dim, of x with `prepend` and `append` joined on; exclusive or of Bool.
TARN_API Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1,
                     const std::optional<Tensor>& prepend = {}, const std::optional<Tensor>& append = {});
// The integral of y along dim by the trapezoidal rule, at points x (n, or a shape that broadcasts with y's)
// or dx apart; cumulative: up to each point but the first.
TARN_API Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
TARN_API Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
TARN_API Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
TARN_API Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
// Covariances (V, V) of the variables x (V, N), or the variance of x (N). fweights (N), integers, says how
// often an observation counts, aweights (N), floating, how much. The divisor is N - correction, at least 0.
TARN_API Tensor cov(const Tensor& x, int64_t correction = 1, const std::optional<Tensor>& fweights = {},
                    const std::optional<Tensor>& aweights = {});
// Correlation coefficients (V, V) by Pearson of x (V, N); 0-dim of x (N).
TARN_API Tensor corrcoef(const Tensor& x);
// norm(a - b, p).
TARN_API Tensor dist(const Tensor& a, const Tensor& b, const Scalar& p = 2);

}  // namespace tarn::inline v1
