// Hooks: functions of the user that backward calls. A tensor's hooks see its gradient and may replace it; a
// node's see all gradients that go in and out.
#pragma once

#include <mutex>

#include <tarn/autograd/node.h>
#include <tarn/core/function.h>

namespace tarn::inline v1::detail {

struct AutogradMeta;
struct Origin;

// A user's function; an undefined result leaves the gradient as it is.
using TensorHook = Function<Tensor(const Tensor&)>;

// The hooks of one tensor, shared by the tensor (which adds and removes) and its node (which calls).
struct HookList {
  std::atomic<int32_t> refs{1};
  std::vector<TensorHook> hooks;  // removed ones stay, empty: indices are kept
};
inline void retain(HookList* p) noexcept { p->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(HookList* p) noexcept {
  if (p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p;
}

// Where a node puts the gradient of an output whose tensor asked for it with retain_grad(). The tensor clears
// it when it dies: the node must not keep the tensor alive.
struct RetainSlot {
  std::atomic<int32_t> refs{1};
  std::mutex mutex;
  AutogradMeta* meta = nullptr;
};
inline void retain(RetainSlot* p) noexcept { p->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(RetainSlot* p) noexcept {
  if (p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p;
}

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1::autograd {

struct NodeHooks {
  struct OfOutput {
    uint32_t output_nr;
    detail::Ref<detail::HookList> list;
  };
  struct Retained {
    uint32_t output_nr;
    detail::Ref<detail::RetainSlot> slot;
  };
  std::vector<OfOutput> tensor_hooks;
  std::vector<Retained> retained;
  // Shared with the engine while it calls one, which may remove itself.
  std::vector<std::shared_ptr<FunctionPreHook>> pre;
  std::vector<std::shared_ptr<FunctionPostHook>> post;
  std::shared_ptr<detail::Origin> origin;  // in anomaly mode
};

}  // namespace tarn::inline v1::autograd
