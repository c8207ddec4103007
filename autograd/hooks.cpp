// What core's dispatch() asks of autograd, as declared in core/hooks.h.
#include <tarn/core/hooks.h>

#include <tarn/autograd/anomaly.h>
#include <tarn/autograd/copy_slices.h>
#include <tarn/autograd/meta.h>
#include <tarn/autograd/op_node.h>
#include <tarn/autograd/small_array.h>
#include <tarn/autograd/view.h>
#include <tarn/core/ops/copy.h>

namespace tarn::inline v1::detail {

using autograd::AnomalyMode;

namespace {

constexpr int kOutputShift = 24;

bool saves_input(Saves saves, int i) { return (saves & kSaveAllInputs) || (i < 23 && (saves >> i & 1)); }
bool saves_output(Saves saves, int i) { return saves >> (kOutputShift + i) & 1; }

// In place, input 0 loses its value. Other inputs that are the very same elements lose theirs with it.
bool is_self(const Args& a, int i) {
  if (i == 0) return true;
  const TensorImpl &x = a[i].get(), &self = a[0].get();
  return x.storage == self.storage && x.offset == self.offset && x.sizes == self.sizes &&
         x.strides == self.strides;
}

Tensor copy_without_history(const Tensor& t) {
  NoGradGuard no_grad;
  return t.clone();
}

// A node with its edges and saved inputs; `saves` is set to what is saved. Outputs are the caller's to fill
// in.
Ref<Node> begin_node(const Args& a, int outputs, Saves& saves) {
  SmallArray<Edge, 6> edges(a.count());
  uint32_t needs = 0;
  for (int i = 0; i < a.count(); ++i) {
    if (!needs_history(a[i])) continue;
    edges[i] = gradient_edge(a[i]);
    if (i < 32) needs |= 1u << i;
  }
  saves = !a.op.grad ? 0 : a.op.saves_for ? a.op.saves_for(needs) : a.op.saves;
  int count = 0;
  for (int i = 0; i < a.count(); ++i) count += saves_input(saves, i) && a[i].defined();
  for (int i = 0; i < outputs; ++i) count += saves_output(saves, i);

  OpNode* node = OpNode::make(a.op, a.count(), outputs, count, a.attributes, a.scalars);
  Ref<Node> owner = Ref<Node>::adopt(node);
  Tensor self_before;
  for (int i = 0; i < a.count(); ++i) {
    if (!saves_input(saves, i) || !a[i].defined()) continue;
    bool self = a.inplace && is_self(a, i);
    if (self && !self_before.defined()) self_before = copy_without_history(a[0]);
    node->save(self ? self_before : a[i], edges[i], i, false);
  }
  for (int i = 0; i < a.count(); ++i) node->edges[i] = std::move(edges[i]);
  node->inplace = a.inplace;
  node->number();
  if (AnomalyMode::is_enabled()) [[unlikely]]
    note_inputs(*node, a);
  return owner;
}

bool is_differentiable(const Op& op, const Tensor& out, int i) {
  return (op.differentiable >> i & 1) && is_floating(out.dtype());
}

void record(const Args& a, Tensor* out) {
  uint32_t outputs = 0;
  for (int i = 0; i < a.op.outputs; ++i) outputs |= uint32_t(is_differentiable(a.op, out[i], i)) << i;
  if (!outputs) return;
  Saves saves;
  Ref<Node> owner = begin_node(a, a.op.outputs, saves);
  OpNode& node = static_cast<OpNode&>(*owner);
  node.differentiable = uint8_t(outputs);
  for (int i = 0; i < a.op.outputs; ++i) {
    node.outputs[i] = {out[i].get().sizes, out[i].dtype(), out[i].device()};
    if (saves_output(saves, i)) node.save(out[i], Edge(), i, true);
    if (outputs >> i & 1) set_history(out[i].get(), owner, uint32_t(i));
  }
  if (AnomalyMode::is_enabled()) [[unlikely]]
    note_outputs(node, out, a.op.outputs);
}

void record_view(const Args& a, Tensor& out) {
  TensorImpl& impl = out.get();
  impl.view = make_link(a, out);
  impl.flags |= a[0].get().flags & (kMultiOutputView | kNoGradView);
  if (!mode.grad) {
    impl.set(kNoGradView, true);
    return;
  }
  if (!a.op.grad || !needs_history(a[0])) return;
  Edge from = gradient_edge(a[0]);
  OpNode* node = OpNode::make(a.op, 1, 1, 0, a.attributes, a.scalars);
  Ref<Node> owner = Ref<Node>::adopt(node);
  node->edges[0] = std::move(from);
  node->outputs[0] = impl.view->out;
  node->number();
  set_history(impl, owner, 0);
  impl.autograd->base_history = history_of(*impl.view->base);
  impl.autograd->view_version = impl.view->version;
}

bool is_leaf(const TensorImpl& impl) { return !impl.autograd || !impl.autograd->grad_fn; }

void check_writable(const Args& a, const TensorImpl& self) {
  const char* op = a.op.name;
  if (self.view) {
    check(!self.has(kNoGradView), op,
          "_: this view was made with grad mode off and is now written with grad mode on, ",
          "so it is unclear what its gradient is; make the view and the change under the same grad mode");
    check(!self.has(kMultiOutputView), op,
          "_: this view is one of several that split(), chunk() or unbind() returned, ",
          "and those cannot be written in place under autograd; use the out-of-place op, or narrow() for the "
          "view");
    check(!needs_history(a[0]) || !is_leaf(*self.view->base), op,
          "_: a view of a leaf that requires grad cannot be ",
          "written in place; do it under NoGradGuard, or on a result of the leaf");
  }
  check(!needs_history(a[0]) || !is_leaf(self) || self.view, op,
        "_: a leaf that requires grad cannot be written in place; ",
        "do it under NoGradGuard, or on a result of the leaf");
}

Node* begin_inplace(const Args& a, const Tensor& self) {
  if (!mode.grad) return nullptr;
  const TensorImpl& impl = self.get();
  bool needed = impl.view && impl.view->base->has(kRequiresGrad);
  for (int i = 0; i < a.count() && !needed; ++i) needed = needs_history(a[i]);
  if (!needed || !is_floating(impl.dtype)) return nullptr;
  check_writable(a, impl);
  Saves saves;
  Ref<Node> owner = begin_node(a, 1, saves);
  OpNode& node = static_cast<OpNode&>(*owner);
  node.outputs[0] = {impl.sizes, impl.dtype, impl.storage->device};
  node.saves_output = saves_output(saves, 0);
  return owner.leak();
}

void end_inplace(Node* unfinished, const Tensor& self) {
  Ref<Node> owner = Ref<Node>::adopt(unfinished);
  OpNode& node = static_cast<OpNode&>(*owner);
  if (node.saves_output) node.save(self, Edge(), 0, true);
  if (AnomalyMode::is_enabled()) [[unlikely]]
    note_outputs(node, &self, 1);
  TensorImpl& impl = self.get();
  if (!impl.view) return set_history(impl, owner, 0);
  TensorImpl& base = *impl.view->base;
  Ref<Node> slices = Ref<Node>::adopt(
      new CopySlices(owner, base, Ref<ViewLink>::share(impl.view), gradient_edge(Tensor(impl.view->base))));
  set_history(base, slices, 0);
  // At once, lest the base is detached first.
  refresh_view(impl);
}

void abandon(Node* node) { release(node); }

void free_meta(AutogradMeta* meta) noexcept {
  if (meta->retain) drop_retained(*meta);
  delete meta;
}

void release_view(ViewLink* link) noexcept {
  link->base.reset();
  release(link);
}

bool view_requires_grad(const TensorImpl& impl) {
  if (impl.view->base->has(kRequiresGrad)) return true;
  // A base that was detached since leaves its views their history.
  if (!impl.autograd) return false;
  std::lock_guard lock(impl.autograd->mutex);
  return bool(impl.autograd->grad_fn);
}

}  // namespace

const AutogradHooks autograd_hooks = {
    .record = record,
    .record_view = record_view,
    .begin_inplace = begin_inplace,
    .end_inplace = end_inplace,
    .abandon = abandon,
    .free_meta = free_meta,
    .release_view = release_view,
    .view_requires_grad = view_requires_grad,
};

}  // namespace tarn::inline v1::detail
