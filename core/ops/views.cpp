// Each view is a View op: infer turns the attributes into geometry, the gradient scatters into zeros of the input's sizes.
#include <tarn/core/ops/views.h>

#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// A short list of int64 as attributes; only the used words travel.
struct Words {
  int64_t n = 0;
  int64_t v[kMaxRank] = {};
  Words(IntArrayRef values) {
    check(values.size() <= kMaxRank, "tensor: rank ", values.size(), " is above the limit of ", kMaxRank);
    for (int64_t value : values) v[n++] = value;
  }
  IntArrayRef get() const { return {v, size_t(n)}; }
  Attrs attrs() const {
    Attrs a;
    a.data = this;
    a.size = uint32_t((1 + n) * sizeof(int64_t));
    return a;
  }
};

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
struct StridedAttrs {
  int64_t rank;
  int64_t sizes[kMaxRank], strides[kMaxRank];
  int64_t offset;
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

void scatter_cpu(const Args& a, Tensor* out) {
  const auto& p = a.attrs<ScatterAttrs>();
  fill_elements(*out, 0);
  NoGradGuard no_grad;
  Tensor place = pick(*out, p);
  if (p.which == kUnfold) add_elements(place, a[0]);
  else copy_elements(place, a[0]);
}

void scatter_grad(GradArgs& g) { g.set(0, pick(g.grad(), g.attrs<ScatterAttrs>())); }

const Op scatter_op = {.name = "view_backward", .infer = scatter_infer, .cpu = scatter_cpu, .grad = scatter_grad};

Tensor scatter(const GradArgs& g, Pick which, std::initializer_list<int64_t> args) {
  ScatterAttrs p{.which = which, .args = {}, .rank = g.input_sizes(0).size(), .sizes = {}};
  int i = 0;
  for (int64_t v : args) p.args[i++] = v;
  for (int d = 0; d < p.rank; ++d) p.sizes[d] = g.input_sizes(0)[d];
  return dispatch(scatter_op, {g.grad()}, p);
}

// --- view ---

// The strides that show memory of `sizes`/`strides` under new sizes, or false where elements would have to move.
bool view_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef to, Dims& out) {
  out = Dims(int(to.size()));
  int d = int(sizes.size()) - 1, v = int(to.size()) - 1;
  int64_t chunk = 1, viewed = 1;
  int64_t base = sizes.empty() ? 1 : strides.back();
  for (; d >= 0; --d) {
    chunk *= sizes[d];
    bool last_of_chunk = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != chunk * base);
    if (!last_of_chunk) continue;
    while (v >= 0 && (viewed < chunk || to[v] == 1)) {
      out[v] = viewed * base;
      viewed *= to[v--];
    }
    if (viewed != chunk) return false;
    if (d > 0) base = strides[d - 1];
    chunk = viewed = 1;
  }
  for (; v >= 0; --v) out[v] = 1;
  return true;
}

Dims resolve_sizes(const char* op, IntArrayRef sizes, const Tensor& x) {
  Dims out(sizes);
  int unknown = -1;
  int64_t known = 1;
  for (int d = 0; d < out.size(); ++d) {
    if (out[d] == -1) {
      check(unknown < 0, op, ": only one size may be -1, got ", sizes);
      unknown = d;
    } else {
      check(out[d] >= 0, op, ": sizes must be -1 or not negative, got ", sizes);
      check(!__builtin_mul_overflow(known, out[d], &known), op, ": the number of elements of ", sizes, " overflows");
    }
  }
  if (unknown >= 0) {
    check(known != 0 && x.numel() % known == 0, op, ": a tensor of sizes ", x.sizes(), " (", x.numel(),
          " elements) cannot take sizes ", sizes);
    out[unknown] = x.numel() / known;
  } else {
    check(known == x.numel(), op, ": a tensor of sizes ", x.sizes(), " (", x.numel(), " elements) cannot take sizes ",
          sizes);
  }
  return out;
}

