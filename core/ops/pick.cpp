// Views of a part: select, slice, diagonal, unfold, and split, chunk and unbind, which are written with them.
// The gradient of each puts the elements into zeros of the input's sizes.
#include <tarn/core/ops/views.h>

#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct DimIndex {
  int64_t dim, index;
};
struct SliceAttrs {
  int64_t dim, start, length, step;
};
struct DiagonalAttrs {
  int64_t offset, dim1, dim2;
};
struct UnfoldAttrs {
  int64_t dim, size, step;
};

void same_place(const Args& a, Spec* out) {
  out->sizes = a[0].sizes();
  out->strides = a[0].strides();
  out->offset = a[0].storage_offset();
}

// --- gradients of the ops that pick a part: the gradient's elements, put into zeros ---

struct ScatterAttrs {
  int64_t which;  // Pick
  int64_t args[4];
  int64_t rank;
  int64_t sizes[kMaxRank];
};
enum Pick : int64_t { kSelect, kSlice, kDiagonal, kUnfold };

Tensor pick(const Tensor& x, const ScatterAttrs& p);

void scatter_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<ScatterAttrs>();
  out->sizes = IntArrayRef(p.sizes, size_t(p.rank));
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

void put_back(const Args& a, Tensor* out) {
  const auto& p = a.attrs<ScatterAttrs>();
  fill_elements(*out, 0);
  NoGradGuard no_grad;
  Tensor place = pick(*out, p);
  if (p.which == kUnfold)
    add_elements(place, a[0]);
  else
    copy_elements(place, a[0]);
}

void scatter_grad(GradArgs& g) { g.set(0, pick(g.grad(), g.attrs<ScatterAttrs>())); }

const Op scatter_op = {
    .name = "view_backward", .infer = scatter_infer, .cpu = put_back, .cuda = put_back, .grad = scatter_grad};

Tensor scatter(const GradArgs& g, Pick which, std::initializer_list<int64_t> args) {
  ScatterAttrs p{.which = which, .args = {}, .rank = g.input_sizes(0).size(), .sizes = {}};
  int i = 0;
  for (int64_t v : args) p.args[i++] = v;
  for (int d = 0; d < p.rank; ++d) p.sizes[d] = g.input_sizes(0)[d];
  return dispatch(scatter_op, {g.grad()}, p);
}

// --- select, slice ---

void select_infer(const Args& a, Spec* out) {
  auto [dim, index] = a.attrs<DimIndex>();
  same_place(a, out);
  out->offset += index * a[0].strides()[dim];
  out->sizes.erase(int(dim));
  out->strides.erase(int(dim));
}

void select_grad(GradArgs& g) {
  auto [dim, index] = g.attrs<DimIndex>();
  g.set(0, scatter(g, kSelect, {dim, index}));
}

const Op select_op = {.name = "select", .kind = Kind::View, .infer = select_infer, .grad = select_grad};

// The step between the elements of a dim. Where there is one element alone, the step may be any and wraps.
int64_t times_step(int64_t stride, int64_t step) { return int64_t(uint64_t(stride) * uint64_t(step)); }

void slice_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<SliceAttrs>();
  same_place(a, out);
  out->offset += p.start * a[0].strides()[p.dim];
  out->sizes[int(p.dim)] = p.length;
  int64_t& stride = out->strides[int(p.dim)];
  if (!fault(4)) stride = times_step(stride, p.step);
}

void slice_grad(GradArgs& g) {
  const auto& p = g.attrs<SliceAttrs>();
  g.set(0, scatter(g, kSlice, {p.dim, p.start, p.length, p.step}));
}

const Op slice_op = {.name = "slice", .kind = Kind::View, .infer = slice_infer, .grad = slice_grad};

// --- diagonal, unfold ---

void diagonal_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<DiagonalAttrs>();
  same_place(a, out);
  int64_t rows = a[0].sizes()[p.dim1], columns = a[0].sizes()[p.dim2];
  int64_t row_stride = a[0].strides()[p.dim1], column_stride = a[0].strides()[p.dim2];
  int64_t length = p.offset >= 0 ? std::min(rows, columns - p.offset) : std::min(rows + p.offset, columns);
  length = std::max<int64_t>(length, 0);
  if (length > 0) out->offset += p.offset >= 0 ? p.offset * column_stride : -p.offset * row_stride;
  for (int64_t d : {std::max(p.dim1, p.dim2), std::min(p.dim1, p.dim2)}) {
    out->sizes.erase(int(d));
    out->strides.erase(int(d));
  }
  out->sizes.push_back(length);
  out->strides.push_back(row_stride + column_stride);
}

void diagonal_grad(GradArgs& g) {
  const auto& p = g.attrs<DiagonalAttrs>();
  g.set(0, scatter(g, kDiagonal, {p.offset, p.dim1, p.dim2}));
}

const Op diagonal_op = {
    .name = "diagonal", .kind = Kind::View, .infer = diagonal_infer, .grad = diagonal_grad};

void unfold_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<UnfoldAttrs>();
  same_place(a, out);
  int64_t stride = a[0].dim() == 0 ? 1 : a[0].strides()[p.dim];
  if (a[0].dim() > 0) {
    out->sizes[int(p.dim)] = (a[0].sizes()[p.dim] - p.size) / p.step + 1;
    out->strides[int(p.dim)] = times_step(stride, p.step);
  }
  out->sizes.push_back(p.size);
  out->strides.push_back(stride);
}

