#include <tarn/core/ops/copy.h>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

Tensor filled(const Tensor& like, const Scalar& value);

// --- clone: attributes are the memory format ---

struct CloneAttrs {
  int64_t format;
};

Dims channels_last_strides(IntArrayRef sizes) {
  int64_t c = sizes[1], h = sizes[2], w = sizes[3];
  auto one = [](int64_t n) { return n > 1 ? n : 1; };
  return {one(h) * one(w) * one(c), 1, one(w) * one(c), one(c)};
}

void clone_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  auto format = MemoryFormat(a.attrs<CloneAttrs>().format);
  if (format == MemoryFormat::Preserve) out->strides = strides_like(a[0]);
  if (format == MemoryFormat::ChannelsLast) {
    check(a[0].dim() == 4, "contiguous: channels_last needs a tensor of 4 dims, got ", a[0].sizes());
    out->strides = channels_last_strides(a[0].sizes());
  }
}

void copy_first(const Args& a, Tensor* out) { copy_elements(*out, a[0]); }

void pass_gradient(GradArgs& g) { g.set(0, g.grad()); }

const Op clone_op = {
    .name = "clone", .infer = clone_infer, .cpu = copy_first, .cuda = copy_first, .grad = pass_gradient};

// --- cast: autograd casts the gradient back to the input's dtype ---

struct CastAttrs {
  int64_t dtype;
};

void cast_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->dtype = ScalarType(a.attrs<CastAttrs>().dtype);
  out->strides = strides_like(a[0]);
}

void cast_grad(GradArgs& g) {
  if (is_floating(g.input_dtype(0))) g.set(0, cast(g.grad(), g.input_dtype(0)));
}

const Op cast_op = {
    .name = "to", .infer = cast_infer, .cpu = copy_first, .cuda = copy_first, .grad = cast_grad};

// --- copy_: inputs self, src. The gradient of self's old value is zero ---

void copy_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  Dims sizes = broadcast_sizes(a[0].sizes(), a[1].sizes(), "copy_");
  check(sizes == Dims(a[0].sizes()), "copy_: a source of sizes ", a[1].sizes(), " does not broadcast to ",
        a[0].sizes());
}

void copy_second(const Args& a, Tensor* out) { copy_elements(*out, a[1]); }

void copy_grad(GradArgs& g) {
  if (g.needs(0)) g.set(0, filled(g.grad(), 0));
  if (g.needs(1)) g.set(1, cast(g.grad(), g.input_dtype(1)));
}

const Op copy_op = {.name = "copy",
                    .infer = copy_infer,
                    .cpu = copy_second,
                    .cuda = copy_second,
                    .grad = copy_grad,
                    .inplace = true};

// --- fill_ with a number ---

void fill_first(const Args& a, Tensor* out) { fill_elements(*out, a.scalar()); }

void fill_grad(GradArgs& g) { g.set(0, filled(g.grad(), 0)); }

const Op fill_op = {.name = "fill",
                    .infer = infer_like_first,
                    .cpu = fill_first,
                    .cuda = fill_first,
                    .grad = fill_grad,
                    .inplace = true};

// --- moving to another device ---

struct MoveAttrs {
  int64_t to_type, to_index, from_type, from_index, non_blocking;
};

void move_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<MoveAttrs>();
  infer_like_first(a, out);
  out->strides = strides_like(a[0]);
  out->device = {DeviceType(attrs.to_type), DeviceIndex(attrs.to_index)};
}

void move_kernel(const Args& a, Tensor* out) { transfer(*out, a[0], a.attrs<MoveAttrs>().non_blocking); }

Tensor move(const Tensor& x, Device device, bool non_blocking);

void move_grad(GradArgs& g) {
  const auto& attrs = g.attrs<MoveAttrs>();
  g.set(0, move(g.grad(), {DeviceType(attrs.from_type), DeviceIndex(attrs.from_index)}, attrs.non_blocking));
}

const Op move_op = {
    .name = "to_device", .infer = move_infer, .cpu = move_kernel, .cuda = move_kernel, .grad = move_grad};

