// Trigonometric functions and their inverses on V<double, N>, and sin and cos on V<float, N>. See math.h.
#pragma once
#include <tarn/core/cpu/math_exp.h>

namespace tarn::inline v1::TARN_ISA {

constexpr double kPi = 3.141592653589793, kHalfPi = 1.5707963267948966, kHalfPiLo = 0x1.1a62633145c07p-54;
constexpr double kQuarterPi = 0.7853981633974483, kTwoOverPi = 0.6366197723675814;

// --- sin, cos, tan ---

// x = j pi/2 + hi + lo, |hi| <= pi/4. Pi/2 is cut into pieces of 33 bits, whose products with j are exact
// while |j| < 2^20 (Cody and Waite, Software Manual for the Elementary Functions, 1980). Larger arguments go
// to the C library, lane by lane.

constexpr double kTrigLimit = 1e6;

template <int N>
struct TrigReduced {
  V<double, N> hi, lo;
  V<int64_t, N> quadrant;  // j; its low two bits count
};
// `Short`: for a float result, two pieces do, and lo is 0.
template <bool Short, int N>
TARN_INLINE TrigReduced<N> trig_reduce(V<double, N> x) {
  using X = V<double, N>;
  auto j = nearest(x * kTwoOverPi);
  X a = x - j.value * 0x1.921fb544p+0;
  if constexpr (Short) return {a - j.value * 0x1.0b4611a626331p-34, X(0), j.bits};
  auto b = two_sum(a, -(j.value * 0x1.0b4611a6p-34));
  auto c = two_sum(b.hi, -(j.value * 0x1.3198a2ep-69));
  return {c.hi, (b.lo + c.lo) - j.value * 0x1.b839a252049c1p-104, j.bits};
}

// sin and cos of hi + lo, |hi| <= pi/4; the forms with lo are those of FreeBSD's msun k_sin.c and k_cos.c.
template <bool Short, int N>
TARN_INLINE V<double, N> sin_reduced(V<double, N> x, V<double, N> lo) {
  V<double, N> z = x * x;
  if constexpr (Short) {
    constexpr double kSin[] = {-0.166666666406131003, 0.00833332926673980279, -0.000198392961332973867,
                               2.71793991569524444e-6};
    return x + x * z * polynomial(z, kSin);
  } else {
    constexpr double kSin[] = {0.00833333333332186906, -0.000198412698293528888, 2.7557313528127714e-6,
                               -2.50507316143995694e-8, 1.58952137740359359e-10};
    V<double, N> v = z * x;
    return x - ((z * (0.5 * lo - v * polynomial(z, kSin)) - lo) - v * -0.166666666666666299);
  }
}
template <bool Short, int N>
TARN_INLINE V<double, N> cos_reduced(V<double, N> x, V<double, N> lo) {
  V<double, N> z = x * x, h = 0.5 * z, w = 1 - h;
  if constexpr (Short) {
    constexpr double kCos[] = {0.0416666462687114785, -0.00138873370846247822, 0.0000244348461928687139};
    return w + z * z * polynomial(z, kCos);
  } else {
    constexpr double kCos[] = {0.0416666666666665954,  -0.00138888888888733874, 0.0000248015872890016442,
                               -2.7557314208064888e-7, 2.08757029803599578e-9,  -1.13585643063782361e-11};
    return w + (((1 - w) - h) + (z * z * polynomial(z, kCos) - x * lo));
  }
}

// sin(x + shift pi/2).
template <bool Short, int N>
TARN_INLINE V<double, N> sin_shifted(V<double, N> x, int shift) {
  auto r = trig_reduce<Short>(x);
  V<int64_t, N> q = r.quadrant + shift;
  V<double, N> y = where((q & 1) == 0, sin_reduced<Short>(r.hi, r.lo), cos_reduced<Short>(r.hi, r.lo));
  y = where((q & 2) == 0, y, -y);
  if (shift == 0) y = where(x == 0, x, y);
  auto far = ~(abs(x) < kTrigLimit);
  if (__builtin_expect(any(far), 0)) {
    // Lane by lane; infinity and NaN give NaN.
    for (int i = 0; i < N; i++)
      if (far.lane(i)) y.set_lane(i, shift ? __builtin_cos(x.lane(i)) : __builtin_sin(x.lane(i)));
  }
  return y;
}

template <int N>
TARN_INLINE V<double, N> sin(V<double, N> x) {
  return sin_shifted<false>(x, 0);
}
template <int N>
TARN_INLINE V<double, N> cos(V<double, N> x) {
  return sin_shifted<false>(x, 1);
}
template <int N>
TARN_INLINE V<float, N> sin(V<float, N> x) {
  return in_double(x, [](auto d) { return sin_shifted<true>(d, 0); });
}
template <int N>
TARN_INLINE V<float, N> cos(V<float, N> x) {
  return in_double(x, [](auto d) { return sin_shifted<true>(d, 1); });
}

template <int N>
TARN_INLINE V<double, N> tan(V<double, N> x) {
  auto r = trig_reduce<false>(x);
  V<double, N> s = sin_reduced<false>(r.hi, r.lo), c = cos_reduced<false>(r.hi, r.lo);
  auto even = (r.quadrant & 1) == 0;
  V<double, N> y = where(even, s, -c) / where(even, c, s);
  y = where(abs(x) < 1e-9, x, y);
  auto far = ~(abs(x) < kTrigLimit);
  if (__builtin_expect(any(far), 0))
    for (int i = 0; i < N; i++)
      if (far.lane(i)) y.set_lane(i, __builtin_tan(x.lane(i)));
  return y;
}

// --- Inverses ---

// atan of 0 <= x <= 1: above tan(pi/8) by the addition theorem, atan(x) = pi/4 + atan((x - 1) / (x + 1)).
template <int N>
TARN_INLINE V<double, N> atan_unit(V<double, N> x) {
  constexpr double kAtan[] = {-0.333333333333331849,  0.199999999999497255,   -0.142857142797883924,
                              0.111111107622173081,   -0.0909089712556976741, 0.0769204862941362736,
                              -0.0666296884073900511, 0.0584688209482456408,  -0.0503466948291922043,
                              0.0379445242534743663,  -0.0177734590371890674};
  auto upper = x > 0.41421356237309503;
  V<double, N> t = where(upper, (x - 1) / (x + 1), x), z = t * t;
  V<double, N> tail = t * z * polynomial(z, kAtan);
  return where(upper, kQuarterPi + (t + (tail + 0.5 * kHalfPiLo)), t + tail);
}
template <int N>
TARN_INLINE V<double, N> atan(V<double, N> x) {
  V<double, N> a = abs(x);
  auto inverse = a > 1;
  V<double, N> y = atan_unit(where(inverse, 1 / a, a));
  y = where(inverse, kHalfPi - (y - kHalfPiLo), y);
  return where(isnan(x), x, copysign(y, x));
}
template <int N>
TARN_INLINE V<double, N> atan2(V<double, N> y, V<double, N> x) {
  using X = V<double, N>;
  constexpr double inf = __builtin_inf();
  X a = abs(y), b = abs(x);
  auto steep = a > b;
  X q = where(steep, b, a) / where(steep, a, b);
  q = where((a == 0) & (b == 0), X(0), where((a == inf) & (b == inf), X(1), q));
  X r = atan_unit(q);
  r = where(steep, kHalfPi - (r - kHalfPiLo), r);
  r = where(signbit(x), kPi - (r - 2 * kHalfPiLo), r);
  return where(isnan(x), x, where(isnan(y), y, copysign(r, y)));
}

// asin(x) / x - 1 as a function of z = x^2 <= 1/4.
template <int N>
TARN_INLINE V<double, N> asin_tail(V<double, N> z) {
  constexpr double kAsin[] = {0.16666666666666763,   0.0749999999997009324, 0.0446428571752903792,
                              0.0303819426750989773, 0.0223722159103902234, 0.0173515954288177068,
                              0.0139810192926712739, 0.0113972875431763703, 0.0107893487071928093,
                              0.0036720915943839314, 0.0217908526177944527, -0.0211169832702464483,
                              0.0327023125095647646};
  return z * polynomial(z, kAsin);
}
// For |x| > 1/2 from the half angle: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). Out of [-1, 1] sqrt gives
// NaN.
template <int N>
TARN_INLINE V<double, N> asin(V<double, N> x) {
  V<double, N> a = abs(x);
  auto outer = a > 0.5;
  V<double, N> z = where(outer, (1 - a) * 0.5, a * a), s = where(outer, sqrt(z), a), t = s * asin_tail(z);
  V<double, N> y = where(outer, kHalfPi - (2 * (s + t) - kHalfPiLo), s + t);
  return copysign(y, x);
}
template <int N>
TARN_INLINE V<double, N> acos(V<double, N> x) {
  V<double, N> a = abs(x);
  auto outer = a > 0.5;
  V<double, N> z = where(outer, (1 - a) * 0.5, a * a), s = where(outer, sqrt(z), x), t = s * asin_tail(z);
  V<double, N> half_angle = 2 * (s + t);
  V<double, N> y = where(x > 0, half_angle, kPi - (half_angle - 2 * kHalfPiLo));
  return where(outer, y, kHalfPi - (s - (kHalfPiLo - t)));
}

}  // namespace tarn::inline v1::TARN_ISA
