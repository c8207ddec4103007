// Views that keep every element: other sizes, orders and repetitions of the same memory. Each is a View op,
// whose infer turns the attributes into geometry. Views that pick a part are in pick.cpp.
#include <tarn/core/ops/views.h>

#include <algorithm>
#include <limits>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/hooks.h>
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

struct DimAttr {
  int64_t dim;
};
struct StridedAttrs {
  int64_t rank;
  int64_t sizes[kMaxRank], strides[kMaxRank];
  int64_t offset;
  int64_t reach;
};

void same_place(const Args& a, Spec* out) {
  out->sizes = a[0].sizes();
  out->strides = a[0].strides();
  out->offset = a[0].storage_offset();
}

// --- view ---

// The strides that show memory of `sizes`/`strides` under new sizes, or false where elements would have to
// move.
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
      check(!__builtin_mul_overflow(known, out[d], &known), op, ": the number of elements of ", sizes,
            " overflows");
    }
  }
  if (unknown >= 0) {
    check(known != 0 && x.numel() % known == 0, op, ": a tensor of sizes ", x.sizes(), " (", x.numel(),
          " elements) cannot take sizes ", sizes);
    out[unknown] = x.numel() / known;
  } else {
    check(known == x.numel(), op, ": a tensor of sizes ", x.sizes(), " (", x.numel(),
          " elements) cannot take sizes ", sizes);
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
        " and strides ", x.strides(), " cannot be seen as ", out->sizes,
        " without a copy; call reshape() instead");
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
      check(d >= lead, "expand: -1 keeps a size, but dim ", d, " of ", sizes, " is new to a tensor of sizes ",
            x.sizes());
      out->sizes[d] = have;
    }
    check(out->sizes[d] >= 0, "expand: sizes must be -1 or not negative, got ", sizes);
    check(have == 1 || have == out->sizes[d], "expand: a tensor of sizes ", x.sizes(), " does not expand to ",
          sizes, ": dim ", d, " is ", have);
    if (d >= lead && have == out->sizes[d]) out->strides[d] = x.strides()[d - lead];
  }
  numel_of(out->sizes, "expand");
}

void expand_grad(GradArgs& g) { g.set(0, g.grad()); }  // autograd sums what was broadcast

const Op expand_op = {.name = "expand", .kind = Kind::View, .infer = expand_infer, .grad = expand_grad};

// --- squeeze, unsqueeze: attributes are the resulting sizes' dims to drop or the place of the new one ---

void squeeze_infer(const Args& a, Spec* out) {
  int64_t drop = a.attrs<DimAttr>().dim;  // -1: every dim of size 1
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
  int d = int(a.attrs<DimAttr>().dim);
  same_place(a, out);
  int64_t stride = d < a[0].dim() ? a[0].sizes()[d] * a[0].strides()[d] : 1;
  out->sizes.insert(d, 1);
  out->strides.insert(d, stride);
}

void unsqueeze_grad(GradArgs& g) { g.set(0, squeeze(g.grad(), g.attrs<DimAttr>().dim)); }

const Op unsqueeze_op = {
    .name = "unsqueeze", .kind = Kind::View, .infer = unsqueeze_infer, .grad = unsqueeze_grad};

// --- as_strided: its gradient works on the storage's own order ---

// `reach`: how many elements from the storage's start the geometry needs; -1 where the input is not row-major
// from there, so that its elements are not the storage's.
StridedAttrs strided_attrs(IntArrayRef sizes, IntArrayRef strides, int64_t offset, const Tensor& x) {
  bool overflow = offset == std::numeric_limits<int64_t>::max();
  StridedAttrs p{.rank = int64_t(sizes.size()),
                 .sizes = {},
                 .strides = {},
                 .offset = offset,
                 .reach = overflow ? 0 : offset + 1};
  for (size_t d = 0; d < sizes.size(); ++d) {
    p.sizes[d] = sizes[d];
    p.strides[d] = strides[d];
    int64_t step = 0;
    overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &step) ||
                __builtin_add_overflow(p.reach, step, &p.reach);
  }
  if (numel_of(sizes, "as_strided") == 0) p.reach = 0;
  if (overflow || !x.is_contiguous() || x.storage_offset() != 0) p.reach = -1;
  return p;
}

void as_strided_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<StridedAttrs>();
  out->sizes = IntArrayRef(p.sizes, size_t(p.rank));
  out->strides = IntArrayRef(p.strides, size_t(p.rank));
  out->offset = p.offset;
}

void check_differentiable(const StridedAttrs& p, IntArrayRef sizes) {
  check(
      p.reach >= 0 && p.reach <= numel_of(sizes, "as_strided"),
      "as_strided: an input that requires grad must be contiguous, start its storage and hold every element ",
      "that the result reaches, got sizes ", sizes, "; call clone() on it first");
}

void as_strided_grad(GradArgs& g);

const Op as_strided_op = {.name = "as_strided",
                          .kind = Kind::View,
                          .infer = as_strided_infer,
                          .grad = as_strided_grad,
                          .absolute = true};

// The gradient's elements, added up at the places of a row-major input of `sizes`.
struct StridedBackwardAttrs {
  StridedAttrs view;
  int64_t rank;
  int64_t sizes[kMaxRank];
};

