#include <tarn/core/ops/make.h>

#include <algorithm>

#include <tarn/core/ops/copy.h>

namespace tarn::inline v1::detail {

MakeAttrs::MakeAttrs(const char* op, IntArrayRef size_list, ScalarType type, Device device,
                     IntArrayRef stride_list)
    : rank(int64_t(size_list.size())),
      dtype(int64_t(type)),
      device_type(int64_t(device.type())),
      device_index(device.index()),
      strided(!stride_list.empty()) {
  check(rank <= kMaxRank, op, ": at most ", kMaxRank, " dims are supported, got sizes ", size_list);
  numel_of(size_list, op);
  std::copy(size_list.begin(), size_list.end(), sizes);
  std::copy(stride_list.begin(), stride_list.end(), strides);
}

void make_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<MakeAttrs>();
  out->sizes = Dims(IntArrayRef(attrs.sizes, size_t(attrs.rank)));
  if (attrs.strided) out->strides = Dims(IntArrayRef(attrs.strides, size_t(attrs.rank)));
  out->dtype = ScalarType(attrs.dtype);
  out->device = Device(DeviceType(attrs.device_type), DeviceIndex(attrs.device_index));
}

namespace {

Dims strides_for(const char* op, IntArrayRef sizes, MemoryFormat format) {
  check(format != MemoryFormat::ChannelsLast3d, op, ": channels_last_3d is not supported; use contiguous");
  if (format != MemoryFormat::ChannelsLast) return {};
  check(sizes.size() == 4, op, ": channels_last needs 4 dims, got sizes ", sizes);
  int64_t c = std::max<int64_t>(sizes[1], 1), h = std::max<int64_t>(sizes[2], 1),
          w = std::max<int64_t>(sizes[3], 1);
  return {h * w * c, 1, w * c, c};
}

}  // namespace

MakeAttrs attrs_of(const char* op, IntArrayRef sizes, ScalarType dtype, const TensorOptions& options) {
  return {op, sizes, dtype, options.device(), strides_for(op, sizes, options.memory_format())};
}

MakeAttrs attrs_of(const char* op, IntArrayRef sizes, const TensorOptions& options) {
  return attrs_of(op, sizes, options.dtype(), options);
}

MakeAttrs attrs_like(const char* op, const Tensor& x, const TensorOptions& options,
                     std::optional<MemoryFormat> format) {
  if (!format && options.memory_format() != MemoryFormat::Contiguous) format = options.memory_format();
  bool preserve = !format || *format == MemoryFormat::Preserve;
  Dims strides = preserve ? strides_like(x) : strides_for(op, x.sizes(), *format);
  return {op, x.sizes(), options.dtype_opt().value_or(x.dtype()), options.device_opt().value_or(x.device()),
          strides};
}

Tensor with_grad_option(Tensor x, const TensorOptions& options) {
  if (options.requires_grad()) x.requires_grad_();
  return x;
}

}  // namespace tarn::inline v1::detail
