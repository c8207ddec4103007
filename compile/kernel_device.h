// What generated device kernels say beside the texts of pointwise.def: how elements get in and out of memory
// of any dtype. Embedded as text after core/cuda/value.h; no file of the library includes it.
#pragma once
#include <tarn/core/cuda/value.h>

namespace tarn::inline v1::gpu {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
using F32 = D<float>;
using F64 = D<double>;
using I64 = D<int64_t>;
using Flags = M;

__device__ inline float to_float(bf16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }
__device__ inline float to_float(f16 x) {
  uint32_t sign = uint32_t(x.bits & 0x8000) << 16, exponent = (x.bits >> 10) & 31, fraction = x.bits & 0x3ff;
  if (exponent == 31)
    return __uint_as_float(sign | 0x7f800000 | (fraction << 13) | (fraction ? 0x400000 : 0));
  if (exponent == 0) return __uint_as_float(sign | __float_as_uint(float(fraction) * 5.9604644775390625e-8f));
  return __uint_as_float(sign | ((exponent + 112) << 23) | (fraction << 13));
}
__device__ inline bf16 to_bf16(float x) {
  uint32_t u = __float_as_uint(x);
  if (x != x) return {uint16_t((u >> 16) | 0x40)};
  return {uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}
__device__ inline f16 to_f16(float x) {
  uint32_t u = __float_as_uint(x), sign = (u >> 16) & 0x8000;
  u &= 0x7fffffff;
  if (u > 0x7f800000) return {uint16_t(sign | 0x7e00 | ((u >> 13) & 0x3ff))};
  if (u >= 0x477ff000) return {uint16_t(sign | 0x7c00)};
  if (u < 0x38800000) return {uint16_t(sign | (__float_as_uint(__uint_as_float(u) + 0.5f) - 0x3f000000))};
  return {uint16_t(sign | ((u - 0x38000000 + 0xfff + ((u >> 13) & 1)) >> 13))};
}

template <class T, class S>
struct Memory {
  static __device__ D<T> get(S s) { return D<T>(T(s)); }
  static __device__ S put(D<T> x) {
    if constexpr (is_float<T> && !is_float<S>) {
      bool in_range = x.v >= T(-9223372036854775808.0) && x.v < T(9223372036854775808.0);
      return S(in_range ? int64_t(x.v) : int64_t(0x8000000000000000));
    } else {
      return S(x.v);
    }
  }
};
template <class T>
struct Memory<T, bool> {
  static __device__ D<T> get(bool s) { return D<T>(T(s)); }
  static __device__ bool put(D<T> x) { return x.v != T(0); }
};
template <class T>
struct Memory<T, f16> {
  static __device__ D<T> get(f16 s) { return D<T>(T(to_float(s))); }
  static __device__ f16 put(D<T> x) { return to_f16(float(x.v)); }
};
template <class T>
struct Memory<T, bf16> {
  static __device__ D<T> get(bf16 s) { return D<T>(T(to_float(s))); }
  static __device__ bf16 put(D<T> x) { return to_bf16(float(x.v)); }
};

template <class T, class S>
__device__ inline D<T> load_as(const char* from) {
  return Memory<T, S>::get(*(const S*)from);
}
template <class S, class T>
__device__ inline void store_as(char* to, D<T> x) {
  *(S*)to = Memory<T, S>::put(x);
}
__device__ inline M load_flag(const char* from) { return {*from != 0}; }
__device__ inline void store_flag(char* to, M m) { *to = m.m; }
// What memory of S would keep of x, held as T again.
template <class T, class S, class X>
__device__ inline D<T> round_as(D<X> x) {
  return Memory<T, S>::get(Memory<X, S>::put(x));
}
template <class T, class X>
__device__ inline D<T> convert_as(D<X> x) {
  return D<T>(T(x.v));
}
template <class T>
__device__ inline D<T> from_flag(M m) {
  return D<T>(T(m.m));
}
template <class T>
__device__ inline D<T> number_as(int64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return D<T>(value);
}

}  // namespace tarn::inline v1::gpu
