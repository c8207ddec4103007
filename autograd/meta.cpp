#include <tarn/autograd/meta.h>

#include <tarn/autograd/accumulate.h>
#include <tarn/autograd/view.h>
#include <tarn/core/hooks.h>

namespace tarn::inline v1::detail {

AutogradMeta& meta_of(const TensorImpl& impl) {
  std::atomic_ref<AutogradMeta*> slot(const_cast<TensorImpl&>(impl).autograd);
  AutogradMeta* there = slot.load(std::memory_order_acquire);
  if (there) return *there;
  auto made = std::make_unique<AutogradMeta>();
  if (slot.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *there;
}

Ref<Node> accumulator_of(TensorImpl& leaf) {
  AutogradMeta& meta = meta_of(leaf);
  std::lock_guard lock(meta.mutex);
  if (meta.accumulator)
    if (Ref<Node> alive = revive(meta.accumulator)) return alive;
  Ref<Node> made = Ref<Node>::adopt(new AccumulateGrad(Ref<TensorImpl>::share(&leaf)));
  meta.accumulator = made.get();
  return made;
}

Edge gradient_edge(const Tensor& t) {
  TensorImpl& impl = t.get();
  if (impl.view) refresh_view(impl);
  AutogradMeta* meta = impl.autograd;
  if (meta && meta->grad_fn) return {meta->grad_fn, meta->output_nr};
  if (impl.has(kRequiresGrad)) return {accumulator_of(impl), 0};
  return {};
}

void set_history(TensorImpl& impl, const Ref<Node>& node, uint32_t nr) {
  AutogradMeta& meta = meta_of(impl);
  // The history that comes may lead to this leaf's AccumulateGrad, which must not own it then.
  if (meta.accumulator) static_cast<AccumulateGrad*>(meta.accumulator)->let_go();
  if (meta.retain) move_retained(meta, meta.grad_fn.get(), node.get(), nr);
  // Hooks stay with the value that they were registered for.
  meta.hooks.reset();
  meta.grad_fn = node;
  meta.output_nr = nr;
  impl.set(kRequiresGrad, true);
}

autograd::NodeHooks& hooks_of(Node& node) {
  if (!node.hooks) node.hooks = new autograd::NodeHooks;
  return *node.hooks;
}

void drop_retained(AutogradMeta& meta) noexcept {
  {
    std::lock_guard lock(meta.retain->mutex);
    meta.retain->meta = nullptr;
  }
  meta.retain.reset();
}

void move_retained(AutogradMeta& meta, Node* from, Node* to, uint32_t nr) {
  if (from && from->hooks)
    std::erase_if(from->hooks->retained, [&](const auto& entry) { return entry.slot == meta.retain; });
  hooks_of(*to).retained.push_back({nr, meta.retain});
}

}  // namespace tarn::inline v1::detail
