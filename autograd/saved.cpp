#include <tarn/autograd/saved.h>

#include <tarn/autograd/accumulate.h>
#include <tarn/core/fault.h>

namespace tarn::inline v1::detail {

SavedTensor::SavedTensor(const Tensor& t, Edge edge, const char* op) : edge_(std::move(edge)) {
  const TensorImpl& impl = t.get();
  check(!impl.has(kInferenceTensor), op, ": a tensor made in InferenceMode cannot be saved for backward; ",
        "call clone() on it outside of InferenceMode");
  sizes_ = impl.sizes;
  strides_ = impl.strides;
  offset_ = impl.offset;
  version_ = impl.storage->version.load(std::memory_order_relaxed);
  flags_ = impl.flags & (kWrappedNumber | kIgnoreVersion);
  dtype_ = impl.dtype;
  if (const SavedTensorsHooks* hooks = saved_tensors_hooks()) [[unlikely]]
    pack(t, *hooks, op);
  else
    storage_ = Ref<StorageImpl>::share(impl.storage);
}

void SavedTensor::pack(const Tensor& t, const SavedTensorsHooks& hooks, const char* op) {
  NoGradGuard no_grad;
  SavedTensorsScope none(nullptr);
  auto packed = std::make_shared<Packed>();
  packed->object = hooks.pack(make_alias(t, sizes_, strides_, offset_));
  packed->unpack = hooks.unpack;
  packed->device = t.device();
  check(t._version() == version_, op, ": a pack hook changed a saved tensor of sizes ", sizes_,
        " in place; call clone() first");
  if (hooks.alias) {
    Tensor same = hooks.alias(packed->object);
    if (same.defined() && same.is_alias_of(t)) storage_ = Ref<StorageImpl>::share(t.get().storage);
  }
  packed_ = std::move(packed);
}

void SavedTensor::reset() {
  storage_.reset();
  packed_.reset();
  edge_ = Edge();
}

void SavedTensor::check_version(const StorageImpl& storage, const char* op, const char* what,
                                int index) const {
  uint32_t version = storage.version.load(std::memory_order_relaxed);
  check(version == version_ || fault(11), op, ": ", what, " ", index, " of sizes ", sizes_,
        ", which its gradient needs, was changed in ", "place: it was saved at version ", version_,
        " and is now at version ", version, "; call clone() before the in-place op");
}

Tensor SavedTensor::call_unpack(const char* op, const char* what, int index) const {
  NoGradGuard no_grad;
  SavedTensorsScope none(nullptr);
  Tensor t = packed_->unpack(packed_->object);
  check(t.defined(), op, ": the unpack hook for ", what, " ", index, " returned an undefined tensor");
  check(t.sizes() == IntArrayRef(sizes_) && t.dtype() == dtype_, op, ": the unpack hook for ", what, " ",
        index, " returned ", t.dtype(), " of sizes ", t.sizes(), ", saved was ", dtype_, " of sizes ",
        sizes_);
  return t.device() == packed_->device ? t : t.to(packed_->device);
}

Tensor SavedTensor::make(StorageImpl* storage, IntArrayRef strides, int64_t offset, const Edge& edge) const {
  TensorImpl* impl = new_impl(storage, dtype_);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  impl->offset = offset;
  impl->flags = flags_;
  set_geometry(*impl, sizes_, strides);
  if (mode.grad && edge.is_valid()) set_history(*impl, edge.function, edge.input_nr);
  return out;
}

Tensor SavedTensor::unpack(const char* op, const char* what, int index, const Edge* own) const {
  if (!defined()) return Tensor();
  const Edge& edge = own ? *own : edge_;
  if (storage_) check_version(*storage_, op, what, index);
  if (packed_) {
    Tensor t = call_unpack(op, what, index);
    return make(t.get().storage, t.strides(), t.storage_offset(), edge);
  }
  if (edge.is_valid() && edge.function->is_accumulate) {
    const Tensor& leaf = static_cast<AccumulateGrad&>(*edge.function).variable;
    if (leaf.defined() && leaf.get().storage == storage_.get() && leaf.sizes() == IntArrayRef(sizes_))
      return leaf;
  }
  return make(storage_.get(), strides_, offset_, edge);
}

}  // namespace tarn::inline v1::detail
