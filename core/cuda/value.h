// D<T>: one float, double or int64 of a device thread, with the operators and functions that the texts of
// pointwise.def use. It means what V<T, 1> of core/cpu/vec.h means: nothing contracts (kernels are built with
// --fmad=false), integers wrap, dividing one by zero gives 0, comparisons with NaN are false, min and max
// pass NaN on. Elementary functions are the device's: a few ULP from the CPU's.
#pragma once

#include <stdint.h>

#include <tarn/core/cuda/dev.h>

namespace tarn::inline v1::gpu {

template <class T>
constexpr bool is_float = true;
template <>
constexpr bool is_float<int64_t> = false;

// A truth value. Not bool: texts combine them with & | ^ alone, and no number converts to one.
struct M {
  bool m;
  friend __device__ M operator&(M a, M b) { return {bool(a.m & b.m)}; }
  friend __device__ M operator|(M a, M b) { return {bool(a.m | b.m)}; }
  friend __device__ M operator^(M a, M b) { return {a.m != b.m}; }
  friend __device__ M operator~(M a) { return {!a.m}; }
};

#define TARN_MATH1(name)                                              \
  __device__ inline float call_##name(float x) { return name##f(x); } \
  __device__ inline double call_##name(double x) { return ::name(x); }
#define TARN_MATH2(name)                                                          \
  __device__ inline float call_##name(float a, float b) { return name##f(a, b); } \
  __device__ inline double call_##name(double a, double b) { return ::name(a, b); }
TARN_MATH1(exp)
TARN_MATH1(exp2)
TARN_MATH1(expm1)
TARN_MATH1(log)
TARN_MATH1(log2)
TARN_MATH1(log10)
TARN_MATH1(log1p)
TARN_MATH1(sqrt)
TARN_MATH1(sin)
TARN_MATH1(cos)
TARN_MATH1(tan)
TARN_MATH1(asin)
TARN_MATH1(acos)
TARN_MATH1(atan)
TARN_MATH1(sinh)
TARN_MATH1(cosh)
TARN_MATH1(tanh)
TARN_MATH1(asinh)
TARN_MATH1(acosh)
TARN_MATH1(atanh)
TARN_MATH1(erf)
TARN_MATH1(erfc)
TARN_MATH1(floor)
TARN_MATH1(ceil)
TARN_MATH1(trunc)
TARN_MATH1(rint)
TARN_MATH2(fmod)
TARN_MATH2(atan2)
TARN_MATH2(pow)
TARN_MATH2(copysign)
#undef TARN_MATH1
#undef TARN_MATH2

template <class T>
struct D {
  T v;
  using Wrap = uint64_t;
  static constexpr bool kFloat = is_float<T>;

  D() = default;
  __device__ D(float s) : v(T(s)) {}
  __device__ D(double s) : v(T(s)) {}
  __device__ D(int s) : v(T(s)) {}
  __device__ D(long s) : v(T(s)) {}

  friend __device__ M operator==(D a, D b) { return {a.v == b.v}; }
  friend __device__ M operator!=(D a, D b) { return {a.v != b.v}; }
  friend __device__ M operator<(D a, D b) { return {a.v < b.v}; }
  friend __device__ M operator<=(D a, D b) { return {a.v <= b.v}; }
  friend __device__ M operator>(D a, D b) { return {a.v > b.v}; }
  friend __device__ M operator>=(D a, D b) { return {a.v >= b.v}; }

  friend __device__ D operator+(D a, D b) {
    if constexpr (kFloat)
      return D(a.v + b.v);
    else
      return D(T(Wrap(a.v) + Wrap(b.v)));
  }
  friend __device__ D operator-(D a, D b) {
    if constexpr (kFloat)
      return D(a.v - b.v);
    else
      return D(T(Wrap(a.v) - Wrap(b.v)));
  }
  friend __device__ D operator*(D a, D b) {
    if constexpr (kFloat)
      return D(a.v * b.v);
    else
      return D(T(Wrap(a.v) * Wrap(b.v)));
  }
  friend __device__ D operator/(D a, D b) {
    if constexpr (kFloat)
      return D(a.v / b.v);
    else if (b.v == 0)
      return D(T(0));
    else
      return b.v == T(-1) ? -a : D(T(a.v / b.v));
  }
  friend __device__ D operator-(D a) {
    if constexpr (kFloat)
      return D(-a.v);
    else
      return D(T(Wrap(0) - Wrap(a.v)));
  }
  friend __device__ D operator&(D a, D b) { return D(T(a.v & b.v)); }
  friend __device__ D operator|(D a, D b) { return D(T(a.v | b.v)); }
  friend __device__ D operator^(D a, D b) { return D(T(a.v ^ b.v)); }
  friend __device__ D operator~(D a) { return D(T(~a.v)); }

