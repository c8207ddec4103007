// What a Tensor handle points to: geometry, a storage, and what autograd hangs on to it.
// A tensor that owns fresh memory is one block: TensorImpl and StorageImpl together. Views have an impl of
// their own and share the storage. Both count their references atomically; the rest is plain data, written
// before it is shared.
#pragma once

#include <atomic>

#include <tarn/core/device.h>
#include <tarn/core/dims.h>
#include <tarn/core/dtype.h>
#include <tarn/core/ref.h>

namespace tarn::inline v1::detail {

struct AutogradMeta;  // autograd/meta.h
struct ViewLink;      // autograd/view.h

using StorageDeleter = void (*)(void* data, size_t bytes, void* context);

enum class StorageState : uint8_t {
  Ready,
  Pending,  // made in a compiled function and not computed yet: no data, owned by its Capture
  Lost,     // was pending when the op that computes it failed
};

struct StorageImpl {
  std::atomic<int32_t> refs{1};  // of a pending storage: without its Capture's
  // Counts writes to this memory; all views share it. Saved tensors compare it.
  std::atomic<uint32_t> version{0};
  void* data = nullptr;
  size_t bytes = 0;
  Device device;
  StorageState state = StorageState::Ready;
  int32_t trace_class = -1;  // of a pending storage: its number in the Capture
  void* block = nullptr;     // the block of a TensorImpl that this lives in, if it does
  StorageDeleter deleter = nullptr;
  void* context = nullptr;
};

enum TensorFlag : uint16_t {
  kRequiresGrad = 1,       // a leaf that wants a gradient, or a result that has a grad_fn
  kWrappedNumber = 2,      // a 0-dim tensor made from a C++ number: yields in type promotion
  kInferenceTensor = 4,    // made under InferenceMode
  kIgnoreVersion = 8,      // x.data(): writes do not count
  kContiguousFlag = 16,    // row-major dense
  kChannelsLastFlag = 32,  // 4-d, dense, C innermost
  kEmbeddedStorage = 64,   // block holds a StorageImpl too
  kMultiOutputView = 128,  // a view made by split, chunk, unbind: in-place writes under grad are refused
  kNoGradView = 256,       // a view made under NoGradGuard: in-place writes under grad are refused
  kParameter = 512,
  kTraced = 1024,  // made in a compiled function and owned by its Capture: `refs` counts handles only
};

struct TensorImpl {
  mutable std::atomic<int32_t> refs{1};
  uint16_t flags = 0;
  ScalarType dtype = kFloat;
  StorageImpl* storage = nullptr;  // owned reference
  int64_t offset = 0;              // in elements
  int64_t numel = 0;
  Dims sizes;
  Dims strides;
  AutogradMeta* autograd = nullptr;  // owned; freed by autograd_hooks
  ViewLink* view = nullptr;          // owned reference; how this view was made from its base

  bool has(TensorFlag f) const { return flags & f; }
  void set(TensorFlag f, bool on) { flags = uint16_t(on ? flags | f : flags & ~f); }
};

TARN_API void destroy(TensorImpl* impl) noexcept;
TARN_API void destroy(StorageImpl* storage) noexcept;

template <class T>
inline void release_counted(T* p) noexcept {
  // The sole owner needs no atomic write: nobody else can be counting.
  if (p->refs.load(std::memory_order_acquire) == 1 || p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(p);
}
inline void retain(const TensorImpl* p) noexcept { p->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(TensorImpl* p) noexcept { release_counted(p); }
inline void retain(StorageImpl* p) noexcept { p->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(StorageImpl* p) noexcept { release_counted(p); }

// Gives a storage without memory `bytes` of it.
TARN_API void allocate_memory(StorageImpl& storage, size_t bytes);

// An impl that shares `storage` and has no geometry yet.
TARN_API TensorImpl* new_impl(StorageImpl* storage, ScalarType dtype);

// For a Capture: a traced impl with the geometry of `like`, on a pending storage of its own, or on `storage`.
TARN_API TensorImpl* new_pending(const TensorImpl& like, size_t bytes, Device device, int32_t trace_class);
TARN_API TensorImpl* new_traced_alias(const TensorImpl& like, StorageImpl* storage, int64_t offset);
// The Capture lets go: what has no handles dies, the rest becomes ordinary.
TARN_API void settle(TensorImpl* impl) noexcept;
TARN_API void settle(StorageImpl* storage, StorageState state) noexcept;

// Sets sizes and strides, and what follows from them: numel and the layout flags.
TARN_API void set_geometry(TensorImpl& impl, IntArrayRef sizes, IntArrayRef strides);

}  // namespace tarn::inline v1::detail
