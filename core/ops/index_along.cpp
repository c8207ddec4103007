// Writing and taking by lists of places: made of index, index_put_ and gather. The in-place forms write
// through views of x; the others are those over a copy.
#include <vector>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

using Places = std::vector<indexing::TensorIndex>;

void check_index_list(const char* op, const Tensor& index) {
  check(index.dtype() == kLong || index.dtype() == kInt, op, ": index must be Int or Long, got ",
        index.dtype());
  check(index.dim() <= 1, op, ": index must have at most 1 dim, got sizes ", index.sizes());
}

Tensor with_a_dim(const Tensor& x) { return x.dim() == 0 ? unsqueeze(x, 0) : x; }

// x[:, ..., index, ...] with the index at dim d.
Places places_along(int d, const Tensor& index) {
  Places places(static_cast<size_t>(d), indexing::TensorIndex(indexing::Slice()));
  places.push_back(reshape(index, {-1}));
  return places;
}

// The whole of src is written: one slice for each index.
void check_slices(const char* op, const Tensor& x, int d, const Tensor& index, const Tensor& src) {
  check(src.dtype() == x.dtype(), op, ": src must have the dtype of the tensor, ", x.dtype(), ", got ",
        src.dtype());
  Dims want(with_a_dim(x).sizes());
  want[d] = index.numel();
  check(Dims(with_a_dim(src).sizes()) == want, op, ": src must have sizes ", want, ", got ", src.sizes());
}

Tensor& write_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                     bool accumulate) {
  check_index_list(op, index);
  int d = wrap_dim(dim, x.dim(), op);
  check_slices(op, x, d, index, src);
  index_put_(with_a_dim(x), places_along(d, index), with_a_dim(src), accumulate);
  return const_cast<Tensor&>(x);
}

Tensor scaled(const char* op, const Tensor& x, const Tensor& src, const Scalar& alpha) {
  check(is_floating(x.dtype()) || !alpha.is_floating(), op, ": alpha of integers must be an integer, got ",
        alpha.to_double());
  check(x.dtype() != kBool || src.dtype() != kBool || !alpha.is_integral() || alpha.to_int64() == 1, op,
        ": Bool takes no alpha");
  bool one = alpha.is_floating() ? alpha.to_double() == 1 : alpha.to_int64() == 1;
  return one ? src : mul(src, alpha);
}

// For each dim of x a Long tensor of places, from places in the flattened x.
Places unravelled(const Tensor& x, const Tensor& index) {
  Tensor flat = make_tensor({index.numel()}, kLong);
  copy_elements(flat, reshape(detach(index).cpu(), {-1}));
  const int64_t* from = static_cast<const int64_t*>(flat.data_ptr());
  int64_t n = x.numel(), rank = x.dim();
  std::vector<Tensor> columns;
  for (int64_t d = 0; d < rank; ++d) columns.push_back(make_tensor({index.numel()}, kLong));
  for (int64_t i = 0; i < index.numel(); ++i) {
    check(from[i] >= -n && from[i] < n, "put: index ", from[i], " is outside of a tensor of ", n,
          " elements");
    int64_t rest = from[i] < 0 ? from[i] + n : from[i];
    for (int64_t d = rank - 1; d >= 0; --d) {
      static_cast<int64_t*>(columns[size_t(d)].data_ptr())[i] = rest % x.sizes()[d];
      rest /= x.sizes()[d];
    }
  }
  Places places;
  for (const Tensor& column : columns) places.push_back(column.to(x.device()));
  return places;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, const Scalar& alpha) {
  return write_slices("index_add", clone(x), dim, index, scaled("index_add", x, src, alpha), true);
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return write_slices("index_copy", clone(x), dim, index, src, false);
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return clone(x).index_fill_(dim, index, value);
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return index_fill(x, dim, index, wrapped_scalar(value));
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  Tensor whole = expand(x, broadcast_sizes(x.sizes(), mask.sizes(), "masked_scatter"));
  return clone(whole).masked_scatter_(mask, source);
}

