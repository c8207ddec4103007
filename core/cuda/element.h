// For kernels: elements whose dtype is known when the kernel runs, alike for all threads.
#pragma once

#include <tarn/core/cuda/calls.h>
#include <tarn/core/cuda/dev.h>

namespace tarn::inline v1::gpu {

using namespace detail;

// One element of any dtype: a double where it is floating, else an integer.
struct Value {
  bool floating;
  double real;
  int64_t integer;
};

__device__ inline Value load(const void* p, Elem type, int64_t i) {
  switch (type) {
    case Elem::U8:
      return {false, 0, static_cast<const uint8_t*>(p)[i]};
    case Elem::I8:
      return {false, 0, static_cast<const int8_t*>(p)[i]};
    case Elem::I16:
      return {false, 0, static_cast<const int16_t*>(p)[i]};
    case Elem::I32:
      return {false, 0, static_cast<const int32_t*>(p)[i]};
    case Elem::I64:
      return {false, 0, static_cast<const int64_t*>(p)[i]};
    case Elem::Bool:
      return {false, 0, static_cast<const uint8_t*>(p)[i] != 0};
    case Elem::F16:
      return {true, __half2float(static_cast<const __half*>(p)[i]), 0};
    case Elem::BF16:
      return {true, __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]), 0};
    case Elem::F32:
      return {true, static_cast<const float*>(p)[i], 0};
    default:
      return {true, static_cast<const double*>(p)[i], 0};
  }
}

// Floating numbers become narrow integers by way of int64, 16-bit floats by way of float, as on the CPU.
__device__ inline void store(void* p, Elem type, int64_t i, Value v) {
  double real = v.floating ? v.real : double(v.integer);
  float single = v.floating ? float(v.real) : float(v.integer);
  int64_t integer = v.floating && type != Elem::Bool ? int64_t(v.real) : v.integer;
  switch (type) {
    case Elem::U8:
      static_cast<uint8_t*>(p)[i] = uint8_t(integer);
      break;
    case Elem::I8:
      static_cast<int8_t*>(p)[i] = int8_t(integer);
      break;
    case Elem::I16:
      static_cast<int16_t*>(p)[i] = int16_t(integer);
      break;
    case Elem::I32:
      static_cast<int32_t*>(p)[i] = int32_t(integer);
      break;
    case Elem::I64:
      static_cast<int64_t*>(p)[i] = integer;
      break;
    case Elem::Bool:
      static_cast<uint8_t*>(p)[i] = v.floating ? v.real != 0 : v.integer != 0;
      break;
    case Elem::F16:
      static_cast<__half*>(p)[i] = __float2half(single);
      break;
    case Elem::BF16:
      static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16(single);
      break;
    case Elem::F32:
      static_cast<float*>(p)[i] = single;
      break;
    default:
      static_cast<double*>(p)[i] = real;
      break;
  }
}

}  // namespace tarn::inline v1::gpu
