// Exact operations on V<T, N>: rounding, sign, square root, fused multiply-add, minimum and maximum, change
// of lane type. "Exact" means correctly rounded, hence the same bits everywhere. Included by vec.h.
#pragma once
#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

// Applies a scalar function to each lane: for what has no vector instruction or is too rare to deserve one.
template <class T, int N, class F>
TARN_INLINE V<T, N> map_lanes(V<T, N> x, F f) {
  V<T, N> y = x;
  for (int i = 0; i < N; i++) y.set_lane(i, f(x.lane(i)));
  return y;
}
template <class T, int N, class F>
TARN_INLINE V<T, N> map_lanes(V<T, N> a, V<T, N> b, F f) {
  V<T, N> y = a;
  for (int i = 0; i < N; i++) y.set_lane(i, f(a.lane(i), b.lane(i)));
  return y;
}

// Of the AVX-512 intrinsics the maskz_ forms are used, with all lanes on: GCC 12 warns of uninitialised
// values in the plain ones.
template <class T, int N>
constexpr bool is_512 = same<T, T> && sizeof(T) * N == 64 && N > 1;
template <class T, int N>
constexpr bool is_256 = same<T, T> && sizeof(T) * N == 32 && N > 1;
template <class T, int N>
constexpr bool is_128 = same<T, T> && sizeof(T) * N == 16 && N > 1;

template <class T, int N>
TARN_INLINE V<T, N> sqrt(V<T, N> x) {
  using R = V<T, N>;
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && same<T, float>) return R::raw(_mm512_maskz_sqrt_ps(-1, x.v));
  if constexpr (is_512<T, N> && same<T, double>) return R::raw(_mm512_maskz_sqrt_pd(-1, x.v));
#endif
#if defined(__AVX2__)
  if constexpr (is_256<T, N> && same<T, float>) return R::raw(_mm256_sqrt_ps(x.v));
  if constexpr (is_256<T, N> && same<T, double>) return R::raw(_mm256_sqrt_pd(x.v));
#endif
#if defined(__SSE2__)
  if constexpr (is_128<T, N> && same<T, float>) return R::raw(_mm_sqrt_ps(x.v));
  if constexpr (is_128<T, N> && same<T, double>) return R::raw(_mm_sqrt_pd(x.v));
  if constexpr (N == 1 && same<T, float>) return R(_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x.v))));
  if constexpr (N == 1 && same<T, double>) return R(_mm_cvtsd_f64(_mm_sqrt_pd(_mm_set_sd(x.v))));
#endif
  return map_lanes(x, [](T s) { return same<T, float> ? T(__builtin_sqrtf(s)) : T(__builtin_sqrt(s)); });
}

// a * b + c with one rounding. Software, and slow, where the machine has no such instruction.
template <class T, int N>
TARN_INLINE V<T, N> fma(V<T, N> a, Self<V<T, N>> b, Self<V<T, N>> c) {
  using R = V<T, N>;
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && same<T, float>) return R::raw(_mm512_fmadd_ps(a.v, b.v, c.v));
  if constexpr (is_512<T, N> && same<T, double>) return R::raw(_mm512_fmadd_pd(a.v, b.v, c.v));
#endif
#if defined(__FMA__)
  if constexpr (is_256<T, N> && same<T, float>) return R::raw(_mm256_fmadd_ps(a.v, b.v, c.v));
  if constexpr (is_256<T, N> && same<T, double>) return R::raw(_mm256_fmadd_pd(a.v, b.v, c.v));
#endif
  R y = a;
  for (int i = 0; i < N; i++) {
    if constexpr (same<T, float>) {
      y.set_lane(i, __builtin_fmaf(a.lane(i), b.lane(i), c.lane(i)));
    } else {
      y.set_lane(i, __builtin_fma(a.lane(i), b.lane(i), c.lane(i)));
    }
  }
  return y;
}

// --- Sign and bits ---

template <class T>
constexpr IntOf<sizeof(T)> kSignBit = IntOf<sizeof(T)>(UintOf<sizeof(T)>(1) << (8 * sizeof(T) - 1));

