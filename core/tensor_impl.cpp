#include <tarn/core/tensor_impl.h>

#include <new>

#include <tarn/core/allocator.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/cuda/memory.h>
#include <tarn/core/hooks.h>
#include <tarn/core/pool.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// One block for a tensor and the storage it was born with; freed when both have died.
struct Block : TensorImpl {
  StorageImpl own;
  std::atomic<int> alive{2};
};

void leave(Block* block) noexcept {
  if (block->alive.load(std::memory_order_acquire) == 1 ||
      block->alive.fetch_sub(1, std::memory_order_acq_rel) == 1)
    pool_deallocate(block, sizeof(Block));
}

void free_cpu_memory(void* data, size_t bytes, void*) { deallocate(data, bytes); }

// The context is the device's index.
void free_cuda_memory(void* data, size_t, void* context) {
  deallocate_cuda(data, DeviceIndex(reinterpret_cast<intptr_t>(context)));
}

TensorImpl* new_block(ScalarType dtype, Device device) {
  Block* block = new (pool_allocate(sizeof(Block))) Block;
  block->flags = kEmbeddedStorage;
  block->dtype = dtype;
  block->own.block = block;
  block->own.device = device;
  block->storage = &block->own;
  return block;
}

bool is_dense(IntArrayRef sizes, IntArrayRef strides, std::initializer_list<int> order) {
  int64_t step = 1;
  for (int d : order) {
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

bool is_row_major(IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  for (int d = int(sizes.size()) - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

void free_impl(TensorImpl* impl) noexcept {
  if (!impl->has(kEmbeddedStorage)) {
    impl->~TensorImpl();
    pool_deallocate(impl, sizeof(TensorImpl));
    return;
  }
  Block* block = static_cast<Block*>(impl);
  block->sizes = Dims();
  block->strides = Dims();
  leave(block);
}

constexpr uint16_t kGeometryFlags = kContiguousFlag | kChannelsLastFlag;

void copy_geometry(TensorImpl& to, const TensorImpl& from) {
  to.numel = from.numel;
  to.sizes = from.sizes;
  to.strides = from.strides;
  to.flags = uint16_t(to.flags | (from.flags & kGeometryFlags) | kTraced);
}

}  // namespace

void destroy(TensorImpl* impl) noexcept {
  if (impl->autograd) autograd_hooks.free_meta(std::exchange(impl->autograd, nullptr));
  if (impl->view) autograd_hooks.release_view(std::exchange(impl->view, nullptr));
  StorageImpl* storage = std::exchange(impl->storage, nullptr);
  if (impl->has(kTraced))
    impl->refs.store(0, std::memory_order_relaxed);
  else
    free_impl(impl);
  if (storage) release(storage);
}

void destroy(StorageImpl* storage) noexcept {
  if (storage->state == StorageState::Pending) return storage->refs.store(0, std::memory_order_relaxed);
  if (storage->deleter) storage->deleter(storage->data, storage->bytes, storage->context);
  if (storage->block)
    leave(static_cast<Block*>(storage->block));
  else
    delete storage;
}

TensorImpl* new_impl(StorageImpl* storage, ScalarType dtype) {
  TensorImpl* impl = new (pool_allocate(sizeof(TensorImpl))) TensorImpl;
  impl->dtype = dtype;
  impl->storage = storage;
  retain(storage);
  return impl;
}

void set_geometry(TensorImpl& impl, IntArrayRef sizes, IntArrayRef strides) {
  impl.sizes = Dims(sizes);
  impl.strides = Dims(strides);
  impl.numel = 1;
  for (int64_t s : sizes) impl.numel *= s;
  bool empty = impl.numel == 0;
  impl.set(kContiguousFlag, empty || is_row_major(sizes, strides));
  impl.set(kChannelsLastFlag, sizes.size() == 4 && !empty && is_dense(sizes, strides, {1, 3, 2, 0}));
}

void allocate_memory(StorageImpl& storage, size_t bytes) {
  storage.bytes = bytes;
  if (storage.device.is_cpu()) {
    storage.data = allocate(bytes);
    storage.deleter = free_cpu_memory;
  } else {
    storage.data = allocate_cuda(bytes, storage.device.index());
    storage.deleter = free_cuda_memory;
    storage.context = reinterpret_cast<void*>(intptr_t(storage.device.index()));
  }
}

TensorImpl* new_pending(const TensorImpl& like, size_t bytes, Device device, int32_t trace_class) {
  TensorImpl* impl = new_block(like.dtype, device);
  copy_geometry(*impl, like);
  StorageImpl& storage = *impl->storage;
  storage.bytes = bytes;
  storage.state = StorageState::Pending;
  storage.trace_class = trace_class;
  return impl;
}

TensorImpl* new_traced_alias(const TensorImpl& like, StorageImpl* storage, int64_t offset) {
  TensorImpl* impl = new_impl(storage, like.dtype);
  copy_geometry(*impl, like);
  impl->offset = offset;
  return impl;
}

void settle(TensorImpl* impl) noexcept {
  if (impl->refs.load(std::memory_order_acquire) == 0)
    free_impl(impl);
  else
    impl->set(kTraced, false);
}

void settle(StorageImpl* storage, StorageState state) noexcept {
  if (state == StorageState::Lost && storage->deleter) {
    storage->deleter(storage->data, storage->bytes, storage->context);
    storage->data = nullptr;
    storage->deleter = nullptr;
  }
  storage->trace_class = -1;
  storage->state = state;
  if (storage->refs.load(std::memory_order_acquire) == 0) destroy(storage);
}

Tensor make_tensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  if (!device.is_cpu()) {
    check(device.is_cuda(), "empty: device ", device, " holds no tensors; use cpu or cuda");
    device = resolve_device("empty", device);
  }
  int64_t bytes = 0;
  bool overflow = __builtin_mul_overflow(numel_of(sizes, "empty"), int64_t(element_size(dtype)), &bytes);
  check(!overflow, "empty: a tensor of sizes ", sizes, " and ", dtype, " does not fit in memory");
  TensorImpl* impl = new_block(dtype, device);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  set_geometry(*impl, sizes, strides.empty() ? IntArrayRef(contiguous_strides(sizes)) : strides);
  if (bytes > 0) allocate_memory(*impl->storage, size_t(bytes));
  impl->set(kInferenceTensor, mode.inference);
  return out;
}

Tensor make_alias(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const TensorImpl& from = base.get();
  TensorImpl* impl = new_impl(from.storage, from.dtype);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  impl->offset = offset;
  impl->flags = from.flags & (kInferenceTensor | kIgnoreVersion);
  set_geometry(*impl, sizes, strides);  // an Error above rank 16
  return out;
}

Tensor make_foreign(void* data, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device,
                    StorageDeleter deleter, void* context) {
  TensorImpl* impl = new_block(dtype, device);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  set_geometry(*impl, sizes, strides.empty() ? IntArrayRef(contiguous_strides(sizes)) : strides);
  impl->storage->data = data;
  impl->storage->bytes = size_t(numel_of(sizes, "from_blob")) * element_size(dtype);
  impl->storage->deleter = deleter;
  impl->storage->context = context;
  return out;
}

Tensor wrapped_scalar(const Scalar& value) {
  ScalarType dtype = value.type();
  Tensor out = make_tensor({}, dtype, Device());
  visit(dtype, "scalar", [&]<class T>(Type<T>) { *static_cast<T*>(out.data_ptr()) = value.to<T>(); });
  out.get().set(kWrappedNumber, true);
  return out;
}

}  // namespace detail

}  // namespace tarn::inline v1
