#include <tarn/core/dlpack.h>

#include <memory>

namespace tarn::inline v1 {

namespace {

enum Code : uint8_t { kSigned = 0, kUnsigned = 1, kFloating = 2, kBrain = 4, kTruth = 6 };

struct Known {
  ScalarType dtype;
  uint8_t code, bits;
};
constexpr Known kKnown[] = {{kFloat, kFloating, 32}, {kDouble, kFloating, 64}, {kHalf, kFloating, 16},
                            {kBFloat16, kBrain, 16}, {kLong, kSigned, 64},     {kInt, kSigned, 32},
                            {kShort, kSigned, 16},   {kChar, kSigned, 8},      {kByte, kUnsigned, 8},
                            {kBool, kTruth, 8}};

dlpack::DataType type_of(ScalarType dtype) {
  for (const Known& k : kKnown)
    if (k.dtype == dtype) return {k.code, k.bits, 1};
  fail("toDLPack: DLPack has no dtype for ", dtype);
}

ScalarType dtype_of_type(const dlpack::DataType& type) {
  for (const Known& k : kKnown)
    if (k.code == type.code && k.bits == type.bits && type.lanes == 1) return k.dtype;
  fail("fromDLPack: there is no dtype for code ", int(type.code), " with ", int(type.bits), " bits and ",
       int(type.lanes), " lanes");
}

Device device_of(const dlpack::Device& device) {
  check(device.type >= 1 && device.type <= 3, "fromDLPack: devices of type ", device.type,
        " are not supported; use CPU (1), CUDA (2) or pinned memory (3)");
  return device.type == 2 ? Device(kCUDA, DeviceIndex(device.id)) : Device(kCPU);
}

// What an exported tensor keeps alive.
struct Exported {
  Tensor tensor;
  Dims sizes, strides;
  dlpack::ManagedTensor managed;
};

}  // namespace

dlpack::ManagedTensor* toDLPack(const Tensor& x) {
  check(!x.requires_grad(), "toDLPack: a tensor that requires grad cannot be exported; call detach() first");
  auto own = std::make_unique<Exported>();
  own->tensor = x;
  own->sizes = x.sizes();
  own->strides = x.strides();
  dlpack::Tensor& t = own->managed.dl_tensor;
  t.data = x.data_ptr();
  t.device =
      x.is_cuda() ? dlpack::Device{2, int32_t(x.get_device())} : dlpack::Device{x.is_pinned() ? 3 : 1, 0};
  t.ndim = int32_t(x.dim());
  t.dtype = type_of(x.dtype());
  t.shape = own->sizes.data();
  t.strides = own->strides.data();
  t.byte_offset = 0;
  own->managed.manager_ctx = own.get();
  own->managed.deleter = [](dlpack::ManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &own.release()->managed;
}

Tensor detail::from_dlpack(dlpack::ManagedTensor* managed) {
  check(managed != nullptr, "fromDLPack: the pointer is null");
  const dlpack::Tensor& t = managed->dl_tensor;
  check(t.ndim >= 0 && t.ndim <= kMaxRank, "fromDLPack: rank ", t.ndim, " is above the limit of ", kMaxRank);
  IntArrayRef sizes(t.shape, size_t(t.ndim)), strides;
  if (t.strides) strides = IntArrayRef(t.strides, size_t(t.ndim));
  int64_t elements = numel_of(sizes, "fromDLPack");
  for (int64_t stride : strides) check(stride >= 0, "fromDLPack: strides must be 0 or more, got ", strides);
  check(t.data != nullptr || elements == 0, "fromDLPack: the data is null, but sizes ", sizes,
        " have elements");
  ScalarType dtype = dtype_of_type(t.dtype);
  Device device = device_of(t.device);
  void* data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  auto release = [](void*, size_t, void* context) {
    auto* own = static_cast<dlpack::ManagedTensor*>(context);
    if (own->deleter) own->deleter(own);
  };
  return make_foreign(data, sizes, strides, dtype, device, release, managed);
}

}  // namespace tarn::inline v1