Tensor move(const Tensor& x, Device device, bool non_blocking) {
  if (x.device() == device) return x;
  return dispatch(move_op, {x},
                  MoveAttrs{int64_t(device.type()), device.index(), int64_t(x.device().type()),
                            x.device().index(), non_blocking});
}

Tensor filled(const Tensor& like, const Scalar& value) { return dispatch(fill_op, {like}, {}, value); }

}  // namespace

Tensor cast(const Tensor& x, ScalarType dtype) {
  if (x.dtype() == dtype) return x;
  return dispatch(cast_op, {x}, CastAttrs{int64_t(dtype)});
}

Dims strides_like(const Tensor& like) {
  if (like.is_contiguous()) return {};
  // Dims from the innermost outwards; dense if each stride is the product of the sizes inside it.
  Dims order;
  for (int d = int(like.dim()) - 1; d >= 0; --d) {
    int at = order.size();
    while (at > 0 && like.strides()[order[at - 1]] > like.strides()[d]) --at;
    order.insert(at, d);
  }
  Dims strides(int(like.dim()));
  int64_t step = 1;
  for (int64_t d : order) {
    if (like.sizes()[d] != 1 && like.strides()[d] != step) return {};
    strides[int(d)] = step;
    step *= like.sizes()[d] > 1 ? like.sizes()[d] : 1;
  }
  return strides;
}

Tensor sum_to(const Tensor& x, IntArrayRef sizes) {
  if (x.sizes() == sizes) return x;
  Dims over;
  int lead = int(x.dim()) - int(sizes.size());
  for (int d = 0; d < x.dim(); ++d)
    if (d < lead || (sizes[d - lead] == 1 && x.sizes()[d] != 1)) over.push_back(d);
  Tensor summed = over.empty() ? x : x.sum(over, true);
  return lead > 0 ? view(summed, sizes) : summed;
}

}  // namespace detail

using namespace detail;

Tensor clone(const Tensor& x, MemoryFormat format) {
  return dispatch(clone_op, {x}, CloneAttrs{int64_t(format)});
}

Tensor contiguous(const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve || x.is_contiguous(format)) return x;
  return clone(x, format);
}

Tensor& Tensor::copy_(const Tensor& src, bool non_blocking) const {
  dispatch_inplace(copy_op, {*this, move(src, device(), non_blocking)});
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::fill_(const Scalar& value) const {
  dispatch_inplace(fill_op, {*this}, {}, value);
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::fill_(const Tensor& value) const {
  check(value.dim() == 0, "fill_: the value must be a 0-dim tensor, got sizes ", value.sizes());
  return copy_(value);
}

Tensor& Tensor::zero_() const { return fill_(0); }

Tensor Tensor::clone(MemoryFormat format) const { return tarn::clone(*this, format); }
Tensor Tensor::contiguous(MemoryFormat format) const { return tarn::contiguous(*this, format); }

Tensor Tensor::to(ScalarType dtype, bool, bool copy) const {
  return copy && dtype == this->dtype() ? clone() : cast(*this, dtype);
}

Tensor Tensor::to(Device device, bool non_blocking, bool copy) const {
  check(device.is_cpu() || device.is_cuda(), "to: device ", device, " holds no tensors; use cpu or cuda");
  device = resolve_device("to", device);
  if (device == this->device()) return copy ? clone() : *this;
  return move(*this, device, non_blocking);
}

Tensor Tensor::pin_memory() const {
  check(is_cpu(), "pin_memory: the tensor is on ", device(), "; only memory of the CPU can be pinned");
  if (is_pinned()) return *this;
  Tensor out = make_pinned(sizes(), dtype());
  copy_elements(out, *this);
  return out;
}

Tensor Tensor::to(Device device, ScalarType dtype, bool non_blocking, bool copy) const {
  // The fewer bytes are moved.
  if (device == this->device() || element_size() > tarn::element_size(dtype))
    return to(dtype, non_blocking, copy).to(device, non_blocking);
  return to(device, non_blocking, copy).to(dtype);
}

Tensor Tensor::to(const TensorOptions& options) const {
  Tensor x = options.has_device() ? to(options.device()) : *this;
  return options.has_dtype() ? x.to(options.dtype()) : x;
}

}  // namespace tarn::inline v1
