// Tensors from and to other libraries without a copy, by DLPack 0.8 (https://dmlc.github.io/dlpack). The
// structs below have the memory layout of the C structs of that specification, so a pointer to those can be
// given and taken: fromDLPack() accepts a pointer to any of them, toDLPack()'s result is reinterpret_cast.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

namespace dlpack {

struct Device {
  int32_t type;  // 1 CPU, 2 CUDA, 3 pinned memory
  int32_t id;
};

struct DataType {
  uint8_t code;  // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

// Whoever holds it calls deleter(itself) once, if there is one.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

}  // namespace dlpack

namespace detail {
TARN_API Tensor from_dlpack(dlpack::ManagedTensor* managed);
}

// The tensor's memory for another library; it lives until the result's deleter is called. A tensor that
// requires grad is an Error: writes would not be seen.
TARN_API dlpack::ManagedTensor* toDLPack(const Tensor& x);

// A tensor over memory of another library, whose deleter is called when the last alias dies. After an Error
// the caller still owns it.
template <class Managed>
Tensor fromDLPack(Managed* managed) {
  static_assert(sizeof(Managed) == sizeof(dlpack::ManagedTensor) && std::is_standard_layout_v<Managed>,
                "fromDLPack: needs a DLManagedTensor");
  return detail::from_dlpack(reinterpret_cast<dlpack::ManagedTensor*>(managed));
}

}  // namespace tarn::inline v1
