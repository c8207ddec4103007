// exp, logarithms and pow on V<float, N> and V<double, N>. See math.h for what all of these promise.
#pragma once
#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

// c[0] + c[1] x + c[2] x^2 ..., by Horner's rule. Coefficients are printed by math_fit.py.
template <class T, int N, int Count>
TARN_INLINE V<T, N> polynomial(V<T, N> x, const T (&c)[Count]) {
  V<T, N> y(c[Count - 1]);
  for (int i = Count - 2; i >= 0; i--) y = y * x + c[i];
  return y;
}

// --- Sums and products with their rounding errors (Dekker 1971, Knuth) ---

template <class T, int N>
struct Pair {
  V<T, N> hi, lo;  // the value is hi + lo
};

template <class T, int N>
TARN_INLINE Pair<T, N> two_sum(V<T, N> a, V<T, N> b) {
  V<T, N> s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// The same where |a| >= |b|.
template <class T, int N>
TARN_INLINE Pair<T, N> fast_two_sum(V<T, N> a, V<T, N> b) {
  V<T, N> s = a + b;
  return {s, b - (s - a)};
}
// The error of a product is a double itself, so fma and Dekker's splitting give the same.
template <int N>
TARN_INLINE Pair<double, N> two_product(V<double, N> a, V<double, N> b) {
  V<double, N> p = a * b;
#if defined(__FMA__)
  return {p, fma(a, b, -p)};
#else
  V<double, N> ta = a * 134217729.0, tb = b * 134217729.0;  // 2^27 + 1
  V<double, N> ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

// --- Powers of two ---

template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr float kMagic =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  static constexpr float kMinNormal = 1.17549435e-38f, kScaleUp = 16777216.0f;
  static constexpr int kScaleBits = 24;
};
template <>
struct Format<double> {
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kMagic = 6755399441055744.0;
  static constexpr double kMinNormal = 2.2250738585072014e-308, kScaleUp = 18014398509481984.0;
  static constexpr int kScaleBits = 54;
};

// An integer as a float and in the low bits of an integer.
template <class T, int N>
struct Whole {
  V<T, N> value;
  V<IntOf<sizeof(T)>, N> bits;
};
// The integer nearest to x, |x| < 2^20.
template <class T, int N>
TARN_INLINE Whole<T, N> nearest(V<T, N> x) {
  using I = IntOf<sizeof(T)>;
  V<T, N> t = x + Format<T>::kMagic;
  return {t - Format<T>::kMagic, bit_cast<I>(t) - V<I, N>(__builtin_bit_cast(I, Format<T>::kMagic))};
}
template <class T, int N>
TARN_INLINE V<T, N> small_int_to_float(V<IntOf<sizeof(T)>, N> n) {
  using I = IntOf<sizeof(T)>;
  return bit_cast<T>(n + V<I, N>(__builtin_bit_cast(I, Format<T>::kMagic))) - Format<T>::kMagic;
}

template <class T, int N>
TARN_INLINE V<T, N> power_of_two(V<IntOf<sizeof(T)>, N> n) {
  return bit_cast<T>((n + Format<T>::kBias) << Format<T>::kMantissa);
}
// x * 2^n in two exact steps and one rounding, so that subnormal results are right.
template <class T, int N>
TARN_INLINE V<T, N> scale(V<T, N> x, V<IntOf<sizeof(T)>, N> n) {
  auto half = shift_right_logical(n + 4096, 1) - 2048;
  return x * power_of_two<T, N>(half) * power_of_two<T, N>(n - half);
}

// --- exp ---

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kLog2e = 1.44269502f, kLn2 = 0.693147182f, kLn2Hi = 0.6923828125f,
                         kLn2Lo = 0.000764368060f;
  static constexpr float kMin = -105, kMax = 89;
  static constexpr float kTail[] = {0.4999999263f, 0.1666650872f, 0.04166852827f, 0.008370134799f,
                                    0.001381166261f};
};
template <>
struct ExpConstants<double> {
  static constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453;
  static constexpr double kLn2Hi = 0x1.62e42fefp-1, kLn2Lo = 0x1.473de6af278edp-34;
  static constexpr double kMin = -746, kMax = 710;
  static constexpr double kTail[] = {0.500000000000001288,     0.166666666666663574,   0.041666666666507263,
                                     0.00833333333352193516,   0.00138888889504071075, 0.00019841269464515266,
                                     0.0000248014854568435311, 2.75576084203246463e-6, 2.763315469276672e-7,
                                     2.49979077759790733e-8};
};

