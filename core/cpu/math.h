// Elementary functions on V<T, N>.
#pragma once
#include <math.h>

#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

#define TARN_LIBM(name)                                    \
  template <class T, int N>                                \
  TARN_INLINE V<T, N> name(V<T, N> x) {                    \
    return map_lanes(x, [](T s) { return T(::name(s)); }); \
  }
TARN_LIBM(exp)
TARN_LIBM(exp2) TARN_LIBM(expm1) TARN_LIBM(log) TARN_LIBM(log2) TARN_LIBM(log10) TARN_LIBM(log1p)
    TARN_LIBM(sin) TARN_LIBM(cos) TARN_LIBM(tan) TARN_LIBM(asin) TARN_LIBM(acos) TARN_LIBM(atan)
        TARN_LIBM(sinh) TARN_LIBM(cosh) TARN_LIBM(tanh) TARN_LIBM(asinh) TARN_LIBM(acosh) TARN_LIBM(atanh)
            TARN_LIBM(erf) TARN_LIBM(erfc)
#undef TARN_LIBM

                template <class T, int N>
                TARN_INLINE V<T, N> rsqrt(V<T, N> x) {
  return 1 / sqrt(x);
}
template <class T, int N>
TARN_INLINE V<T, N> sigmoid(V<T, N> x) {
  return 1 / (1 + exp(-x));
}
// -1, 0 or 1; 0 for NaN.
template <class T, int N>
TARN_INLINE V<T, N> sign(V<T, N> x) {
  return where(x > 0, V<T, N>(1), where(x < 0, V<T, N>(-1), V<T, N>(0)));
}
template <class T, int N>
TARN_INLINE V<T, N> atan2(V<T, N> a, V<T, N> b) {
  return map_lanes(a, b, [](T s, T t) { return T(::atan2(s, t)); });
}
template <class T, int N>
TARN_INLINE V<T, N> fmod(V<T, N> a, V<T, N> b) {
  if constexpr (is_float<T>) {
    return map_lanes(a, b, [](T s, T t) { return same<T, float> ? T(::fmodf(s, t)) : T(::fmod(s, t)); });
  } else {
    return where(b == 0, V<T, N>(0), a - b * (a / b));
  }
}
// Of the sign of b, as Python's %.
template <class T, int N>
TARN_INLINE V<T, N> remainder(V<T, N> a, V<T, N> b) {
  V<T, N> r = fmod(a, b);
  return where((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
}
// Rounds the exact quotient down, as Python's //.
template <class T, int N>
TARN_INLINE V<T, N> floor_divide(V<T, N> a, V<T, N> b) {
  using X = V<T, N>;
  X r = fmod(a, b);
  auto down = (r != 0) & ((r < 0) ^ (b < 0));
  if constexpr (is_float<T>) {
    X q = (a - r) / b;
    q = where(down, q - 1, q);
    X f = floor(q);
    f = where(q - f > 0.5, f + 1, f);
    f = where(q == 0, copysign(X(0), a / b), f);
    return where(b == 0, a / b, f);
  } else {
    return where(down, a / b - 1, a / b);
  }
}
template <class T, int N>
TARN_INLINE V<T, N> pow(V<T, N> a, V<T, N> b) {
  if constexpr (is_float<T>) {
    return map_lanes(a, b, [](T s, T t) { return T(::pow(s, t)); });
  } else {
    return map_lanes(a, b, [](T base, T exponent) {
      if (exponent < 0) return base == 1 ? T(1) : base == -1 ? T(exponent & 1 ? -1 : 1) : T(0);
      uint64_t result = 1, square = uint64_t(base);
      for (; exponent; exponent >>= 1, square *= square)
        if (exponent & 1) result *= square;
      return T(result);
    });
  }
}

}  // namespace tarn::inline v1::TARN_ISA
