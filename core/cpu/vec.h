// V<T, N>: N lanes of T as one value, on GCC's vector extensions. The text of a pointwise op, written once,
// becomes a CPU kernel by being instantiated with V<float, kLanes<float>>; with N = 1 it is a scalar of the
// same meaning.
//
// What holds on every instruction set and for every N, bit for bit: +, -, *, / and sqrt round once (no
// contraction); fma() is a fused multiply-add and nothing else is; integer arithmetic wraps, and division by
// zero gives 0; comparisons with NaN are false (!= true); int and double literals convert to T. Files that
// include this header are compiled once per instruction set: everything here lives in tarn::TARN_ISA and is
// always inlined, so no symbol can leak between them.
#pragma once
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef TARN_ISA
#define TARN_ISA generic
#endif
#define TARN_INLINE inline __attribute__((always_inline))

namespace tarn::inline v1::TARN_ISA {

#if defined(__AVX512F__)
constexpr int kVecBytes = 64;
#elif defined(__AVX2__)
constexpr int kVecBytes = 32;
#else
constexpr int kVecBytes = 16;
#endif
// How many lanes of T one register holds. Element-wise results do not depend on it.
template <class T>
constexpr int kLanes = kVecBytes / int(sizeof(T));

// Storage of the 16-bit floats; they have no arithmetic of their own.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;
template <class T>
constexpr bool is_float = same<T, float> || same<T, double>;
template <bool C, class A, class B>
struct Pick {
  using type = A;
};
template <class A, class B>
struct Pick<false, A, B> {
  using type = B;
};
template <int Bytes>
using IntOf = typename Pick<Bytes == 4, int32_t, int64_t>::type;
template <int Bytes>
using UintOf = typename Pick<Bytes == 4, uint32_t, uint64_t>::type;
template <class T>
struct SelfType {
  using type = T;
};
template <class T>
using Self = typename SelfType<T>::type;  // a parameter of this type converts instead of being deduced

template <class T, int N>
using Native __attribute__((vector_size(sizeof(T) * N))) = T;

// --- Mask: one truth value per lane of `Bytes` bytes ---

template <int Bytes, int N>
struct Mask {
  Native<IntOf<Bytes>, N> m;  // -1 or 0
  TARN_INLINE bool lane(int i) const { return m[i] != 0; }
  friend TARN_INLINE Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
  friend TARN_INLINE Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
  friend TARN_INLINE Mask operator^(Mask a, Mask b) { return {a.m ^ b.m}; }
  friend TARN_INLINE Mask operator~(Mask a) { return {~a.m}; }
};

template <int Bytes>
struct Mask<Bytes, 1> {
  bool m;
  TARN_INLINE bool lane(int) const { return m; }
  friend TARN_INLINE Mask operator&(Mask a, Mask b) { return {bool(a.m & b.m)}; }
  friend TARN_INLINE Mask operator|(Mask a, Mask b) { return {bool(a.m | b.m)}; }
  friend TARN_INLINE Mask operator^(Mask a, Mask b) { return {a.m != b.m}; }
  friend TARN_INLINE Mask operator~(Mask a) { return {!a.m}; }
};

#if defined(__AVX512F__)
// AVX-512 compares into mask registers: one bit per lane.
template <int Bytes, int N>
requires(Bytes* N == 64) struct Mask<Bytes, N> {
  using Bits = typename Pick<N == 16, __mmask16, __mmask8>::type;
  Bits m;
  TARN_INLINE bool lane(int i) const { return (m >> i) & 1; }
  friend TARN_INLINE Mask operator&(Mask a, Mask b) { return {Bits(a.m & b.m)}; }
  friend TARN_INLINE Mask operator|(Mask a, Mask b) { return {Bits(a.m | b.m)}; }
  friend TARN_INLINE Mask operator^(Mask a, Mask b) { return {Bits(a.m ^ b.m)}; }
  friend TARN_INLINE Mask operator~(Mask a) { return {Bits(~a.m)}; }
};
#endif

template <int Bytes, int N>
TARN_INLINE bool any(Mask<Bytes, N> m) {
  if constexpr (N == 1) {
    return m.m;
  } else if constexpr (sizeof(m.m) < 4) {
    return m.m != 0;
  } else {
    int64_t or_all = 0;
    auto words = (Native<int64_t, N * Bytes / 8>)m.m;
    for (int i = 0; i < N * Bytes / 8; i++) or_all |= words[i];
    return or_all != 0;
  }
}

// --- V ---

enum class Cmp { eq, ne, lt, le, gt, ge };

template <Cmp C, class A>
TARN_INLINE auto compare_native(A a, A b) {
  if constexpr (C == Cmp::eq) return a == b;
  if constexpr (C == Cmp::ne) return a != b;
  if constexpr (C == Cmp::lt) return a < b;
  if constexpr (C == Cmp::le) return a <= b;
  if constexpr (C == Cmp::gt) return a > b;
  if constexpr (C == Cmp::ge) return a >= b;
}

#if defined(__AVX512F__)
template <Cmp C, class T>
TARN_INLINE auto compare_512(Native<T, 64 / sizeof(T)> a, Native<T, 64 / sizeof(T)> b) {
  constexpr int kFloat[] = {_CMP_EQ_OQ, _CMP_NEQ_UQ, _CMP_LT_OQ, _CMP_LE_OQ, _CMP_GT_OQ, _CMP_GE_OQ};
  constexpr int kInt[] = {_MM_CMPINT_EQ, _MM_CMPINT_NE,  _MM_CMPINT_LT,
                          _MM_CMPINT_LE, _MM_CMPINT_NLE, _MM_CMPINT_NLT};
  constexpr int p = is_float<T> ? kFloat[int(C)] : kInt[int(C)];
  if constexpr (same<T, float>) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, p);
  if constexpr (same<T, double>) return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, p);
  if constexpr (same<T, int32_t>) return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, p);
  if constexpr (same<T, int64_t>) return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, p);
}
#endif

