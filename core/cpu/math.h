// Elementary functions on V<T, N>, for the texts of pointwise.def and for kernels.
//
// Promises, tested by tests/core/math_test.cpp, which prints the table of errors: results are within 2 ULP
// (exp, log, tanh, erf) or 4 ULP (the others) of the exact value; they are the same bits on every instruction
// set and for every N, as nothing here contracts or depends on N; zeros keep their sign, subnormals are exact
// to the same bound, infinities and NaN give what C's Annex F says, quietly. Float functions that are rarely
// hot are computed in double, to half an ULP.
#pragma once
#include <tarn/core/cpu/math_special.h>
#include <tarn/core/cpu/math_trig.h>

namespace tarn::inline v1::TARN_ISA {

#define TARN_IN_DOUBLE(name)                                         \
  template <int N>                                                   \
  TARN_INLINE V<float, N> name(V<float, N> x) {                      \
    return in_double(x, [](auto d) TARN_LAMBDA { return name(d); }); \
  }
#define TARN_LAMBDA __attribute__((always_inline))
TARN_IN_DOUBLE(exp2)
TARN_IN_DOUBLE(expm1)
TARN_IN_DOUBLE(log2)
TARN_IN_DOUBLE(log10)
TARN_IN_DOUBLE(log1p)
TARN_IN_DOUBLE(tan)
TARN_IN_DOUBLE(asin)
TARN_IN_DOUBLE(acos)
TARN_IN_DOUBLE(atan)
TARN_IN_DOUBLE(sinh)
TARN_IN_DOUBLE(cosh)
TARN_IN_DOUBLE(asinh)
TARN_IN_DOUBLE(acosh)
TARN_IN_DOUBLE(atanh)
TARN_IN_DOUBLE(erfc)
#undef TARN_LAMBDA
#undef TARN_IN_DOUBLE

template <int N>
TARN_INLINE V<float, N> atan2(V<float, N> y, V<float, N> x) {
  return in_double(y, x, [](auto a, auto b) { return atan2(a, b); });
}

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

// x - b trunc(x / b), exact; of the sign of x.
template <class T, int N>
TARN_INLINE V<T, N> fmod(V<T, N> a, V<T, N> b) {
  if constexpr (is_float<T>) {
    return map_lanes(
        a, b, [](T s, T t) { return same<T, float> ? T(__builtin_fmodf(s, t)) : T(__builtin_fmod(s, t)); });
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
// The exact quotient rounded down, as Python's //.
template <class T, int N>
TARN_INLINE V<T, N> floor_divide(V<T, N> a, V<T, N> b) {
  using X = V<T, N>;
  X r = fmod(a, b);
  auto down = (r != 0) & ((r < 0) ^ (b < 0));
  if constexpr (is_float<T>) {
    X q = (a - r) / b;  // nearly an integer
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
  if constexpr (same<T, double>) {
    return pow_double<true>(a, b);
  } else if constexpr (same<T, float>) {
    return in_double(a, b, [](auto x, auto y) { return pow_double<false>(x, y); });
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
template <class T, int N>
TARN_INLINE V<T, N> pow(V<T, N> a, Self<V<T, N>> b) {
  return pow<T, N>(a, b);
}
template <class T, int N>
TARN_INLINE V<T, N> pow(Self<V<T, N>> a, V<T, N> b) {
  return pow<T, N>(a, b);
}

}  // namespace tarn::inline v1::TARN_ISA