Tensor take(const Tensor& x, const Tensor& index) {
  check(index.dtype() == kLong, "take: index must be Long, got ", index.dtype());
  return reshape(x, {-1}).index({indexing::TensorIndex(index)});
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  return clone(x).put_(index, source, accumulate);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  check(index.dtype() == kLong, "take_along_dim: index must be Long, got ", index.dtype());
  if (!dim) return gather(reshape(x, {-1}), 0, reshape(index, {-1}));
  check(index.dim() == x.dim(), "take_along_dim: index of sizes ", index.sizes(),
        " must have the rank of a tensor of sizes ", x.sizes());
  int d = wrap_dim(*dim, x.dim(), "take_along_dim");
  if (x.dim() == 0) return gather(x, 0, index);
  Dims own(x.sizes());
  own[d] = index.sizes()[d];
  Dims index_sizes = broadcast_sizes(own, index.sizes(), "take_along_dim"), x_sizes = index_sizes;
  x_sizes[d] = x.sizes()[d];
  return gather(expand(x, x_sizes), d, expand(index, index_sizes));
}

Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& src, const Scalar& alpha) const {
  return tarn::index_add(*this, dim, index, src, alpha);
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& src, const Scalar& alpha) const {
  return write_slices("index_add_", *this, dim, index, scaled("index_add_", *this, src, alpha), true);
}
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tarn::index_copy(*this, dim, index, src);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return write_slices("index_copy_", *this, dim, index, src, false);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  return tarn::index_fill(*this, dim, index, value);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  return tarn::index_fill(*this, dim, index, value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return index_fill_(dim, index, wrapped_scalar(value));
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  check_index_list("index_fill_", index);
  check(value.dim() == 0, "index_fill_: value must be a number or a 0-dim tensor, got sizes ", value.sizes());
  int d = wrap_dim(dim, this->dim(), "index_fill_");
  tarn::index_put_(with_a_dim(*this), places_along(d, index), value.to(device()));
  return const_cast<Tensor&>(*this);
}

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return tarn::masked_scatter(*this, mask, source);
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  check(mask.dtype() == kBool, "masked_scatter_: mask must be Bool, got ", mask.dtype());
  check(source.dtype() == dtype(), "masked_scatter_: source must have the dtype of the tensor, ", dtype(),
        ", got ", source.dtype());
  Tensor x = with_a_dim(*this);
  Tensor places = tarn::nonzero(tarn::expand(mask, x.sizes()));
  int64_t count = places.size(0);
  check(source.numel() >= count, "masked_scatter_: source has ", source.numel(),
        " elements, the mask asks for ", count);
  if (count == 0) return const_cast<Tensor&>(*this);
  Places columns;
  for (int64_t d = 0; d < x.dim(); ++d) columns.push_back(tarn::select(places, 1, d));
  tarn::index_put_(x, columns, tarn::narrow(tarn::reshape(source, {-1}), 0, 0, count));
  return const_cast<Tensor&>(*this);
}

Tensor Tensor::take(const Tensor& index) const { return tarn::take(*this, index); }
Tensor Tensor::take_along_dim(const Tensor& index, std::optional<int64_t> dim) const {
  return tarn::take_along_dim(*this, index, dim);
}
Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate) const {
  return tarn::put(*this, index, source, accumulate);
}
Tensor& Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate) const {
  check(index.dtype() == kLong, "put_: index must be Long, got ", index.dtype());
  check(source.dtype() == dtype(), "put_: source must have the dtype of the tensor, ", dtype(), ", got ",
        source.dtype());
  check(source.numel() == index.numel(), "put_: index has ", index.numel(), " elements, source ",
        source.numel());
  if (index.numel() == 0) return const_cast<Tensor&>(*this);
  Tensor x = with_a_dim(*this);
  tarn::index_put_(x, unravelled(x, index), tarn::reshape(source, {-1}), accumulate);
  return const_cast<Tensor&>(*this);
}

}  // namespace tarn::inline v1