template <class T, int N>
struct V {
  static constexpr int kN = N;
  using Lane = T;
  using Raw = typename Pick<N == 1, T, Native<T, N == 1 ? 2 : N>>::type;
  using M = Mask<int(sizeof(T)), N>;
  Raw v;

  V() = default;
  TARN_INLINE explicit V(Raw raw, int) : v(raw) {}
  TARN_INLINE V(float s) : v(splat(T(s))) {}
  TARN_INLINE V(double s) : v(splat(T(s))) {}
  TARN_INLINE V(int s) : v(splat(T(s))) {}
  TARN_INLINE V(long s) : v(splat(T(s))) {}
  static TARN_INLINE V raw(Raw r) { return V(r, 0); }
  static TARN_INLINE Raw splat(T s) {
    if constexpr (N == 1) {
      return s;
    } else {
      return s - Raw{};  // s - 0 keeps -0 where s + 0 would not
    }
  }

  TARN_INLINE T lane(int i) const {
    if constexpr (N == 1) {
      return v;
    } else {
      return v[i];
    }
  }
  TARN_INLINE void set_lane(int i, T s) {
    if constexpr (N == 1) {
      v = s;
    } else {
      v[i] = s;
    }
  }

  template <Cmp C>
  static TARN_INLINE M compare(V a, V b) {
    if constexpr (N == 1) {
      return {compare_native<C>(a.v, b.v)};
    }
#if defined(__AVX512F__)
    else if constexpr (sizeof(Raw) == 64) {
      return {compare_512<C, T>(a.v, b.v)};
    }
#endif
    else {
      return {(Native<IntOf<sizeof(T)>, N>)compare_native<C>(a.v, b.v)};
    }
  }
  friend TARN_INLINE M operator==(V a, V b) { return compare<Cmp::eq>(a, b); }
  friend TARN_INLINE M operator!=(V a, V b) { return compare<Cmp::ne>(a, b); }
  friend TARN_INLINE M operator<(V a, V b) { return compare<Cmp::lt>(a, b); }
  friend TARN_INLINE M operator<=(V a, V b) { return compare<Cmp::le>(a, b); }
  friend TARN_INLINE M operator>(V a, V b) { return compare<Cmp::gt>(a, b); }
  friend TARN_INLINE M operator>=(V a, V b) { return compare<Cmp::ge>(a, b); }