template <class T, int N>
TARN_INLINE V<T, N> abs(V<T, N> x) {
  using I = IntOf<sizeof(T)>;
  if constexpr (is_float<T>) {
    return bit_cast<T>(bit_cast<I>(x) & V<I, N>(I(~kSignBit<T>)));
  } else {
    return where(x < 0, -x, x);
  }
}
template <class T, int N>
TARN_INLINE V<T, N> copysign(V<T, N> x, Self<V<T, N>> sign) {
  using I = IntOf<sizeof(T)>;
  V<I, N> bit(kSignBit<T>);
  return bit_cast<T>((bit_cast<I>(x) & ~bit) | (bit_cast<I>(sign) & bit));
}
// True for negative numbers, -0 and NaNs with the sign bit.
template <class T, int N>
TARN_INLINE Mask<int(sizeof(T)), N> signbit(V<T, N> x) {
  return bit_cast<IntOf<sizeof(T)>>(x) < 0;
}
template <class T, int N>
TARN_INLINE Mask<int(sizeof(T)), N> isnan(V<T, N> x) {
  return x != x;
}
template <class T, int N>
TARN_INLINE Mask<int(sizeof(T)), N> isinf(V<T, N> x) {
  if constexpr (is_float<T>) {
    return abs(x) == V<T, N>(T(__builtin_inf()));
  } else {
    return x != x;
  }
}
template <class T, int N>
TARN_INLINE Mask<int(sizeof(T)), N> isfinite(V<T, N> x) {
  if constexpr (is_float<T>) {
    return abs(x) < V<T, N>(T(__builtin_inf()));
  } else {
    return x == x;
  }
}

// --- Rounding to integers ---

// 2^23 or 2^52: from here on every value is an integer.
template <class T>
constexpr T kIntegerFrom = same<T, float> ? T(8388608.0) : T(4503599627370496.0);

// Half to even: adding and subtracting 2^23 leaves no room for a fraction.
template <class T, int N>
TARN_INLINE V<T, N> round(V<T, N> x) {
  using R = V<T, N>;
  if constexpr (!is_float<T>) return x;
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && same<T, float>) return R::raw(_mm512_maskz_roundscale_ps(-1, x.v, 8));
  if constexpr (is_512<T, N> && same<T, double>) return R::raw(_mm512_maskz_roundscale_pd(-1, x.v, 8));
#endif
#if defined(__AVX2__)
  if constexpr (is_256<T, N> && same<T, float>) return R::raw(_mm256_round_ps(x.v, 8));
  if constexpr (is_256<T, N> && same<T, double>) return R::raw(_mm256_round_pd(x.v, 8));
#endif
  R big = abs(x) + kIntegerFrom<T>;
  R y = copysign(big - kIntegerFrom<T>, x);
  return where(abs(x) < kIntegerFrom<T>, y, x);
}
template <class T, int N>
TARN_INLINE V<T, N> floor(V<T, N> x) {
  using R = V<T, N>;
  if constexpr (!is_float<T>) return x;
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && same<T, float>) return R::raw(_mm512_maskz_roundscale_ps(-1, x.v, 9));
  if constexpr (is_512<T, N> && same<T, double>) return R::raw(_mm512_maskz_roundscale_pd(-1, x.v, 9));
#endif
#if defined(__AVX2__)
  if constexpr (is_256<T, N> && same<T, float>) return R::raw(_mm256_round_ps(x.v, 9));
  if constexpr (is_256<T, N> && same<T, double>) return R::raw(_mm256_round_pd(x.v, 9));
#endif
  R y = round(x);
  return where(y > x, y - 1, y);
}
template <class T, int N>
TARN_INLINE V<T, N> ceil(V<T, N> x) {
  return -floor(-x);
}
template <class T, int N>
TARN_INLINE V<T, N> trunc(V<T, N> x) {
  if constexpr (!is_float<T>) return x;
  return copysign(floor(abs(x)), x);
}

// --- Minimum and maximum: NaN if either is NaN, as torch.maximum does ---

template <class T, int N>
TARN_INLINE V<T, N> max(V<T, N> a, V<T, N> b) {
  return where(isnan(a) | (a > b), a, b);
}
template <class T, int N>
TARN_INLINE V<T, N> max(V<T, N> a, Self<V<T, N>> b) {
  return max<T, N>(a, b);
}
template <class T, int N>
TARN_INLINE V<T, N> min(V<T, N> a, V<T, N> b) {
  return where(isnan(a) | (a < b), a, b);
}
template <class T, int N>
TARN_INLINE V<T, N> min(V<T, N> a, Self<V<T, N>> b) {
  return min<T, N>(a, b);
}

