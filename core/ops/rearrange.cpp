// flip is an op; roll and repeat are written with it, with views and with cat.
#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct FlipAttrs {
  int64_t dims;  // bit d: dim d is reversed
};

void reverse(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  int64_t dims = a.attrs<FlipAttrs>().dims;
  Dims strides(a[0].strides());
  int64_t offset = a[0].storage_offset();
  for (int d = 0; d < strides.size(); ++d) {
    if (!(dims >> d & 1)) continue;
    offset += (a[0].sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  copy_elements(*out, make_alias(a[0], a[0].sizes(), strides, offset));
}

void flip_grad(GradArgs& g);

const Op flip_op = {
    .name = "flip", .infer = infer_like_first, .cpu = reverse, .cuda = reverse, .grad = flip_grad};

void flip_grad(GradArgs& g) { g.set(0, dispatch(flip_op, {g.grad()}, g.attrs<FlipAttrs>())); }

}  // namespace

}  // namespace detail

using namespace detail;

Tensor flip(const Tensor& x, IntArrayRef dims) {
  FlipAttrs attrs{0};
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, x.dim(), "flip");
    check(!(attrs.dims >> d & 1), "flip: dim ", dim, " stands twice in ", dims);
    attrs.dims |= int64_t(1) << d;
  }
  return dispatch(flip_op, {x}, attrs);
}

Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims) {
  if (dims.empty()) {
    check(shifts.size() == 1, "roll: without dims one shift is needed, got ", shifts);
    return reshape(roll(reshape(x, {-1}), shifts, {0}), x.sizes());
  }
  check(shifts.size() == dims.size(), "roll: ", shifts.size(), " shifts but ", dims.size(), " dims");
  Tensor out = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    int d = wrap_dim(dims[i], x.dim(), "roll");
    int64_t size = x.dim() == 0 ? 1 : x.sizes()[d];
    if (size == 0 || shifts[i] % size == 0) continue;
    int64_t cut = (size - shifts[i] % size) % size;
    out = cat({narrow(out, d, cut, size - cut), narrow(out, d, 0, cut)}, d);
  }
  return out.is_same(x) ? clone(x) : out;
}

Tensor repeat(const Tensor& x, IntArrayRef repeats) {
  int lead = int(repeats.size()) - int(x.dim());
  check(lead >= 0, "repeat: repeats ", repeats, " are fewer than the dims of a tensor of sizes ", x.sizes());
  Dims split, expanded, joined;
  for (int d = 0; d < int(repeats.size()); ++d) {
    check(repeats[d] >= 0, "repeat: repeats must not be negative, got ", repeats);
    int64_t size = d < lead ? 1 : x.sizes()[d - lead], total = 0;
    check(!__builtin_mul_overflow(size, repeats[d], &total), "repeat: ", repeats, " times sizes ", x.sizes(),
          " overflows");
    joined.push_back(total);
    if (repeats[d] != 1) {
      split.push_back(1);
      expanded.push_back(repeats[d]);
    }
    split.push_back(size);
    expanded.push_back(size);
  }
  return reshape(clone(expand(reshape(x, split), expanded), MemoryFormat::Contiguous), joined);
}

Tensor Tensor::flip(IntArrayRef dims) const { return tarn::flip(*this, dims); }
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const { return tarn::roll(*this, shifts, dims); }
Tensor Tensor::repeat(IntArrayRef repeats) const { return tarn::repeat(*this, repeats); }

}  // namespace tarn::inline v1