  // Integers compute in the unsigned type of their size, where overflow wraps by definition.
  static constexpr bool kInt = !is_float<T>;
  using Wrap = typename Pick<kInt, UintOf<sizeof(T)>, T>::type;
  using W = typename Pick<N == 1, Wrap, Native<Wrap, N == 1 ? 2 : N>>::type;
  friend TARN_INLINE V operator+(V a, V b) { return raw((Raw)((W)a.v + (W)b.v)); }
  friend TARN_INLINE V operator-(V a, V b) { return raw((Raw)((W)a.v - (W)b.v)); }
  friend TARN_INLINE V operator*(V a, V b) { return raw((Raw)((W)a.v * (W)b.v)); }
  friend TARN_INLINE V operator-(V a) { return raw((Raw)(-(W)a.v)); }
  friend TARN_INLINE V operator+(V a) { return a; }
  friend TARN_INLINE V operator/(V a, V b) {
    if constexpr (kInt) {
      V y = a;
      for (int i = 0; i < N; i++) y.set_lane(i, divide_lane(a.lane(i), b.lane(i)));
      return y;
    } else {
      return raw(a.v / b.v);
    }
  }
  friend TARN_INLINE V operator&(V a, V b) requires(kInt) { return raw(a.v & b.v); }
  friend TARN_INLINE V operator|(V a, V b) requires(kInt) { return raw(a.v | b.v); }
  friend TARN_INLINE V operator^(V a, V b) requires(kInt) { return raw(a.v ^ b.v); }
  friend TARN_INLINE V operator~(V a) requires(kInt) { return raw(~a.v); }
  friend TARN_INLINE V operator<<(V a, int n) requires(kInt) { return raw((Raw)((W)a.v << n)); }
  friend TARN_INLINE V operator>>(V a, int n) requires(kInt) { return raw(a.v >> n); }

  // Truncating division that never traps: x / 0 is 0 and the lowest value / -1 wraps to itself.
  static TARN_INLINE T divide_lane(T a, T b) {
    if (b == 0) return 0;
    return b == T(-1) ? T(Wrap(0) - Wrap(a)) : T(a / b);
  }
};

template <class To, class From, int N>
TARN_INLINE V<To, N> bit_cast(V<From, N> x) {
  static_assert(sizeof(To) == sizeof(From));
  if constexpr (N == 1) {
    return V<To, N>::raw(__builtin_bit_cast(To, x.v));
  } else {
    return V<To, N>::raw((Native<To, N>)x.v);
  }
}

// Logical (zero-filling) shift.
template <class T, int N>
TARN_INLINE V<T, N> shift_right_logical(V<T, N> a, int n) {
  return V<T, N>::raw((typename V<T, N>::Raw)((typename V<T, N>::W)a.v >> n));
}

template <class T, int N>
TARN_INLINE V<T, N> where(Mask<int(sizeof(T)), N> m, V<T, N> a, V<T, N> b) {
  if constexpr (N == 1) {
    return V<T, N>::raw(m.m ? a.v : b.v);
  }
#if defined(__AVX512F__)
  else if constexpr (sizeof(a.v) == 64) {
    if constexpr (same<T, float>) return V<T, N>::raw(_mm512_mask_blend_ps(m.m, b.v, a.v));
    if constexpr (same<T, double>) return V<T, N>::raw(_mm512_mask_blend_pd(m.m, b.v, a.v));
    if constexpr (same<T, int32_t>)
      return V<T, N>::raw((Native<T, N>)_mm512_mask_blend_epi32(m.m, (__m512i)b.v, (__m512i)a.v));
    if constexpr (same<T, int64_t>)
      return V<T, N>::raw((Native<T, N>)_mm512_mask_blend_epi64(m.m, (__m512i)b.v, (__m512i)a.v));
  }
#endif
  else {
    return V<T, N>::raw(m.m ? a.v : b.v);
  }
}
template <class T, int N>
TARN_INLINE V<T, N> where(Mask<int(sizeof(T)), N> m, V<T, N> a, Self<V<T, N>> b) {
  return where<T, N>(m, a, b);
}
template <class T, int N>
TARN_INLINE V<T, N> where(Mask<int(sizeof(T)), N> m, Self<V<T, N>> a, V<T, N> b) {
  return where<T, N>(m, a, b);
}

}  // namespace tarn::inline v1::TARN_ISA

#include <tarn/core/cpu/vec_load.h>
#include <tarn/core/cpu/vec_ops.h>