// e^r - 1 for |r| <= ln(2) / 2, to about an ulp of 1.
template <class T, int N>
TARN_INLINE V<T, N> expm1_reduced(V<T, N> r) {
  return r + r * r * polynomial(r, ExpConstants<T>::kTail);
}

template <class T, int N>
struct ExpReduced {
  V<T, N> r;  // x - n ln(2)
  V<IntOf<sizeof(T)>, N> n;
};
template <class T, int N>
TARN_INLINE ExpReduced<T, N> exp_reduce(V<T, N> x) {
  using C = ExpConstants<T>;
  // Beyond these the result is 0 or infinity anyway; NaN fails both comparisons and stays.
  x = where(x < C::kMin, V<T, N>(C::kMin), where(x > C::kMax, V<T, N>(C::kMax), x));
  auto n = nearest(x * C::kLog2e);
  return {(x - n.value * C::kLn2Hi) - n.value * C::kLn2Lo, n.bits};
}

template <class T, int N>
TARN_INLINE V<T, N> exp(V<T, N> x) {
  auto e = exp_reduce(x);
  return scale(1 + expm1_reduced(e.r), e.n);
}
// exp(x) / 2, finite up to where sinh and cosh are.
template <class T, int N>
TARN_INLINE V<T, N> half_exp(V<T, N> x) {
  using C = ExpConstants<T>;
  auto n = nearest(where(x > C::kMax + 2, V<T, N>(C::kMax + 2), x) * C::kLog2e);
  V<T, N> r = (x - n.value * C::kLn2Hi) - n.value * C::kLn2Lo;
  return where(x > C::kMax + 1, V<T, N>(T(__builtin_inf())), scale(1 + expm1_reduced(r), n.bits - 1));
}
// exp(hi + lo) for |lo| tiny beside hi.
template <int N>
TARN_INLINE V<double, N> exp_pair(V<double, N> hi, V<double, N> lo) {
  auto e = exp_reduce(hi);
  return scale(1 + expm1_reduced(e.r + lo), e.n);
}

template <int N>
TARN_INLINE V<double, N> exp2(V<double, N> x) {
  x = where(x < -1080, V<double, N>(-1080), where(x > 1025, V<double, N>(1025), x));
  auto n = nearest(x);
  return scale(1 + expm1_reduced((x - n.value) * ExpConstants<double>::kLn2), n.bits);
}

// 2^n (e^r - 1) + (2^n - 1), everything halved meanwhile, for 2^1024 is infinite.
template <int N>
TARN_INLINE V<double, N> expm1(V<double, N> x) {
  auto e = exp_reduce(where(x < -40, V<double, N>(-40), x));
  V<double, N> m = expm1_reduced(e.r), s = power_of_two<double, N>(e.n - 1);
  V<double, N> y = 2 * (s * m + (s - 0.5));
  y = where(e.n == 0, m, y);
  return where(abs(x) < 1e-17, x, y);  // keeps -0 and subnormals
}

// --- Logarithms ---

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); x positive and finite.
template <class T, int N>
struct LogReduced {
  V<T, N> k, f;
};
template <class T, int N>
TARN_INLINE LogReduced<T, N> log_reduce(V<T, N> x) {
  using F = Format<T>;
  using I = IntOf<sizeof(T)>;
  constexpr I kSqrtHalf = same<T, float> ? I(0x3f3504f3) : I(0x3fe6a09e667f3bcd);
  constexpr I kBig = I(F::kBias + 1) << F::kMantissa;
  auto subnormal = x < F::kMinNormal;
  x = where(subnormal, x * F::kScaleUp, x);
  auto bits = bit_cast<I>(x);
  auto k = shift_right_logical(bits - V<I, N>(kSqrtHalf) + V<I, N>(kBig), F::kMantissa) - (F::kBias + 1);
  V<T, N> f = bit_cast<T>(bits - (k << F::kMantissa)) - 1;
  V<T, N> kf = small_int_to_float<T, N>(k);
  return {where(subnormal, kf - F::kScaleBits, kf), f};
}
// The logarithm of what log_reduce cannot take.
template <class T, int N>
TARN_INLINE V<T, N> log_special(V<T, N> x, V<T, N> y) {
  constexpr T inf = T(__builtin_inf());
  y = where(x < inf, y, x);  // infinity and NaN
  y = where(x == 0, V<T, N>(-inf), y);
  return where(x < 0, V<T, N>(T(__builtin_nan(""))), y);
}