void view_infer(const Args& a, Spec* out) {
  const Tensor& x = a[0];
  out->sizes = a.attrs<Words>().get();
  out->offset = x.storage_offset();
  if (x.numel() == 0) {
    out->strides = contiguous_strides(out->sizes);
    return;
  }
  check(view_strides(x.sizes(), x.strides(), out->sizes, out->strides), "view: a tensor of sizes ", x.sizes(),
        " and strides ", x.strides(), " cannot be seen as ", out->sizes, " without a copy; call reshape() instead");
}

void view_grad(GradArgs& g) { g.set(0, reshape(g.grad(), g.input_sizes(0))); }

const Op view_op = {.name = "view", .kind = Kind::View, .infer = view_infer, .grad = view_grad};

// --- permute ---

void permute_infer(const Args& a, Spec* out) {
  same_place(a, out);
  IntArrayRef dims = a.attrs<Words>().get();
  for (size_t i = 0; i < dims.size(); ++i) {
    out->sizes[int(i)] = a[0].sizes()[dims[i]];
    out->strides[int(i)] = a[0].strides()[dims[i]];
  }
}

void permute_grad(GradArgs& g) {
  IntArrayRef dims = g.attrs<Words>().get();
  Dims inverse(int(dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) inverse[int(dims[i])] = int64_t(i);
  g.set(0, permute(g.grad(), inverse));
}

const Op permute_op = {.name = "permute", .kind = Kind::View, .infer = permute_infer, .grad = permute_grad};

// --- expand ---

void expand_infer(const Args& a, Spec* out) {
  const Tensor& x = a[0];
  IntArrayRef sizes = a.attrs<Words>().get();
  int lead = int(sizes.size()) - int(x.dim());
  check(lead >= 0, "expand: sizes ", sizes, " have fewer dims than the tensor of sizes ", x.sizes());
  out->offset = x.storage_offset();
  out->sizes = sizes;
  out->strides = Dims(int(sizes.size()), 0);
  for (int d = 0; d < int(sizes.size()); ++d) {
    int64_t have = d < lead ? 1 : x.sizes()[d - lead];
    if (sizes[d] == -1) {
      check(d >= lead, "expand: -1 keeps a size, but dim ", d, " of ", sizes, " is new to a tensor of sizes ", x.sizes());
      out->sizes[d] = have;
    }
    check(out->sizes[d] >= 0, "expand: sizes must be -1 or not negative, got ", sizes);
    check(have == 1 || have == out->sizes[d], "expand: a tensor of sizes ", x.sizes(), " does not expand to ", sizes,
          ": dim ", d, " is ", have);
    if (d >= lead && have == out->sizes[d]) out->strides[d] = x.strides()[d - lead];
  }
}

void expand_grad(GradArgs& g) { g.set(0, g.grad()); }  // autograd sums what was broadcast

const Op expand_op = {.name = "expand", .kind = Kind::View, .infer = expand_infer, .grad = expand_grad};

// --- squeeze, unsqueeze: attributes are the resulting sizes' dims to drop or the place of the new one ---

void squeeze_infer(const Args& a, Spec* out) {
  int64_t drop = a.attrs<DimIndex>().dim;  // -1: every dim of size 1
  out->offset = a[0].storage_offset();
  for (int d = 0; d < a[0].dim(); ++d) {
    if (a[0].sizes()[d] == 1 && (drop == -1 || drop == d)) continue;
    out->sizes.push_back(a[0].sizes()[d]);
    out->strides.push_back(a[0].strides()[d]);
  }
}

void squeeze_grad(GradArgs& g) { g.set(0, reshape(g.grad(), g.input_sizes(0))); }

const Op squeeze_op = {.name = "squeeze", .kind = Kind::View, .infer = squeeze_infer, .grad = squeeze_grad};

void unsqueeze_infer(const Args& a, Spec* out) {
  int d = int(a.attrs<DimIndex>().dim);
  same_place(a, out);
  int64_t stride = d < a[0].dim() ? a[0].sizes()[d] * a[0].strides()[d] : 1;
  out->sizes.insert(d, 1);
  out->strides.insert(d, stride);
}

void unsqueeze_grad(GradArgs& g) { g.set(0, squeeze(g.grad(), g.attrs<DimIndex>().dim)); }

const Op unsqueeze_op = {.name = "unsqueeze", .kind = Kind::View, .infer = unsqueeze_infer, .grad = unsqueeze_grad};

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

void slice_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<SliceAttrs>();
  same_place(a, out);
  out->offset += p.start * a[0].strides()[p.dim];
  out->sizes[int(p.dim)] = p.length;
  out->strides[int(p.dim)] *= p.step;
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

const Op diagonal_op = {.name = "diagonal", .kind = Kind::View, .infer = diagonal_infer, .grad = diagonal_grad};

void unfold_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<UnfoldAttrs>();
  same_place(a, out);
  int64_t stride = a[0].dim() == 0 ? 1 : a[0].strides()[p.dim];
  if (a[0].dim() > 0) {
    out->sizes[int(p.dim)] = (a[0].sizes()[p.dim] - p.size) / p.step + 1;
    out->strides[int(p.dim)] = stride * p.step;
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
    case kSelect: return dispatch(select_op, {x}, DimIndex{v[0], v[1]});
    case kSlice: return dispatch(slice_op, {x}, SliceAttrs{v[0], v[1], v[2], v[3]});
    case kDiagonal: return dispatch(diagonal_op, {x}, DiagonalAttrs{v[0], v[1], v[2]});
    default: return dispatch(unfold_op, {x}, UnfoldAttrs{v[0], v[1], v[2]});
  }
}

