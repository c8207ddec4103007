// What generated kernels say beside the texts of pointwise.def: how lanes get in and out of memory of any
// dtype. Embedded as text after core/cpu/math.h; no file of the library includes it. A flag is a Mask of the
// kernel's widest compute type.
#pragma once
#include <tarn/core/cpu/math.h>

namespace tarn::inline v1::TARN_ISA {

// kPart: only the first `count` lanes exist.
template <class S, int N>
TARN_INLINE V<float, N> widen_bf16(const S* p) {
  Native<uint16_t, N> bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return bit_cast<float>(
      V<int32_t, N>::raw((Native<int32_t, N>)(__builtin_convertvector(bits, Native<uint32_t, N>) << 16)));
}

// Lanes of T from memory of S; `step` counts bytes.
template <class T, class S, int N, bool kPart>
TARN_INLINE V<T, N> load_near(const char* from, int count) {
  const S* p = (const S*)from;
  if constexpr (same<T, S>) {
    if constexpr (kPart) return load_part<T, N>(p, count);
    return load<T, N>(p);
  } else if constexpr (same<S, bf16> && same<T, float> && !kPart) {
    return widen_bf16<S, N>(p);
  } else if constexpr (!same<S, bf16> && !same<S, f16> && !same<S, bool> && !kPart) {
    Native<S, N> x;
    __builtin_memcpy(&x, p, sizeof(x));
    return V<T, N>::raw(__builtin_convertvector(x, Native<T, N>));
  } else {
    V<T, N> x(0);
    for (int i = 0; i < (kPart ? count : N); i++) x.set_lane(i, load_element<T>(p[i]));
    return x;
  }
}
template <class T, class S, int N>
TARN_INLINE V<T, N> load_far(const char* from, int64_t step, int count) {
  V<T, N> x(0);
  for (int i = 0; i < count; i++) x.set_lane(i, load_element<T>(*(const S*)(from + i * step)));
  return x;
}
template <class T, class S, int N>
TARN_INLINE V<T, N> load_same(const char* from) {
  return V<T, N>::raw(V<T, N>::splat(load_element<T>(*(const S*)from)));
}

template <int Bytes, int N>
TARN_INLINE Mask<Bytes, N> flags_near(const char* from, int count) {
  V<IntOf<Bytes>, N> x(0);
  for (int i = 0; i < count; i++) x.set_lane(i, from[i]);
  return x != 0;
}
template <int Bytes, int N>
TARN_INLINE Mask<Bytes, N> flags_far(const char* from, int64_t step, int count) {
  V<IntOf<Bytes>, N> x(0);
  for (int i = 0; i < count; i++) x.set_lane(i, from[i * step]);
  return x != 0;
}
template <int Bytes, int N>
TARN_INLINE Mask<Bytes, N> flags_same(const char* from) {
  return V<IntOf<Bytes>, N>(int(*from)) != 0;
}

// A flag for compute types of another width.
template <int To, int From, int N>
TARN_INLINE Mask<To, N> mask_as(Mask<From, N> m) {
  if constexpr (To == From) return m;
  return {__builtin_convertvector(m.m, Native<IntOf<To>, N>)};
}
template <class T, int Bytes, int N>
TARN_INLINE V<T, N> from_flags(Mask<Bytes, N> m) {
  return where(mask_as<int(sizeof(T))>(m), V<T, N>(1), V<T, N>(0));
}

// What memory of S would keep of x, held as T again.
template <class T, class S, class X, int N>
TARN_INLINE V<T, N> round_as(V<X, N> x) {
  if constexpr (same<S, float> && same<X, double>) {
    return cast<float>(x);
  } else if constexpr (same<S, bf16> && same<X, float>) {
    auto u = bit_cast<int32_t>(x);
    auto odd = shift_right_logical(u, 16) & V<int32_t, N>(1);
    auto rounded = (u + V<int32_t, N>(0x7fff) + odd) & V<int32_t, N>(int32_t(0xffff0000));
    auto quiet = (u | V<int32_t, N>(0x400000)) & V<int32_t, N>(int32_t(0xffff0000));
    return bit_cast<float>(where(isnan(x), quiet, rounded));
  } else if constexpr (!is_float<X> && !is_float<S> && !same<S, bf16> && !same<S, f16>) {
    return V<T, N>::raw(__builtin_convertvector(__builtin_convertvector(x.v, Native<S, N>), Native<T, N>));
  } else {
    V<T, N> y(0);
    for (int i = 0; i < N; i++) y.set_lane(i, load_element<T>(store_element<S>(x.lane(i))));
    return y;
  }
}
template <class S, class T, int N, bool kPart>
TARN_INLINE void store_near(char* to, V<T, N> x, int count) {
  S* p = (S*)to;
  if constexpr (same<T, S>) {
    if constexpr (kPart)
      store_part(p, x, count);
    else
      store(p, x);
  } else if constexpr (!is_float<T> && !is_float<S> && !same<S, bf16> && !same<S, f16> && !kPart) {
    Native<S, N> y = __builtin_convertvector(x.v, Native<S, N>);
    __builtin_memcpy(p, &y, sizeof(y));
  } else if constexpr (same<S, bf16> && same<T, float> && !kPart) {
    auto bits = shift_right_logical(bit_cast<int32_t>(round_as<float, bf16>(x)), 16);
    Native<uint16_t, N> y = __builtin_convertvector(bits.v, Native<uint16_t, N>);
    __builtin_memcpy(p, &y, sizeof(y));
  } else {
    for (int i = 0; i < (kPart ? count : N); i++) p[i] = store_element<S>(x.lane(i));
  }
}
template <class S, class T, int N>
TARN_INLINE void store_far(char* to, int64_t step, V<T, N> x, int count) {
  for (int i = 0; i < count; i++) *(S*)(to + i * step) = store_element<S>(x.lane(i));
}
template <int Bytes, int N>
TARN_INLINE void store_flags(char* to, int64_t step, Mask<Bytes, N> m, int count) {
  for (int i = 0; i < count; i++) to[i * step] = m.lane(i);
}

template <class T, class X, int N>
TARN_INLINE V<T, N> convert_as(V<X, N> x) {
  return V<T, N>::raw(__builtin_convertvector(x.v, Native<T, N>));
}

}  // namespace tarn::inline v1::TARN_ISA
