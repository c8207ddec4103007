// Views that are made of other views: lists of dims, pieces, and tensors of at least some rank.
#include <algorithm>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// The dims as non-negative numbers; an Error where one stands twice.
Dims distinct_dims(const char* op, IntArrayRef dims, const Tensor& x) {
  Dims out;
  uint32_t seen = 0;
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, x.dim(), op);
    check(!(seen >> d & 1), op, ": dim ", dim, " stands twice in ", dims);
    seen |= 1u << d;
    out.push_back(d);
  }
  return out;
}

// A piece for hsplit and its like, whose sections must be equal.
std::vector<Tensor> equal_pieces(const char* op, const Tensor& x, int64_t sections, int64_t dim) {
  check(sections > 0, op, ": the number of sections must be positive, got ", sections);
  check(x.sizes()[dim] % sections == 0, op, ": dim ", dim, " of a tensor of sizes ", x.sizes(),
        " cannot be cut into ", sections, " equal sections");
  return tensor_split(x, sections, dim);
}

int64_t columns_dim(const Tensor& x) {
  check(x.dim() >= 1, "hsplit: a 0-dim tensor cannot be split");
  return x.dim() == 1 ? 0 : 1;
}

void check_rank(const char* op, const Tensor& x, int64_t rank) {
  check(x.dim() >= rank, op, ": the tensor must have at least ", rank, " dims, got sizes ", x.sizes());
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return transpose(x, dim0, dim1); }

Tensor adjoint(const Tensor& x) {
  if (x.dim() == 0) return alias(x);
  check(x.dim() >= 2, "adjoint: the tensor must be 0-dim or have at least 2 dims, got sizes ", x.sizes());
  return transpose(x, -2, -1);
}

Tensor movedim(const Tensor& x, IntArrayRef from, IntArrayRef to) {
  check(from.size() == to.size(), "movedim: ", from.size(), " dims to move but ", to.size(), " places");
  Dims source = distinct_dims("movedim", from, x), target = distinct_dims("movedim", to, x);
  if (x.dim() == 0) return alias(x);
  Dims order(int(x.dim()), -1);
  uint32_t moved = 0;
  for (int i = 0; i < source.size(); ++i) {
    order[int(target[i])] = source[i];
    moved |= 1u << source[i];
  }
  int next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (moved >> next & 1) ++next;
    place = next++;
  }
  return permute(x, order);
}

Tensor moveaxis(const Tensor& x, int64_t from, int64_t to) { return movedim(x, from, to); }
Tensor moveaxis(const Tensor& x, IntArrayRef from, IntArrayRef to) { return movedim(x, from, to); }

Tensor squeeze(const Tensor& x, IntArrayRef dims) {
  Dims sorted = distinct_dims("squeeze", dims, x);
  std::sort(sorted.begin(), sorted.end());
  Tensor out = x;
  for (int i = sorted.size() - 1; i >= 0; --i) out = squeeze(out, sorted[i]);
  return out.is_same(x) ? alias(x) : out;
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  check(x.dim() > 0, "tensor_split: a 0-dim tensor cannot be split");
  check(sections > 0, "tensor_split: the number of sections must be positive, got ", sections);
  int d = wrap_dim(dim, x.dim(), "tensor_split");
  check(sections <= std::max<int64_t>(x.sizes()[d], 1 << 16), "tensor_split: ", sections,
        " sections are too many for a size of ", x.sizes()[d]);
  int64_t size = x.sizes()[d], length = size / sections, longer = size % sections, start = 0;
  std::vector<Tensor> out;
  for (int64_t i = 0; i < sections; ++i) {
    int64_t n = length + (i < longer);
    out.push_back(narrow(x, d, start, n));
    start += n;
  }
  return out;
}

std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim) {
  check(x.dim() > 0, "tensor_split: a 0-dim tensor cannot be split");
  int d = wrap_dim(dim, x.dim(), "tensor_split");
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t end : indices) {
    out.push_back(slice(x, d, start, end));
    start = end;
  }
  out.push_back(slice(x, d, start));
  return out;
}

std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) {
  return equal_pieces("hsplit", x, sections, columns_dim(x));
}
std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) {
  return tensor_split(x, indices, columns_dim(x));
}
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) {
  check_rank("vsplit", x, 2);
  return equal_pieces("vsplit", x, sections, 0);
}
std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) {
  check_rank("vsplit", x, 2);
  return tensor_split(x, indices, 0);
}
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) {
  check_rank("dsplit", x, 3);
  return equal_pieces("dsplit", x, sections, 2);
}
std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) {
  check_rank("dsplit", x, 3);
  return tensor_split(x, indices, 2);
}

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? view(x, {1}) : x; }

Tensor atleast_2d(const Tensor& x) {
  if (x.dim() == 0) return view(x, {1, 1});
  return x.dim() == 1 ? unsqueeze(x, 0) : x;
}

Tensor atleast_3d(const Tensor& x) {
  if (x.dim() == 0) return view(x, {1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}

Tensor Tensor::movedim(IntArrayRef from, IntArrayRef to) const { return tarn::movedim(*this, from, to); }
Tensor Tensor::squeeze(IntArrayRef dims) const { return tarn::squeeze(*this, dims); }
std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) const {
  return tarn::tensor_split(*this, sections, dim);
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) const {
  return tarn::tensor_split(*this, indices, dim);
}

Tensor Tensor::sum_to_size(IntArrayRef sizes) const {
  numel_of(sizes, "sum_to_size");
  int lead = int(dim()) - int(sizes.size());
  bool fits = lead >= 0;
  for (int d = 0; fits && d < int(sizes.size()); ++d)
    fits = sizes[d] == 1 || sizes[d] == this->sizes()[lead + d];
  check(fits, "sum_to_size: sizes ", sizes, " do not expand to those of the tensor, ", this->sizes());
  return detail::sum_to(*this, sizes);
}

}  // namespace tarn::inline v1