// --- as_strided: its gradient works on the storage's own order ---

StridedAttrs strided_attrs(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  StridedAttrs p{.rank = int64_t(sizes.size()), .sizes = {}, .strides = {}, .offset = offset};
  for (size_t d = 0; d < sizes.size(); ++d) {
    p.sizes[d] = sizes[d];
    p.strides[d] = strides[d];
  }
  return p;
}

void as_strided_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<StridedAttrs>();
  out->sizes = IntArrayRef(p.sizes, size_t(p.rank));
  out->strides = IntArrayRef(p.strides, size_t(p.rank));
  out->offset = p.offset;
}

// Gathers the gradient at the places of a row-major input: input element i had storage place i. The input of an as_strided
// that is differentiated must therefore be dense and start its storage.
void as_strided_grad(GradArgs& g) {
  const auto& p = g.attrs<StridedAttrs>();
  Tensor flat = make_tensor({numel_of(g.input_sizes(0), "as_strided")}, g.grad().dtype(), g.grad().device());
  fill_elements(flat, 0);
  Tensor windows = make_alias(flat, {p.sizes, size_t(p.rank)}, {p.strides, size_t(p.rank)}, p.offset);
  check(!(GradMode::is_enabled() && g.grad().requires_grad()), "as_strided: its second derivative is not implemented");
  add_elements(windows, g.grad());
  g.set(0, reshape(flat, g.input_sizes(0)));
}

const Op as_strided_op = {.name = "as_strided", .kind = Kind::View, .infer = as_strided_infer, .grad = as_strided_grad};

void alias_grad(GradArgs& g) { g.set(0, g.grad()); }

const Op alias_op = {.name = "alias", .kind = Kind::View, .infer = same_place, .grad = alias_grad};

// Elements of the storage that this geometry reaches must exist.
void check_inside(const char* op, const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  int64_t last = offset;
  bool bad = offset < 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t reach = 0;
    if (sizes[d] == 0) return check(!bad, op, ": offset must not be negative, got ", offset);
    check(strides[d] >= 0, op, ": strides must not be negative, got ", strides);
    bad |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last);
  }
  int64_t held = int64_t(x.get().storage->bytes / x.element_size());
  check(!bad && last < held, op, ": sizes ", sizes, ", strides ", strides, ", offset ", offset, " reach beyond a storage of ",
        held, " elements");
}