void as_strided_backward_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<StridedBackwardAttrs>();
  infer_like_first(a, out);
  out->sizes = IntArrayRef(p.sizes, size_t(p.rank));
}

void as_strided_backward_cpu(const Args& a, Tensor* out) {
  const StridedAttrs& p = a.attrs<StridedBackwardAttrs>().view;
  fill_elements(*out, 0);
  add_elements(make_alias(*out, {p.sizes, size_t(p.rank)}, {p.strides, size_t(p.rank)}, p.offset), a[0]);
}

void as_strided_backward_grad(GradArgs& g) {
  Tensor dense = clone(g.grad(), MemoryFormat::Contiguous);
  g.set(0, dispatch(as_strided_op, {dense}, g.attrs<StridedBackwardAttrs>().view));
}

const Op as_strided_backward_op = {.name = "as_strided_backward",
                                   .infer = as_strided_backward_infer,
                                   .cpu = as_strided_backward_cpu,
                                   .grad = as_strided_backward_grad};

void as_strided_grad(GradArgs& g) {
  StridedBackwardAttrs p{.view = g.attrs<StridedAttrs>(), .rank = g.input_sizes(0).size(), .sizes = {}};
  check_differentiable(p.view, g.input_sizes(0));
  for (int d = 0; d < p.rank; ++d) p.sizes[d] = g.input_sizes(0)[d];
  g.set(0, dispatch(as_strided_backward_op, {g.grad()}, p));
}

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
    bad |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) ||
           __builtin_add_overflow(last, reach, &last);
  }
  int64_t held = int64_t(x.get().storage->bytes / x.element_size());
  check(!bad && last < held, op, ": sizes ", sizes, ", strides ", strides, ", offset ", offset,
        " reach beyond a storage of ", held, " elements");
}

// For a view of memory that nobody else has: it is a tensor of its own.
void forget_base(const Tensor& t) {
  TensorImpl& impl = t.get();
  if (impl.view) autograd_hooks.release_view(std::exchange(impl.view, nullptr));
  impl.set(kNoGradView, false);
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
  if (x.numel() == 0 || view_strides(x.sizes(), x.strides(), resolved, strides)) return view(x, resolved);
  Tensor out = view(clone(x, MemoryFormat::Contiguous), resolved);
  forget_base(out);
  return out;
}

Tensor permute(const Tensor& x, IntArrayRef dims) {
  check(int64_t(dims.size()) == x.dim(), "permute: a tensor of sizes ", x.sizes(), " needs ", x.dim(),
        " dims, got ", dims);
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

Tensor squeeze(const Tensor& x) { return dispatch(squeeze_op, {x}, DimAttr{-1}); }

Tensor squeeze(const Tensor& x, int64_t dim) {
  int d = wrap_dim(dim, x.dim(), "squeeze");
  return dispatch(squeeze_op, {x}, DimAttr{d});
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  return dispatch(unsqueeze_op, {x}, DimAttr{wrap_dim(dim, x.dim() + 1, "unsqueeze")});
}

Tensor flatten(const Tensor& x, int64_t start, int64_t end) {
  int first = wrap_dim(start, x.dim(), "flatten"), last = wrap_dim(end, x.dim(), "flatten");
  check(first <= last, "flatten: start dim ", start, " comes after end dim ", end);
  if (x.dim() == 0) return reshape(x, {1});
  Dims sizes;
  for (int d = 0; d < x.dim(); ++d) {
    if (d > first && d <= last)
      sizes[first] *= x.sizes()[d];
    else
      sizes.push_back(x.sizes()[d]);
  }
  return first == last ? x : reshape(x, sizes);
}

Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) {
  int d = wrap_dim(dim, x.dim(), "unflatten");
  check(!sizes.empty(), "unflatten: sizes must not be empty");
  int64_t known = 1;
  int unknown = -1;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0)
      unknown = int(i);
    else
      overflow |= __builtin_mul_overflow(known, sizes[i], &known);
  }
  int64_t whole = x.size(d);
  bool fits = !overflow && (unknown < 0 ? known == whole : known > 0 && whole % known == 0);
  check(fits, "unflatten: sizes ", sizes, " do not make up dim ", d, " of size ", whole,
        " of a tensor of sizes ", x.sizes());
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
  check(sizes.size() == strides.size(), "as_strided: ", sizes.size(), " sizes but ", strides.size(),
        " strides");
  check(sizes.size() <= kMaxRank, "as_strided: rank ", sizes.size(), " is above the limit of ", kMaxRank);
  numel_of(sizes, "as_strided");
  int64_t start = offset.value_or(x.storage_offset());
  check_inside("as_strided", x, sizes, strides, start);
  StridedAttrs attrs = strided_attrs(sizes, strides, start, x);
  if (GradMode::is_enabled() && x.requires_grad()) check_differentiable(attrs, x.sizes());
  return dispatch(as_strided_op, {x}, attrs);
}

Tensor alias(const Tensor& x) { return dispatch(alias_op, {x}); }

Tensor detach(const Tensor& x) { return make_alias(x, x.sizes(), x.strides(), x.storage_offset()); }

}  // namespace tarn::inline v1