  friend __device__ D where(M m, D a, D b) { return m.m ? a : b; }
  friend __device__ D zeros_like(D) { return D(0); }
  friend __device__ M isnan(D x) { return x != x; }
  friend __device__ M isinf(D x) {
    if constexpr (kFloat)
      return abs(x) == D(T(__builtin_huge_val()));
    else
      return {false};
  }
  friend __device__ M isfinite(D x) {
    if constexpr (kFloat)
      return abs(x) < D(T(__builtin_huge_val()));
    else
      return {true};
  }
  friend __device__ D max(D a, D b) { return where(isnan(a) | (a > b), a, b); }
  friend __device__ D min(D a, D b) { return where(isnan(a) | (a < b), a, b); }
  friend __device__ D abs(D x) {
    if constexpr (kFloat)
      return D(x.v < 0 ? -x.v : x.v + T(0));  // -0 + 0 is 0
    else
      return where(x < 0, -x, x);
  }
  friend __device__ D sign(D x) { return where(x > 0, D(1), where(x < 0, D(-1), D(0))); }
  friend __device__ D copysign(D x, D s) { return D(call_copysign(x.v, s.v)); }

#define TARN_ROUNDING(name, function) \
  friend __device__ D name(D x) {     \
    if constexpr (kFloat)             \
      return D(call_##function(x.v)); \
    else                              \
      return x;                       \
  }
  TARN_ROUNDING(round, rint)
  TARN_ROUNDING(floor, floor)
  TARN_ROUNDING(ceil, ceil)
  TARN_ROUNDING(trunc, trunc)
#undef TARN_ROUNDING

#define TARN_FUNCTION(name) \
  friend __device__ D name(D x) { return D(call_##name(x.v)); }
  TARN_FUNCTION(exp)
  TARN_FUNCTION(exp2)
  TARN_FUNCTION(expm1)
  TARN_FUNCTION(log)
  TARN_FUNCTION(log2)
  TARN_FUNCTION(log10)
  TARN_FUNCTION(log1p)
  TARN_FUNCTION(sqrt)
  TARN_FUNCTION(sin)
  TARN_FUNCTION(cos)
  TARN_FUNCTION(tan)
  TARN_FUNCTION(asin)
  TARN_FUNCTION(acos)
  TARN_FUNCTION(atan)
  TARN_FUNCTION(sinh)
  TARN_FUNCTION(cosh)
  TARN_FUNCTION(tanh)
  TARN_FUNCTION(asinh)
  TARN_FUNCTION(acosh)
  TARN_FUNCTION(atanh)
  TARN_FUNCTION(erf)
  TARN_FUNCTION(erfc)
#undef TARN_FUNCTION
  friend __device__ D rsqrt(D x) { return 1 / sqrt(x); }
  friend __device__ D sigmoid(D x) { return 1 / (1 + exp(-x)); }
  friend __device__ D atan2(D y, D x) { return D(call_atan2(y.v, x.v)); }

  friend __device__ D fmod(D a, D b) {
    if constexpr (kFloat)
      return D(call_fmod(a.v, b.v));
    else
      return where(b == 0, D(0), a - b * (a / b));
  }
  friend __device__ D remainder(D a, D b) {
    D r = fmod(a, b);
    return where((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
  }
  // As core/cpu/math.h has it.
  friend __device__ D floor_divide(D a, D b) {
    D r = fmod(a, b);
    M down = (r != 0) & ((r < 0) ^ (b < 0));
    if constexpr (kFloat) {
      D q = (a - r) / b;
      q = where(down, q - 1, q);
      D f = floor(q);
      f = where(q - f > 0.5, f + 1, f);
      f = where(q == 0, copysign(D(0), a / b), f);
      return where(b == 0, a / b, f);
    } else {
      return where(down, a / b - 1, a / b);
    }
  }
  friend __device__ D pow(D a, D b) {
    if constexpr (kFloat) {
      return D(call_pow(a.v, b.v));
    } else {
      T base = a.v, exponent = b.v;
      if (exponent < 0) return D(T(base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0));
      Wrap result = 1, square = Wrap(base);
      for (; exponent; exponent >>= 1, square *= square)
        if (exponent & 1) result *= square;
      return D(T(result));
    }
  }
};

}  // namespace tarn::inline v1::gpu