void unfold_grad(GradArgs& g) {
  const auto& p = g.attrs<UnfoldAttrs>();
  g.set(0, scatter(g, kUnfold, {p.dim, p.size, p.step}));
}

const Op unfold_op = {.name = "unfold", .kind = Kind::View, .infer = unfold_infer, .grad = unfold_grad};

Tensor pick(const Tensor& x, const ScatterAttrs& p) {
  const int64_t* v = p.args;
  switch (p.which) {
    case kSelect:
      return dispatch(select_op, {x}, DimIndex{v[0], v[1]});
    case kSlice:
      return dispatch(slice_op, {x}, SliceAttrs{v[0], v[1], v[2], v[3]});
    case kDiagonal:
      return dispatch(diagonal_op, {x}, DiagonalAttrs{v[0], v[1], v[2]});
    default:
      return dispatch(unfold_op, {x}, UnfoldAttrs{v[0], v[1], v[2]});
  }
}

std::vector<Tensor> mark_multi_output(std::vector<Tensor> views) {
  for (Tensor& v : views) v.get().set(kMultiOutputView, true);
  return views;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  check(x.dim() > 0, "select: a 0-dim tensor cannot be indexed; use item()");
  int d = wrap_dim(dim, x.dim(), "select");
  int64_t size = x.sizes()[d];
  check(index >= -size && index < size, "select: index ", index, " is outside of dim ", d,
        " of a tensor of sizes ", x.sizes());
  return dispatch(select_op, {x}, DimIndex{d, index < 0 ? index + size : index});
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check(x.dim() > 0, "narrow: a 0-dim tensor cannot be narrowed");
  int d = wrap_dim(dim, x.dim(), "narrow");
  int64_t size = x.sizes()[d];
  int64_t first = start < 0 ? start + size : start;
  check(length >= 0 && first >= 0 && first <= size && length <= size - first, "narrow: start ", start,
        " with length ", length, " is outside of dim ", d, " of a tensor of sizes ", x.sizes());
  return dispatch(slice_op, {x}, SliceAttrs{d, first, length, 1});
}

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
             int64_t step) {
  check(x.dim() > 0, "slice: a 0-dim tensor cannot be sliced");
  check(step > 0, "slice: step must be positive, got ", step, "; use flip() to reverse");
  int d = wrap_dim(dim, x.dim(), "slice");
  int64_t size = x.sizes()[d];
  auto clamp = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  int64_t first = clamp(start.value_or(0)), last = std::max(first, clamp(end.value_or(size)));
  int64_t length = last - first;
  return dispatch(slice_op, {x}, SliceAttrs{d, first, length / step + (length % step != 0), step});
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  int a = wrap_dim(dim1, x.dim(), "diagonal"), b = wrap_dim(dim2, x.dim(), "diagonal");
  check(a != b, "diagonal: dims must differ, got ", dim1, " and ", dim2, " for a tensor of sizes ",
        x.sizes());
  return dispatch(diagonal_op, {x}, DiagonalAttrs{offset, a, b});
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  int d = wrap_dim(dim, x.dim(), "unfold");
  int64_t whole = x.dim() == 0 ? 1 : x.sizes()[d];
  check(size >= 0 && size <= whole, "unfold: size ", size, " is outside of dim ", d, " of a tensor of sizes ",
        x.sizes());
  check(step > 0, "unfold: step must be positive, got ", step);
  return dispatch(unfold_op, {x}, UnfoldAttrs{d, size, step});
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  int d = wrap_dim(dim, x.dim(), "split");
  check(x.dim() > 0, "split: a 0-dim tensor cannot be split");
  int64_t whole = x.sizes()[d];
  check(size > 0 || (size == 0 && whole == 0), "split: size must be positive, got ", size);
  std::vector<Tensor> out;
  if (whole == 0) out.push_back(narrow(x, d, 0, 0));
  for (int64_t start = 0; start < whole; start += size)
    out.push_back(narrow(x, d, start, std::min(size, whole - start)));
  return mark_multi_output(std::move(out));
}

std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim) {
  return split_with_sizes(x, sizes, dim);
}

std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim) {
  int d = wrap_dim(dim, x.dim(), "split");
  check(x.dim() > 0, "split: a 0-dim tensor cannot be split");
  int64_t sum = 0;
  for (int64_t s : sizes) {
    check(s >= 0 && !__builtin_add_overflow(sum, s, &sum), "split: bad sizes ", sizes);
  }
  check(sum == x.sizes()[d], "split: sizes ", sizes, " sum to ", sum, ", dim ", d, " of a tensor of sizes ",
        x.sizes(), " is ", x.sizes()[d]);
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t s : sizes) {
    out.push_back(narrow(x, d, start, s));
    start += s;
  }
  return mark_multi_output(std::move(out));
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  check(chunks > 0, "chunk: the number of chunks must be positive, got ", chunks);
  int d = wrap_dim(dim, x.dim(), "chunk");
  check(x.dim() > 0, "chunk: a 0-dim tensor cannot be split");
  int64_t size = (x.sizes()[d] + chunks - 1) / chunks;
  if (size == 0) return split_with_sizes(x, Dims(int(std::min<int64_t>(chunks, kMaxRank)), 0), d);
  return split(x, size, d);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  check(x.dim() > 0, "unbind: a 0-dim tensor cannot be taken apart");
  int d = wrap_dim(dim, x.dim(), "unbind");
  std::vector<Tensor> out;
  for (int64_t i = 0; i < x.sizes()[d]; ++i) out.push_back(select(x, d, i));
  return mark_multi_output(std::move(out));
}

}  // namespace tarn::inline v1
