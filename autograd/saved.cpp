#include <tarn/autograd/saved.h>

#include <tarn/autograd/accumulate.h>
#include <tarn/core/fault.h>

namespace tarn::inline v1::detail {

SavedTensor::SavedTensor(const Tensor& t, Edge edge, const char* op) : edge_(std::move(edge)) {
  const TensorImpl& impl = t.get();
  check(!impl.has(kInferenceTensor), op, ": a tensor made in InferenceMode cannot be saved for backward; ",
        "call clone() on it outside of InferenceMode");
  storage_ = Ref<StorageImpl>::share(impl.storage);
  sizes_ = impl.sizes;
  strides_ = impl.strides;
  offset_ = impl.offset;
  version_ = impl.storage->version.load(std::memory_order_relaxed);
  flags_ = impl.flags & (kWrappedNumber | kIgnoreVersion);
  dtype_ = impl.dtype;
}

void SavedTensor::reset() {
  storage_.reset();
  edge_ = Edge();
}

Tensor SavedTensor::unpack(const char* op, const char* what, int index, const Edge* own) const {
  if (!storage_) return Tensor();
  uint32_t version = storage_->version.load(std::memory_order_relaxed);
  check(version == version_ || fault(11), op, ": ", what, " ", index, " of sizes ", sizes_,
        ", which its gradient needs, was changed in ", "place: it was saved at version ", version_,
        " and is now at version ", version, "; call clone() before the in-place op");
  const Edge& edge = own ? *own : edge_;
  if (edge.is_valid() && edge.function->is_accumulate) {
    const Tensor& leaf = static_cast<AccumulateGrad&>(*edge.function).variable;
    if (leaf.defined() && leaf.get().storage == storage_.get() && leaf.sizes() == IntArrayRef(sizes_))
      return leaf;
  }
  TensorImpl* impl = new_impl(storage_.get(), dtype_);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  impl->offset = offset_;
  impl->flags = flags_;
  set_geometry(*impl, sizes_, strides_);
  if (mode.grad && edge.is_valid()) set_history(*impl, edge.function, edge.input_nr);
  return out;
}

}  // namespace tarn::inline v1::detail
