// What core asks of autograd. core declares the table, autograd/hooks.cpp defines it; neither includes the
// other's insides, and the linker binds them, so there is nothing to register at start-up.
#pragma once

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

struct AutogradHooks {
  // After a non-view op ran with grad mode on and an input that requires grad: makes the node, sets outputs'
  // history.
  void (*record)(const Args& a, Tensor* out);
  // After a View op made out from a[0] (also under InferenceMode, if a[0] was made outside of it): links the
  // view to its base, records if needed.
  void (*record_view)(const Args& a, Tensor& out);
  // Before an in-place op on self == a[0]. Throws where the write is refused (a leaf that requires grad,
  // ...). Returns the unfinished node if the result needs history (saved inputs already taken; self's old
  // value cloned if it is saved), else null.
  autograd::Node* (*begin_inplace)(const Args& a, const Tensor& self);
  // After the write and the version bump: makes `node` the history of self (and of its base, if self is a
  // view).
  void (*end_inplace)(autograd::Node* node, const Tensor& self);
  // Throws away the node of begin_inplace after the kernel threw.
  void (*abandon)(autograd::Node* node);
  void (*free_meta)(AutogradMeta* meta) noexcept;
  void (*release_view)(ViewLink* view) noexcept;
  // Whether a view's base has come to require grad.
  bool (*view_requires_grad)(const TensorImpl& impl);
};
extern const AutogradHooks autograd_hooks;

// What core asks of the compile room while mode.capture is set. compile/hooks.cpp defines the table.
struct CaptureHooks {
  // Takes the call if it is the next one of a known trace: `out` gets tensors whose values come later.
  // Otherwise the caller checks the call and passes it to record().
  bool (*follow)(Capture& capture, const Args& a, Tensor* out);
  // `specs`: of the outputs.
  void (*record)(Capture& capture, const Args& a, const Spec* specs, Tensor* out);
  // Whether follow() would take the call.
  bool (*knows)(Capture& capture, const Args& a);
  // The host wants to read or write this memory: runs what has been captured if that concerns it.
  // A graph break; `why` is told to the user.
  void (*need)(Capture& capture, const StorageImpl& storage, const char* why);
  // Runs what has been captured: a graph break, too.
  void (*barrier)(Capture& capture, const char* why);
};
extern const CaptureHooks capture_hooks;

// Whether an op on this tensor has to be recorded when grad mode is on.
inline bool needs_history(const Tensor& t) {
  const TensorImpl* p = t.impl().get();
  if (!p) return false;
  return p->has(kRequiresGrad) || (p->view && autograd_hooks.view_requires_grad(*p));
}

}  // namespace tarn::inline v1::detail
