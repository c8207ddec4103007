#include <tarn/autograd/accumulate.h>

#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>

namespace tarn::inline v1::detail {

AccumulateGrad::AccumulateGrad(const Ref<TensorImpl>& leaf) : Node("accumulate_grad"), variable(leaf) {
  is_accumulate = true;
  weakly_held = true;
  meta_ = {leaf->sizes, leaf->dtype, leaf->storage->device};
  outputs = &meta_;
  output_count = 1;
  number();
}

AccumulateGrad::~AccumulateGrad() { let_go(); }

void AccumulateGrad::let_go() {
  if (!variable.defined()) return;
  AutogradMeta& meta = *variable.get().autograd;
  {
    std::lock_guard lock(meta.mutex);
    if (meta.accumulator == this) meta.accumulator = nullptr;
  }
  variable.reset();
}

namespace {

bool sole_owner(const Tensor& t) {
  const TensorImpl& impl = t.get();
  return impl.refs.load(std::memory_order_acquire) == 1 &&
         impl.storage->refs.load(std::memory_order_acquire) == 1;
}

// The gradient itself where nobody else holds it and it is laid out like the leaf, else a copy that is.
Tensor owned(Tensor grad, const Tensor& leaf) {
  bool same_layout = grad.strides() == leaf.strides() || (grad.is_contiguous() && leaf.is_contiguous());
  if (sole_owner(grad) && same_layout) return grad;
  Dims strides = strides_like(leaf);
  Tensor copy = make_tensor(leaf.sizes(), strides, leaf.dtype(), grad.device());
  copy.copy_(grad);
  return copy;
}

}  // namespace

void AccumulateGrad::apply(autograd::NodeCall& call) {
  check(variable.defined(), "backward: a leaf of sizes ", meta_.sizes,
        " was detached and then written in place, so it is ",
        "no leaf any more and cannot take its gradient; write to a clone() of it");
  // Switched off since the forward.
  if (!variable.get().has(kRequiresGrad)) return;
  Tensor grad = std::move(call.grads[0]);
  AutogradMeta& meta = *variable.get().autograd;
  Ref<HookList> after;
  {
    std::lock_guard lock(meta.mutex);
    if (mode.grad)
      meta.grad = meta.grad.defined() ? add(meta.grad, grad) : grad.clone();
    else if (meta.grad.defined())
      fault(14) ? meta.grad.copy_(grad) : meta.grad.add_(grad);
    else
      meta.grad = owned(std::move(grad), variable);
    after = meta.post_accumulate;
  }
  if (!after) return;
  for (size_t i = 0; i < after->hooks.size(); ++i)
    if (TensorHook hook = after->hooks[i]) hook(variable);
}

}  // namespace tarn::inline v1::detail