std::vector<Tensor> mark_multi_output(std::vector<Tensor> views) {
  for (Tensor& v : views) v.get().set(kMultiOutputView, true);
  return views;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor view(const Tensor& x, IntArrayRef sizes) {
  Dims resolved = resolve_sizes("view", sizes, x);
  return dispatch(view_op, {x}, Words(resolved).attrs());
}

Tensor reshape(const Tensor& x, IntArrayRef sizes) {
  Dims resolved = resolve_sizes("reshape", sizes, x);
  Dims strides;
  bool fits = x.numel() == 0 || view_strides(x.sizes(), x.strides(), resolved, strides);
  return view(fits ? x : clone(x, MemoryFormat::Contiguous), resolved);
}

Tensor permute(const Tensor& x, IntArrayRef dims) {
  check(int64_t(dims.size()) == x.dim(), "permute: a tensor of sizes ", x.sizes(), " needs ", x.dim(), " dims, got ", dims);
  Dims order(int(dims.size()));
  uint32_t seen = 0;
  for (int i = 0; i < order.size(); ++i) {
    order[i] = wrap_dim(dims[i], x.dim(), "permute");
    check(!(seen >> order[i] & 1), "permute: dim ", dims[i], " stands twice in ", dims);
    seen |= 1u << order[i];
  }
  return dispatch(permute_op, {x}, Words(order).attrs());
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  int a = wrap_dim(dim0, x.dim(), "transpose"), b = wrap_dim(dim1, x.dim(), "transpose");
  Dims order(int(x.dim()));
  for (int i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() > 0) std::swap(order[a], order[b]);
  return dispatch(permute_op, {x}, Words(order).attrs());
}

Tensor swapaxes(const Tensor& x, int64_t dim0, int64_t dim1) { return transpose(x, dim0, dim1); }

Tensor t(const Tensor& x) {
  check(x.dim() <= 2, "t: input must have at most 2 dims, got ", x.sizes(), "; use transpose()");
  return x.dim() < 2 ? alias(x) : transpose(x, 0, 1);
}

Tensor movedim(const Tensor& x, int64_t from, int64_t to) {
  int a = wrap_dim(from, x.dim(), "movedim"), b = wrap_dim(to, x.dim(), "movedim");
  Dims order;
  for (int i = 0; i < x.dim(); ++i)
    if (i != a) order.push_back(i);
  if (x.dim() > 0) order.insert(b, a);
  return dispatch(permute_op, {x}, Words(order).attrs());
}

Tensor squeeze(const Tensor& x) { return dispatch(squeeze_op, {x}, DimIndex{-1, 0}); }

Tensor squeeze(const Tensor& x, int64_t dim) {
  int d = wrap_dim(dim, x.dim(), "squeeze");
  return dispatch(squeeze_op, {x}, DimIndex{d, 0});
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  return dispatch(unsqueeze_op, {x}, DimIndex{wrap_dim(dim, x.dim() + 1, "unsqueeze"), 0});
}

Tensor flatten(const Tensor& x, int64_t start, int64_t end) {
  int first = wrap_dim(start, x.dim(), "flatten"), last = wrap_dim(end, x.dim(), "flatten");
  check(first <= last, "flatten: start dim ", start, " comes after end dim ", end);
  if (x.dim() == 0) return reshape(x, {1});
  Dims sizes;
  for (int d = 0; d < x.dim(); ++d) {
    if (d > first && d <= last) sizes[first] *= x.sizes()[d];
    else sizes.push_back(x.sizes()[d]);
  }
  return first == last ? x : reshape(x, sizes);
}

Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) {
  int d = wrap_dim(dim, x.dim(), "unflatten");
  check(!sizes.empty(), "unflatten: sizes must not be empty");
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) unknown = int(i);
    else known *= sizes[i];
  }
  int64_t whole = x.size(d);
  bool fits = unknown < 0 ? known == whole : known > 0 && whole % known == 0;
  check(fits, "unflatten: sizes ", sizes, " do not make up dim ", d, " of size ", whole, " of a tensor of sizes ", x.sizes());
  Dims to;
  for (int i = 0; i < x.dim(); ++i) {
    if (i != d) {
      to.push_back(x.sizes()[i]);
      continue;
    }
    for (size_t k = 0; k < sizes.size(); ++k) to.push_back(int(k) == unknown ? whole / known : sizes[k]);
  }
  return view(x, to);
}

