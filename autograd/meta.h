// AutogradMeta: what autograd hangs on to a tensor that takes part in it.
#pragma once

#include <tarn/autograd/node_hooks.h>

namespace tarn::inline v1::detail {

struct AutogradMeta {
  Tensor grad;
  Ref<Node> grad_fn;  // null for a leaf
  uint32_t output_nr = 0;
  // For a view: which history of its base grad_fn was made from (Node::sequence; 0: the base was a leaf), and
  // at which version of the storage.
  uint64_t base_history = 0;
  uint32_t view_version = 0;
  Node* accumulator = nullptr;  // a leaf's AccumulateGrad, not owned: it owns the leaf
  Ref<HookList> hooks;
  Ref<HookList> post_accumulate;
  Ref<RetainSlot> retain;  // set if the gradient of this non-leaf is kept
  // Guards accumulator, the lazy grad_fn of a view and, while a backward adds to it, grad.
  std::mutex mutex;
};

// The meta of a tensor; made if there is none. Safe for readers of one tensor on several threads.
AutogradMeta& meta_of(const TensorImpl& impl);

// The AccumulateGrad of a leaf that requires grad.
Ref<Node> accumulator_of(TensorImpl& leaf);

// Where the gradient of `t` goes; no node if it needs none. Brings the history of a view up to date.
Edge gradient_edge(const Tensor& t);

// Makes output `nr` of `node` the history of a tensor that is not a view, or of a view just made. A leaf is
// one no more.
void set_history(TensorImpl& impl, const Ref<Node>& node, uint32_t nr);

// A non-leaf's retained gradient follows its newest history.
void move_retained(AutogradMeta& meta, Node* from, Node* to, uint32_t nr);

// Undoes retain_grad().
void drop_retained(AutogradMeta& meta) noexcept;

// Hooks of the node that stand for a tensor's.
autograd::NodeHooks& hooks_of(Node& node);

inline uint64_t history_of(const TensorImpl& impl) {
  return impl.autograd && impl.autograd->grad_fn ? impl.autograd->grad_fn->sequence : 0;
}

}  // namespace tarn::inline v1::detail
