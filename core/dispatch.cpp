#include <tarn/core/dispatch.h>

#include <algorithm>
#include <vector>

#include <tarn/core/autocast.h>
#include <tarn/core/cuda.h>
#include <tarn/core/fault.h>
#include <tarn/core/hooks.h>
#include <tarn/core/overlap.h>

namespace tarn::inline v1::detail {

thread_local constinit Mode mode;

namespace {

// Tensors of one call live on one device; 0-dim CPU tensors go anywhere.
void check_devices(const Args& a) {
  const Tensor* first = nullptr;
  for (const In& in : a.inputs) {
    const Tensor& t = *in;
    if (!t.defined() || (t.is_cpu() && t.dim() == 0)) continue;
    if (!first) {
      first = &t;
      continue;
    }
    check(first->device() == t.device(), a.op.name, ": tensors are on different devices: ", first->device(),
          " and ", t.device(), "; move them with to()");
  }
}

bool any_needs_history(const Args& a) {
  for (const In& in : a.inputs)
    if (needs_history(*in)) return true;
  return false;
}

// Numbers may stay on the CPU where tensors are on a device; a kernel other than a pointwise one takes
// copies.
void run_cuda(const Args& a, Tensor* out, DeviceIndex device) {
  check(a.op.cuda != nullptr, a.op.name, ": not implemented on cuda; move the tensors with cpu()");
  cuda::DeviceGuard guard(device);
  bool any_on_cpu = false;
  for (const In& in : a.inputs) any_on_cpu |= (*in).defined() && (*in).is_cpu();
  if (!any_on_cpu || a.op.kind == Kind::Pointwise || a.count() == 1) return a.op.cuda(a, out);
  NoGradGuard no_grad;
  std::vector<Tensor> moved;
  for (const In& in : a.inputs)
    moved.push_back((*in).defined() && (*in).is_cpu() ? (*in).to(Device(kCUDA, device)) : *in);
  std::vector<In> inputs(moved.begin(), moved.end());
  a.op.cuda({a.op, {inputs.data(), inputs.size()}, a.attributes, a.scalars, a.inplace}, out);
}

void check_inputs_defined(const Args& a) {
  check(a.count() == 0 || a[0].defined(), a.op.name, ": the first tensor is undefined");
}

void run_view(const Args& a, Tensor* out) {
  if (!mode.capture || !capture_hooks.follow(*mode.capture, a, out)) {
    Spec spec;
    a.op.infer(a, &spec);
    if (mode.capture)
      capture_hooks.record(*mode.capture, a, &spec, out);
    else
      out[0] = make_alias(a[0], spec.sizes, spec.strides, spec.offset);
  }
  if (!a[0].is_inference()) autograd_hooks.record_view(a, out[0]);
}

// What a compiled function is about to do again needs no checks: equal geometry gives equal results.
void compute(const Args& a, Tensor* out) {
  if (mode.capture && capture_hooks.follow(*mode.capture, a, out)) return;
  check_devices(a);
  Spec specs[kMaxOutputs];
  a.op.infer(a, specs);
  if (mode.capture) return capture_hooks.record(*mode.capture, a, specs, out);
  for (int i = 0; i < a.op.outputs; ++i)
    out[i] = make_tensor(specs[i].sizes, specs[i].strides, specs[i].dtype, specs[i].device);
  run_kernel(a, out);
}

void run(const Args& a, Tensor* out) {
  check_inputs_defined(a);
  if (a.op.kind == Kind::View) return run_view(a, out);
  compute(a, out);
  if (mode.grad && a.op.grad && any_needs_history(a)) autograd_hooks.record(a, out);
}

// Writing through a tensor whose elements share memory would be order-dependent.
void check_no_internal_overlap(const char* op, const Tensor& t) {
  for (int i = 0; i < t.dim(); ++i)
    check(t.strides()[i] != 0 || t.sizes()[i] <= 1, op, ": cannot write in place to a tensor of sizes ",
          t.sizes(), " and strides ", t.strides(),
          ", where several elements share one place; call clone() first");
}

// The other inputs may be self itself, or disjoint from it; sharing a part is refused (as in PyTorch).
void check_no_partial_overlap(const Args& a) {
  const Tensor& self = a[0];
  if (self.numel() == 0) return;
  for (int i = 1; i < a.count(); ++i) {
    const Tensor& t = a[i];
    if (!t.defined() || t.numel() == 0 || t.get().storage != self.get().storage) continue;
    bool same = t.storage_offset() == self.storage_offset() && t.sizes() == self.sizes() &&
                t.strides() == self.strides();
    if (same && t.dtype() == self.dtype()) continue;
    check(!share_elements(self, t), a.op.name, ": the tensor written in place shares a part of its memory ",
          "with input ", i, "; call clone() on one of them first");
  }
}

void check_inplace(const Args& a) {
  const Tensor& self = a[0];
  check_devices(a);
  Spec spec;
  a.op.infer(a, &spec);
  check(spec.sizes == Dims(self.sizes()), a.op.name, "_: the result has sizes ", spec.sizes,
        ", the tensor written in place ", self.sizes());
  check(can_cast(spec.dtype, self.dtype()), a.op.name, "_: the result is ", spec.dtype,
        ", which cannot be written to a tensor of ", self.dtype());
  check_no_internal_overlap(a.op.name, self);
  if (!fault(15)) check_no_partial_overlap(a);
}

// Runs the kernel over its own first input.
void overwrite(const Args& a, Tensor* self) {
  if (!mode.capture) return run_kernel(a, self);
  if (!capture_hooks.follow(*mode.capture, a, nullptr))
    capture_hooks.record(*mode.capture, a, nullptr, nullptr);
}

void count_write(const Tensor& t) {
  if (!t.get().has(kIgnoreVersion) && !fault(3))
    t.get().storage->version.fetch_add(1, std::memory_order_relaxed);
}

// No tensor that an op writes may share elements with another of its inputs.
void check_written_apart(const Args& a, InputRange written) {
  std::vector<std::pair<const StorageImpl*, int>> places;
  for (int i = 0; i < a.count(); ++i)
    if (a[i].defined()) places.emplace_back(a[i].get().storage, i);
  std::sort(places.begin(), places.end());
  auto is_written = [&](int i) { return i >= written.begin && i < written.end; };
  for (size_t p = 0; p < places.size(); ++p) {
    for (size_t q = p + 1; q < places.size() && places[q].first == places[p].first; ++q) {
      int i = places[p].second, k = places[q].second;
      if (!is_written(i) && !is_written(k)) continue;
      check(!share_elements(a[i], a[k]), a.op.name, ": inputs ", i, " and ", k,
            ", one of which is written in place, share a part of their memory; call clone() on one of them "
            "first");
    }
  }
}

}  // namespace

void run_kernel(const Args& a, Tensor* out) {
  Device device = (out ? *out : a[0]).device();
  if (!device.is_cpu()) return run_cuda(a, out, device.index());
  check(a.op.cpu != nullptr, a.op.name, ": not implemented on cpu");
  a.op.cpu(a, out);
}

Tensor dispatch(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars) {
  Tensor out;
  dispatch(op, inputs, attrs, scalars, &out);
  return out;
}

void dispatch(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars, Tensor* out) {
  if (mode.autocast && op.autocast != Autocast::None) [[unlikely]]
    return dispatch_autocast(op, inputs, attrs, scalars, out);
  run({op, inputs, attrs, scalars}, out);
}

void dispatch_inplace(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars) {
  Args a{op, inputs, attrs, scalars, true};
  check_inputs_defined(a);
  ensure(op.inplace, op.name, " has no in-place form");
  Tensor self = a[0];
  if (!mode.capture || !capture_hooks.knows(*mode.capture, a)) check_inplace(a);
  check(!self.is_inference() || mode.inference, op.name,
        "_: a tensor made in InferenceMode cannot be written outside of it; call clone() first");

  autograd::Node* node = mode.inference ? nullptr : autograd_hooks.begin_inplace(a, self);
  try {
    overwrite(a, &self);
  } catch (...) {
    if (node) autograd_hooks.abandon(node);
    throw;
  }
  count_write(self);
  if (node) autograd_hooks.end_inplace(node, self);
}

void dispatch_mutate(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars) {
  Args a{op, inputs, attrs, scalars};
  InputRange written = op.writes(a);
  for (int i = written.begin; i < written.end; ++i) {
    check(!mode.grad || !needs_history(a[i]), op.name, ": input ", i, " of sizes ", a[i].sizes(),
          ", which is written in place, requires grad; do it under NoGradGuard");
    check(!a[i].is_inference() || mode.inference, op.name,
          ": a tensor made in InferenceMode cannot be written outside of it; call clone() first");
  }
  if (!mode.capture || !capture_hooks.follow(*mode.capture, a, nullptr)) {
    check_devices(a);
    op.infer(a, nullptr);
    for (int i = written.begin; i < written.end; ++i) check_no_internal_overlap(op.name, a[i]);
    check_written_apart(a, written);
    if (mode.capture)
      capture_hooks.record(*mode.capture, a, nullptr, nullptr);
    else
      run_kernel(a, nullptr);
  }
  for (int i = written.begin; i < written.end; ++i) count_write(a[i]);
}

void infer_like_first(const Args& a, Spec* out) {
  out->sizes = a[0].sizes();
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

}  // namespace tarn::inline v1::detail