Tensor ravel(const Tensor& x) { return reshape(x, {-1}); }

Tensor expand(const Tensor& x, IntArrayRef sizes) { return dispatch(expand_op, {x}, Words(sizes).attrs()); }

Tensor broadcast_to(const Tensor& x, IntArrayRef sizes) { return expand(x, sizes); }

Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset) {
  check(sizes.size() == strides.size(), "as_strided: ", sizes.size(), " sizes but ", strides.size(), " strides");
  numel_of(sizes, "as_strided");
  int64_t start = offset.value_or(x.storage_offset());
  check_inside("as_strided", x, sizes, strides, start);
  if (GradMode::is_enabled() && x.requires_grad())
    check(x.is_contiguous() && x.storage_offset() == 0, "as_strided: an input that requires grad must be contiguous and start ",
          "its storage, got sizes ", x.sizes(), ", strides ", x.strides(), ", offset ", x.storage_offset(),
          "; call clone() first");
  return dispatch(as_strided_op, {x}, strided_attrs(sizes, strides, start));
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  check(x.dim() > 0, "select: a 0-dim tensor cannot be indexed; use item()");
  int d = wrap_dim(dim, x.dim(), "select");
  int64_t size = x.sizes()[d];
  check(index >= -size && index < size, "select: index ", index, " is outside of dim ", d, " of a tensor of sizes ", x.sizes());
  return dispatch(select_op, {x}, DimIndex{d, index < 0 ? index + size : index});
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check(x.dim() > 0, "narrow: a 0-dim tensor cannot be narrowed");
  int d = wrap_dim(dim, x.dim(), "narrow");
  int64_t size = x.sizes()[d];
  int64_t first = start < 0 ? start + size : start;
  check(length >= 0 && first >= 0 && first <= size && length <= size - first, "narrow: start ", start, " with length ", length,
        " is outside of dim ", d, " of a tensor of sizes ", x.sizes());
  return dispatch(slice_op, {x}, SliceAttrs{d, first, length, 1});
}

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
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
  check(a != b, "diagonal: dims must differ, got ", dim1, " and ", dim2, " for a tensor of sizes ", x.sizes());
  return dispatch(diagonal_op, {x}, DiagonalAttrs{offset, a, b});
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  int d = wrap_dim(dim, x.dim(), "unfold");
  int64_t whole = x.dim() == 0 ? 1 : x.sizes()[d];
  check(size >= 0 && size <= whole, "unfold: size ", size, " is outside of dim ", d, " of a tensor of sizes ", x.sizes());
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
  for (int64_t start = 0; start < whole; start += size) out.push_back(narrow(x, d, start, std::min(size, whole - start)));
  return mark_multi_output(std::move(out));
}

std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim) { return split_with_sizes(x, sizes, dim); }

std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim) {
  int d = wrap_dim(dim, x.dim(), "split");
  check(x.dim() > 0, "split: a 0-dim tensor cannot be split");
  int64_t sum = 0;
  for (int64_t s : sizes) {
    check(s >= 0 && !__builtin_add_overflow(sum, s, &sum), "split: bad sizes ", sizes);
  }
  check(sum == x.sizes()[d], "split: sizes ", sizes, " sum to ", sum, ", dim ", d, " of a tensor of sizes ", x.sizes(), " is ",
        x.sizes()[d]);
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

Tensor alias(const Tensor& x) { return dispatch(alias_op, {x}); }

Tensor detach(const Tensor& x) { return make_alias(x, x.sizes(), x.strides(), x.storage_offset()); }

}  // namespace tarn::inline v1
