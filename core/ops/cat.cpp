// Joining tensors: cat is the op, stack and concat are written with it.
#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// Attributes: dim, then each input's size along it.
IntArrayRef words(const Args& a) {
  return {static_cast<const int64_t*>(a.attributes.data), a.attributes.size / 8};
}

void cat_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  int dim = int(words(a)[0]);
  bool channels_last = true;
  for (int i = 0; i < a.count(); ++i)
    channels_last &= a[i].suggest_memory_format() == MemoryFormat::ChannelsLast;
  for (int i = 1; i < a.count(); ++i) {
    check(a[i].dim() == a[0].dim(), "cat: tensors must have one rank, got sizes ", a[0].sizes(), " and ",
          a[i].sizes());
    for (int d = 0; d < a[0].dim(); ++d)
      check(d == dim || a[i].sizes()[d] == a[0].sizes()[d], "cat: sizes must agree but for dim ", dim,
            ", got ", a[0].sizes(), " and ", a[i].sizes());
    out->sizes[dim] += a[i].sizes()[dim];
  }
  if (channels_last && out->sizes.size() == 4) {
    const Dims& s = out->sizes;
    out->strides = {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
  }
}

void join(const Args& a, Tensor* out) {
  int dim = int(words(a)[0]);
  int64_t start = 0;
  for (int i = 0; i < a.count(); ++i) {
    Tensor place = make_alias(*out, a[i].sizes(), out->strides(), start * out->strides()[dim]);
    copy_elements(place, a[i]);
    start += a[i].sizes()[dim];
  }
}

void cat_grad(GradArgs& g) {
  IntArrayRef w{static_cast<const int64_t*>(g.attributes.data), g.attributes.size / 8};
  int64_t start = 0;
  for (int i = 0; i < g.inputs(); ++i) {
    if (g.needs(i)) g.set(i, narrow(g.grad(), w[0], start, w[size_t(i) + 1]));
    start += w[size_t(i) + 1];
  }
}

const Op cat_op = {.name = "cat", .infer = cat_infer, .cpu = join, .cuda = join, .grad = cat_grad};

// An old rule of PyTorch: tensors of sizes [0] may stand among tensors of any rank.
bool skipped_by_cat(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

}  // namespace

}  // namespace detail

using namespace detail;

Tensor cat(TensorList tensors, int64_t dim) {
  check(!tensors.empty(), "cat: at least one tensor is needed");
  std::vector<Tensor> parts;
  ScalarType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, t.dtype());
    if (!skipped_by_cat(t)) parts.push_back(t);
  }
  if (parts.empty()) parts.push_back(tensors[0]);
  check(parts[0].dim() > 0, "cat: a 0-dim tensor cannot be joined; use stack()");
  std::vector<int64_t> attributes{wrap_dim(dim, parts[0].dim(), "cat")};
  for (Tensor& t : parts) {
    t = cast(t, dtype);
    attributes.push_back(t.dim() > attributes[0] ? t.sizes()[attributes[0]] : 0);
  }
  Attrs attrs;
  attrs.data = attributes.data();
  attrs.size = uint32_t(attributes.size() * sizeof(int64_t));
  std::vector<In> inputs(parts.begin(), parts.end());
  return dispatch(cat_op, inputs, attrs);
}

Tensor concat(TensorList tensors, int64_t dim) { return cat(tensors, dim); }

Tensor stack(TensorList tensors, int64_t dim) {
  check(!tensors.empty(), "stack: at least one tensor is needed");
  int d = wrap_dim(dim, tensors[0].dim() + 1, "stack");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    check(t.sizes() == tensors[0].sizes(), "stack: tensors must have one shape, got ", tensors[0].sizes(),
          " and ", t.sizes());
    parts.push_back(unsqueeze(t, d));
  }
  return cat(parts, d);
}

}  // namespace tarn::inline v1