// With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + z L(z))), z = s^2. The form is that of FreeBSD's
// msun e_log.c.
constexpr double kLogSeries[] = {0.666666666666673938, 0.39999999999377965,  0.285714287513049773,
                                 0.222221975872102559, 0.181836189926022841, 0.153125698163619211,
                                 0.148115404522979748};
template <int N>
struct LogParts {
  V<double, N> half_square, rest;  // log(1 + f) = f - (half_square - rest)
};
template <int N>
TARN_INLINE LogParts<N> log_parts(V<double, N> f) {
  V<double, N> s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  return {h, s * (h + z * polynomial(z, kLogSeries))};
}

template <int N>
TARN_INLINE V<double, N> log(V<double, N> x) {
  using C = ExpConstants<double>;
  auto r = log_reduce(x);
  auto p = log_parts(r.f);
  return log_special(x, r.k * C::kLn2Hi - ((p.half_square - (p.rest + r.k * C::kLn2Lo)) - r.f));
}
template <int N>
TARN_INLINE V<float, N> log(V<float, N> x) {
  using C = ExpConstants<float>;
  constexpr float kTail[] = {0.3333331064f,  -0.2500000997f, 0.200022721f,   -0.1666810961f, 0.1421621276f,
                             -0.1240097424f, 0.119099535f,   -0.1171596536f, 0.06746408443f};
  auto r = log_reduce(x);
  V<float, N> f = r.f, z = f * f;
  V<float, N> low = f * z * polynomial(f, kTail) + r.k * C::kLn2Lo;
  return log_special(x, r.k * C::kLn2Hi + (f + (low - 0.5f * z)));
}

// log(1 + x): near 0 from x itself, else from u = 1 + x with the rounding error of u put back.
template <int N>
TARN_INLINE V<double, N> log1p(V<double, N> x) {
  using C = ExpConstants<double>;
  auto near = (x > -0.29) & (x < 0.41);
  V<double, N> u = 1 + x;
  auto r = log_reduce(u);
  V<double, N> c = where(x > 1, 1 - (u - x), x - (u - 1)) / u;
  V<double, N> f = where(near, x, r.f), k = where(near, V<double, N>(0), r.k);
  c = where(near | ~(u < 9007199254740992.0), V<double, N>(0), c);
  auto p = log_parts(f);
  V<double, N> y = k * C::kLn2Hi - ((p.half_square - (p.rest + (k * C::kLn2Lo + c))) - f);
  y = log_special(u, y);
  return where(abs(x) < 1e-17, x, y);
}

// log(1 + f) as hi, of which the low half is 0, and lo: products of hi with a 32-bit constant are exact.
template <int N>
TARN_INLINE Pair<double, N> log_split(V<double, N> f) {
  auto p = log_parts(f);
  V<double, N> hi = f - p.half_square;
  hi = bit_cast<double>(bit_cast<int64_t>(hi) & V<int64_t, N>(int64_t(0xffffffff00000000)));
  return {hi, ((f - hi) - p.half_square) + p.rest};
}

template <int N>
TARN_INLINE V<double, N> log2(V<double, N> x) {
  constexpr double kHi = 0x1.71547652p+0, kLo = 0x1.705fc2eefa2p-33;  // 1 / ln(2)
  auto r = log_reduce(x);
  auto l = log_split(r.f);
  V<double, N> hi = l.hi * kHi, lo = (l.lo + l.hi) * kLo + l.lo * kHi;
  auto sum = fast_two_sum(r.k, hi);
  // Where k is 0 the sum is exact in either order.
  return log_special(x, (lo + where(r.k == 0, V<double, N>(0), sum.lo)) + where(r.k == 0, hi, sum.hi));
}
template <int N>
TARN_INLINE V<double, N> log10(V<double, N> x) {
  constexpr double kHi = 0x1.bcb7b152p-2, kLo = 0x1.b9438ca9aadd5p-36;          // 1 / ln(10)
  constexpr double kTwoHi = 0x1.34413509f7p-2, kTwoLo = 0x1.3fde623e2566bp-43;  // log10(2)
  auto r = log_reduce(x);
  auto l = log_split(r.f);
  V<double, N> hi = l.hi * kHi, lo = r.k * kTwoLo + (l.lo + l.hi) * kLo + l.lo * kHi;
  auto sum = two_sum(r.k * kTwoHi, hi);
  return log_special(x, (lo + sum.lo) + sum.hi);
}

