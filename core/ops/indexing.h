// Indexing: x.index({0, Slice(1, None), "...", mask}), and the ops that pick, gather and scatter elements.
#pragma once

#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

namespace indexing {

struct NoneType {};
inline constexpr NoneType None{};
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};

// start:stop:step, each may be None.
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  struct Bound {
    std::optional<int64_t> value;
    Bound() = default;
    Bound(NoneType) {}
    Bound(std::nullopt_t) {}
    template <class T>
    requires std::is_integral_v<T> Bound(T v) : value(int64_t(v)) {}
    Bound(std::optional<int64_t> v) : value(v) {}
  };
  Slice(Bound start_ = {}, Bound stop_ = {}, Bound step_ = {})
      : start(start_.value), stop(stop_.value), step(step_.value.value_or(1)) {}
};

// One place of an index: None, Ellipsis or "...", an integer, a bool, a Slice, or a tensor of integers or
// bools.
class TARN_API TensorIndex {
 public:
  enum class Kind { None, Ellipsis, Integer, Boolean, Slice, Tensor };

  TensorIndex(NoneType) : kind_(Kind::None) {}
  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(EllipsisType) : kind_(Kind::Ellipsis) {}
  TensorIndex(const char* text);
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) TensorIndex(T i)
      : kind_(Kind::Integer), integer_(int64_t(i)) {}
  template <class T>
  requires std::is_same_v<T, bool> TensorIndex(T b) : kind_(Kind::Boolean), integer_(b) {}
  TensorIndex(Slice s) : kind_(Kind::Slice), slice_(s) {}
  TensorIndex(Tensor t) : kind_(Kind::Tensor), tensor_(std::move(t)) {}

  Kind kind() const { return kind_; }
  int64_t integer() const { return integer_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};

}  // namespace indexing

// x with x[indices] = value, or += value where `accumulate`; one place may be named twice then. `value` has
// x's dtype or is cast to it, and broadcasts.
TARN_API Tensor index_put(const Tensor& x, ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                          bool accumulate = false);
TARN_API Tensor& index_put_(const Tensor& x, ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                            bool accumulate = false);

// Joins tensors along an existing dim; all other sizes must agree. dtypes are promoted.
TARN_API Tensor cat(TensorList tensors, int64_t dim = 0);
TARN_API Tensor concat(TensorList tensors, int64_t dim = 0);
// Joins tensors of one shape along a new dim.
TARN_API Tensor stack(TensorList tensors, int64_t dim = 0);

// x[..., index[i], ...] along dim; index is a 0-dim or 1-dim tensor of Int or Long.
TARN_API Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
// out[i][j] = x[index[i][j]][j] (dim 0); index has x's rank and fits inside x elsewhere.
TARN_API Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
// x with x[index[i][j]][j] += src[i][j] (dim 0), in the order of src.
TARN_API Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
TARN_API Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
TARN_API Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value);
// x with src's elements brought in by "sum", "prod", "mean", "amax" or "amin"; without include_self the
// elements of x that an index names do not take part. Means of integers are rounded down.
TARN_API Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                               std::string_view reduce, bool include_self = true);
// x with x[..., index[i], ...] += alpha * src[..., i, ...] along dim, = src[..., i, ...] (of places that are
// named twice the last counts), = value (a number or 0-dim tensor). index is 0-dim or 1-dim, Int or Long;
// negative numbers count from the end, which PyTorch refuses. src has x's dtype.
TARN_API Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                          const Scalar& alpha = 1);
TARN_API Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
TARN_API Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value);
TARN_API Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);
// x with the elements where mask (Bool, broadcast to x) is true replaced by source's first ones, in order.
TARN_API Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
// The elements at `index` (Long, any shape) of the flattened x, in index's shape; put() writes them, the
// elements of source in order.
TARN_API Tensor take(const Tensor& x, const Tensor& index);
TARN_API Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate = false);
// gather() where x and index (Long) broadcast in all dims but `dim`; without dim: of the flattened ones.
TARN_API Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim = {});
// The elements where mask (broadcast with x) is true, as a 1-dim tensor.
TARN_API Tensor masked_select(const Tensor& x, const Tensor& mask);
// The places of the elements that are not zero, (count, rank), Long.
TARN_API Tensor nonzero(const Tensor& x);
// Reversed along dims; a copy.
TARN_API Tensor flip(const Tensor& x, IntArrayRef dims);
// Shifted along dims, what leaves at the end enters at the start; without dims: over the flattened tensor.
TARN_API Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {});
// The whole tensor, repeats[d] times along dim d.
TARN_API Tensor repeat(const Tensor& x, IntArrayRef repeats);
// Rows of `weight` (V, D) at `indices` (any shape) -> indices' shape + (D). The gradient of row padding_idx
// is zero.
TARN_API Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1);
// (.., classes) Long, one where indices say; classes -1: largest index + 1.
TARN_API Tensor one_hot(const Tensor& indices, int64_t classes = -1);

}  // namespace tarn::inline v1
