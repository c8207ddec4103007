// What a Tensor is, and the methods that are views. Other methods stand beside their op.
#include <tarn/core/tensor.h>

#include <tarn/core/hooks.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

void Tensor::undefined() { fail("tensor: this tensor is undefined; give it a value first"); }

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::ChannelsLast) return get().has(detail::kChannelsLastFlag);
  return get().has(detail::kContiguousFlag);
}

MemoryFormat Tensor::suggest_memory_format() const {
  bool channels_last = get().has(detail::kChannelsLastFlag) && !get().has(detail::kContiguousFlag);
  return channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  return str(is_cuda() ? "CUDA" : "CPU", dtype(), "Type");
}

void* Tensor::data_ptr() const {
  const detail::TensorImpl& impl = get();
  if (detail::mode.capture) [[unlikely]]
    detail::capture_hooks.need(*detail::mode.capture, *impl.storage, "data_ptr()");
  char* start = static_cast<char*>(impl.storage->data);
  if (!start) [[unlikely]] {
    check_has_data();
    return nullptr;
  }
  return start + impl.offset * int64_t(element_size());
}

void Tensor::check_has_data() const {
  using detail::StorageState;
  check(get().storage->state != StorageState::Pending, "tensor: this tensor of sizes ", sizes(),
        " is made by a compiled function that runs on another thread; ",
        "wait until the function has returned");
  check(get().storage->state != StorageState::Lost, "tensor: this tensor of sizes ", sizes(),
        " has no values, because an op of the compiled function that makes it failed");
}

Scalar Tensor::item() const {
  check(numel() == 1, "item: a tensor of one element is needed, got sizes ", sizes());
  if (detail::mode.capture) detail::capture_hooks.need(*detail::mode.capture, *get().storage, "item()");
  if (!is_cpu()) return data().cpu().item();
  return detail::visit(dtype(), "item",
                       [&]<class T>(detail::Type<T>) { return Scalar(*static_cast<T*>(data_ptr())); });
}

Tensor Tensor::data() const {
  Tensor out = tarn::detach(*this);
  out.get().set(detail::kIgnoreVersion, true);
  return out;
}

void Tensor::set_data(const Tensor& other) const {
  detail::TensorImpl &to = get(), &from = other.get();
  check(to.view == nullptr, "set_data: this tensor is a view of another; it cannot take other memory");
  if (detail::mode.capture) detail::capture_hooks.barrier(*detail::mode.capture, "set_data()");
  detail::retain(from.storage);
  detail::StorageImpl* old = std::exchange(to.storage, from.storage);
  to.dtype = from.dtype;
  to.offset = from.offset;
  detail::set_geometry(to, from.sizes, from.strides);
  if (old) detail::release(old);
}

Tensor Tensor::view(IntArrayRef sizes) const { return tarn::view(*this, sizes); }
Tensor Tensor::reshape(IntArrayRef sizes) const { return tarn::reshape(*this, sizes); }
Tensor Tensor::permute(IntArrayRef dims) const { return tarn::permute(*this, dims); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return tarn::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const { return tarn::t(*this); }
Tensor Tensor::movedim(int64_t from, int64_t to) const { return tarn::movedim(*this, from, to); }
Tensor Tensor::squeeze() const { return tarn::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tarn::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tarn::unsqueeze(*this, dim); }
Tensor Tensor::flatten(int64_t start, int64_t end) const { return tarn::flatten(*this, start, end); }
Tensor Tensor::unflatten(int64_t dim, IntArrayRef sizes) const { return tarn::unflatten(*this, dim, sizes); }
Tensor Tensor::expand(IntArrayRef sizes) const { return tarn::expand(*this, sizes); }
Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset) const {
  return tarn::as_strided(*this, sizes, strides, offset);
}
Tensor Tensor::select(int64_t dim, int64_t index) const { return tarn::select(*this, dim, index); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return tarn::narrow(*this, dim, start, length);
}
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  return tarn::slice(*this, dim, start, end, step);
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tarn::diagonal(*this, offset, dim1, dim2);
}
Tensor Tensor::unfold(int64_t dim, int64_t size, int64_t step) const {
  return tarn::unfold(*this, dim, size, step);
}
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const { return tarn::split(*this, size, dim); }
std::vector<Tensor> Tensor::split(IntArrayRef sizes, int64_t dim) const {
  return tarn::split(*this, sizes, dim);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  return tarn::chunk(*this, chunks, dim);
}
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return tarn::unbind(*this, dim); }
Tensor Tensor::detach() const { return tarn::detach(*this); }
Tensor Tensor::alias() const { return tarn::alias(*this); }

}  // namespace tarn::inline v1
