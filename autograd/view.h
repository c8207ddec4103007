// ViewLink: how a view was made from its base, as a chain of View ops. Autograd replays the chain, on the
// base's history to give a view its own, and on a gradient of the base to find the part that a write through
// the view concerns.
#pragma once

#include <mutex>

#include <tarn/autograd/node.h>
#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

// The view owns its link, and through it the base. Views of the view and nodes that replay the chain own the
// link too, but must not own the base (its history may own them): `base` is let go when the view dies.
struct ViewLink {
  std::atomic<int32_t> refs{1};
  Ref<TensorImpl> base;
  Ref<ViewLink> parent;  // null: the op was applied to the base
  const Op* op = nullptr;
  GradMeta out;
  uint32_t version = 0;  // of the storage, when the view was made
  // The view's newest node made by replay, not owned, and what it was made from.
  Node* node = nullptr;
  uint64_t node_history = 0;
  uint32_t node_version = 0;
  std::mutex mutex;
  uint32_t attr_bytes = 0;
  uint32_t scalar_count = 0;

  // The copied attributes and scalars stand behind the struct.
  char* tail() { return reinterpret_cast<char*>(this + 1); }
  Attrs attrs() {
    Attrs a;
    a.data = tail();
    a.size = attr_bytes;
    return a;
  }
  Scalars scalars() {
    return {reinterpret_cast<const Scalar*>(tail() + (attr_bytes + 7) / 8 * 8), scalar_count};
  }
};
inline void retain(ViewLink* link) noexcept { link->refs.fetch_add(1, std::memory_order_relaxed); }
void release(ViewLink* link) noexcept;

// A link for `out`, just made by a View op from a[0].
ViewLink* make_link(const Args& a, const Tensor& out);

// Applies the chain to another tensor with the base's geometry.
Tensor replay(ViewLink* link, Tensor base);

// Records the chain behind `base`: returns where a gradient of the view goes when that of the base goes to
// `base`.
Edge replay_history(ViewLink* link, Edge base);

// As replay_history(), but for the same history and version of the storage it returns the same node while
// that lives: the view and the saved output of an in-place op on it must agree on where the gradient goes.
Edge view_history(ViewLink* link, Edge base, uint32_t version);

// Brings a view's grad_fn up to date with its base's history. An Error if the view may not follow it.
void refresh_view(const TensorImpl& view);

}  // namespace tarn::inline v1::detail