// --- pow ---

// log(x) to about 2^-66, for x positive and finite: 2 atanh(s), s = f / (2 + f), its first two terms in
// double double.
template <int N>
TARN_INLINE Pair<double, N> log_pair(V<double, N> x) {
  using C = ExpConstants<double>;
  using X = V<double, N>;
  constexpr double kRest[] = {0.399999999999999803, 0.285714285714439602, 0.22222222217710434,
                              0.181818188580200729, 0.153845572570554253, 0.133363158394272593,
                              0.116746390161509095, 0.119919245556580794};
  auto r = log_reduce(x);
  auto g = fast_two_sum(X(2), r.f);
  X s = r.f / g.hi;
  auto sg = two_product(s, g.hi);
  X s_lo = (((r.f - sg.hi) - sg.lo) - s * g.lo) / g.hi;
  auto zz = two_product(s, s);
  X z = zz.hi, z_lo = zz.lo + 2 * s * s_lo;
  auto c = fast_two_sum(X(2.0 / 3.0), z * polynomial(z, kRest));
  c.lo = c.lo + 0x1.5555555555555p-55;
  auto u = two_product(z, c.hi);
  u.lo = u.lo + (z * c.lo + z_lo * c.hi);
  auto v = two_product(s, u.hi);
  v.lo = v.lo + (s * u.lo + s_lo * u.hi);
  auto l = fast_two_sum(2 * s, v.hi);
  l.lo = l.lo + (2 * s_lo + v.lo);
  auto sum = two_sum(r.k * C::kLn2Hi, l.hi);
  return fast_two_sum(sum.hi, sum.lo + (l.lo + r.k * C::kLn2Lo));
}

// `Exact`: for a double result; else y log(x) in plain double, which is enough for float.
template <bool Exact, int N>
TARN_INLINE V<double, N> pow_magnitude(V<double, N> x, V<double, N> y) {
  using X = V<double, N>;
  // Larger exponents change nothing, but would overflow in two_product.
  constexpr double kBig = 0x1p66;
  y = where(y > kBig, X(kBig), where(y < -kBig, X(-kBig), y));
  auto usable = (x > 0) & (x < __builtin_inf());
  X base = where(usable, x, X(1));
  if constexpr (!Exact) return exp(y * log(base));
  auto l = log_pair(base);
  auto p = two_product(y, l.hi);
  p.lo = p.lo + y * l.lo;
  p.lo = where(abs(p.hi) < 800, p.lo, X(0));
  return exp_pair(p.hi, p.lo);
}

template <bool Exact, int N>
TARN_INLINE V<double, N> pow_double(V<double, N> x, V<double, N> y) {
  using X = V<double, N>;
  constexpr double inf = __builtin_inf();
  X a = abs(x), m = pow_magnitude<Exact>(a, y);
  m = where(a == 0, where(y < 0, X(inf), X(0)), m);
  m = where(a == inf, where(y < 0, X(0), X(inf)), m);
  m = where(isinf(y), where((a > 1) ^ (y > 0), X(0), X(inf)), m);
  auto integer = floor(y) == y;
  auto odd = integer & (floor(y * 0.5) * 2 != y) & (abs(y) < inf);
  auto negative = signbit(x);
  m = where(negative & odd, -m, m);
  m = where(negative & ~integer & (a > 0) & (a < inf), X(__builtin_nan("")), m);
  m = where(isnan(x), x, where(isnan(y), y, m));
  return where((y == 0) | (x == 1) | ((x == -1) & isinf(y)), X(1), m);
}

}  // namespace tarn::inline v1::TARN_ISA
