#include <tarn/autograd/view.h>

#include <cstring>

#include <tarn/autograd/meta.h>
#include <tarn/autograd/op_node.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/pool.h>

namespace tarn::inline v1::detail {

namespace {

size_t link_bytes(uint32_t attr_bytes, uint32_t scalars) {
  return sizeof(ViewLink) + (attr_bytes + 7) / 8 * 8 + scalars * sizeof(Scalar);
}

std::vector<ViewLink*> chain_from_base(ViewLink* last) {
  std::vector<ViewLink*> chain;
  for (ViewLink* link = last; link; link = link->parent.get()) chain.push_back(link);
  return {chain.rbegin(), chain.rend()};
}

}  // namespace

// A loop, since a chain may be long: each link owns its parent.
void release(ViewLink* link) noexcept {
  while (link && link->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ViewLink* parent = link->parent.leak();
    size_t bytes = link_bytes(link->attr_bytes, link->scalar_count);
    link->~ViewLink();
    pool_deallocate(link, bytes);
    link = parent;
  }
}

ViewLink* make_link(const Args& a, const Tensor& out) {
  const TensorImpl& from = a[0].get();
  uint32_t scalars = uint32_t(a.scalars.size());
  auto* link = new (pool_allocate(link_bytes(a.attributes.size, scalars))) ViewLink;
  link->base = from.view ? from.view->base : a[0].impl();
  link->parent = Ref<ViewLink>::share(from.view);
  link->op = &a.op;
  link->out = {out.get().sizes, out.dtype(), out.device()};
  link->version = out._version();
  link->attr_bytes = a.attributes.size;
  link->scalar_count = scalars;
  if (link->attr_bytes) std::memcpy(link->tail(), a.attributes.data, link->attr_bytes);
  for (uint32_t i = 0; i < scalars; ++i)
    new (const_cast<Scalar*>(link->scalars().data()) + i) Scalar(a.scalars[i]);
  return link;
}

Tensor replay(ViewLink* last, Tensor base) {
  for (ViewLink* link : chain_from_base(last))
    base = dispatch(*link->op, {base}, link->attrs(), link->scalars());
  return base;
}

Edge replay_history(ViewLink* last, Edge base) {
  for (ViewLink* link : chain_from_base(last)) {
    ensure(link->op->saves == 0, link->op->name, ": a view's gradient must not need saved tensors");
    OpNode* node = OpNode::make(*link->op, 1, 1, 0, link->attrs(), link->scalars());
    node->edges[0] = std::move(base);
    node->outputs[0] = link->out;
    node->number();
    base = {Ref<Node>::adopt(node), 0};
  }
  return base;
}

Edge view_history(ViewLink* link, Edge base, uint32_t version) {
  uint64_t history = base.is_valid() ? base.function->sequence : 0;
  std::lock_guard lock(link->mutex);
  if (link->node && link->node_history == history && link->node_version == version)
    if (Ref<Node> alive = revive(link->node)) return {alive, 0};
  Edge made = replay_history(link, std::move(base));
  OpNode& node = static_cast<OpNode&>(*made.function);
  node.weakly_held = true;
  node.link = Ref<ViewLink>::share(link);
  link->node = &node;
  link->node_history = history;
  link->node_version = version;
  return made;
}

namespace {

void refuse_stale(const TensorImpl& view) {
  const char* op = view.view->op->name;
  check(!view.has(kNoGradView), op,
        ": this view was made with grad mode off, and its base or another view of the base ",
        "was since changed in place, so it is unclear what its gradient is; make the view and the change "
        "under the ",
        "same grad mode");
  check(!view.has(kMultiOutputView), op,
        ": this view is one of several that split(), chunk() or unbind() returned, ",
        "and its base or another view of the base was since changed in place; make the view after the "
        "change, or clone() ",
        "it before");
}

}  // namespace

// A write moves the storage's version; the base's history tells where the version does not move (x.data()).
void refresh_view(const TensorImpl& view) {
  ViewLink& link = *view.view;
  const TensorImpl& base = *link.base;
  bool base_needs = base.has(kRequiresGrad);
  if (!base_needs && !(view.autograd && view.autograd->grad_fn)) return;
  uint32_t version = view.storage->version.load(std::memory_order_relaxed);
  if (version != link.version) refuse_stale(view);
  if (view.has(kNoGradView)) return;
  AutogradMeta& meta = meta_of(view);
  std::lock_guard lock(meta.mutex);
  if (meta.grad_fn && meta.view_version == version && (meta.base_history == history_of(base) || !base_needs))
    return;
  Edge edge = view_history(&link, gradient_edge(Tensor(link.base)), version);
  if (meta.retain) move_retained(meta, meta.grad_fn.get(), edge.function.get(), 0);
  meta.hooks.reset();
  meta.base_history = history_of(base);
  meta.view_version = version;
  meta.grad_fn = std::move(edge.function);
  meta.output_nr = 0;
}

}  // namespace tarn::inline v1::detail