template <class T, int N>
TARN_INLINE V<T, N> zeros_like(V<T, N>) {
  return V<T, N>(0);
}

// --- Lane types ---

// Same number of lanes, another type: what a C++ cast does per lane. Float to integer takes values in range
// only; out of range and NaN give the lowest integer on x86.
template <class To, class From, int N>
TARN_INLINE V<To, N> cast(V<From, N> x) {
  using R = V<To, N>;
  [[maybe_unused]] constexpr bool widens = same<From, float> && same<To, double>,
                                  narrows = same<From, double> && same<To, float>;
  if constexpr (N == 1) return R(To(x.v));
#if defined(__AVX512F__)
  if constexpr (N == 8 && widens) return R::raw(_mm512_maskz_cvtps_pd(-1, (__m256)x.v));
  if constexpr (N == 8 && narrows) return R::raw((Native<To, N>)_mm512_maskz_cvtpd_ps(-1, (__m512d)x.v));
#endif
#if defined(__AVX2__)
  if constexpr (N == 4 && widens) return R::raw(_mm256_cvtps_pd((__m128)x.v));
  if constexpr (N == 4 && narrows) return R::raw((Native<To, N>)_mm256_cvtpd_ps((__m256d)x.v));
#endif
  if constexpr (N > 1) return R::raw(__builtin_convertvector(x.v, Native<To, N>));
}

template <class T, int N>
struct Halves {
  V<T, N / 2> lo, hi;
};

// The two halves of a vector, and back: how a float function is computed in double.
template <class T, int N>
TARN_INLINE Halves<T, N> split(V<T, N> x) {
  using H = V<T, N / 2>;
  if constexpr (N == 2) return {H(x.v[0]), H(x.v[1])};
  if constexpr (N == 4)
    return {H::raw(__builtin_shufflevector(x.v, x.v, 0, 1)), H::raw(__builtin_shufflevector(x.v, x.v, 2, 3))};
  if constexpr (N == 8)
    return {H::raw(__builtin_shufflevector(x.v, x.v, 0, 1, 2, 3)),
            H::raw(__builtin_shufflevector(x.v, x.v, 4, 5, 6, 7))};
  if constexpr (N == 16)
    return {H::raw(__builtin_shufflevector(x.v, x.v, 0, 1, 2, 3, 4, 5, 6, 7)),
            H::raw(__builtin_shufflevector(x.v, x.v, 8, 9, 10, 11, 12, 13, 14, 15))};
}
template <class T, int H>
TARN_INLINE V<T, 2 * H> join(V<T, H> lo, V<T, H> hi) {
  using R = V<T, 2 * H>;
  if constexpr (H == 1) return R::raw(typename R::Raw{lo.v, hi.v});
  if constexpr (H == 2) return R::raw(__builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3));
  if constexpr (H == 4) return R::raw(__builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3, 4, 5, 6, 7));
  if constexpr (H == 8)
    return R::raw(__builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Computes a float function with a double one: f(V<double, M>) for M = N / 2, or 1 for scalars.
template <int N, class F>
TARN_INLINE V<float, N> in_double(V<float, N> x, F f) {
  if constexpr (N == 1) {
    return V<float, 1>(f(V<double, 1>(x.v)).v);
  } else {
    auto h = split(x);
    return join(cast<float>(f(cast<double>(h.lo))), cast<float>(f(cast<double>(h.hi))));
  }
}
template <int N, class F>
TARN_INLINE V<float, N> in_double(V<float, N> a, V<float, N> b, F f) {
  if constexpr (N == 1) {
    return V<float, 1>(f(V<double, 1>(a.v), V<double, 1>(b.v)).v);
  } else {
    auto ha = split(a), hb = split(b);
    return join(cast<float>(f(cast<double>(ha.lo), cast<double>(hb.lo))),
                cast<float>(f(cast<double>(ha.hi), cast<double>(hb.hi))));
  }
}

}  // namespace tarn::inline v1::TARN_ISA
