// Hyperbolic functions, their inverses, erf and erfc on V<float, N> and V<double, N>. See math.h.
#pragma once
#include <tarn/core/cpu/math_exp.h>

namespace tarn::inline v1::TARN_ISA {

template <int N>
TARN_INLINE V<double, N> sinh(V<double, N> x) {
  V<double, N> a = abs(x), t = expm1(where(a > 30, V<double, N>(30), a));
  V<double, N> y = where(a < 1, 2 * t - t * t / (t + 1), t + t / (t + 1)) * 0.5;
  y = where(a > 22, half_exp(a), y);
  return where(a < 1e-9, x, copysign(y, x));
}
template <int N>
TARN_INLINE V<double, N> cosh(V<double, N> x) {
  V<double, N> h = half_exp(abs(x));
  return h + 0.25 / h;
}

// Near 0 a polynomial; beyond, where 1 - 2 / (e^2x + 1) does not cancel, that.
template <class T>
struct TanhConstants;
template <>
struct TanhConstants<float> {
  static constexpr float kTail[] = {-0.3333331745f, 0.1333257936f, -0.05385130701f, 0.02106646706f,
                                    -0.006265471538f};
};
template <>
struct TanhConstants<double> {
  static constexpr double kTail[] = {
      -0.333333333333332968,    0.133333333333263167,     -0.0539682539635692336,   0.0218694883799795948,
      -0.00886323249897285613,  0.0035920909357849323,    -0.00145553542966558147,  0.000588412520737940531,
      -0.000233296668642959053, 0.0000831898329754873609, -0.0000194135779118495909};
};
template <class T, int N>
TARN_INLINE V<T, N> tanh(V<T, N> x) {
  V<T, N> a = abs(x), z = x * x;
  V<T, N> small = x + x * z * polynomial(z, TanhConstants<T>::kTail);
  auto e = exp_reduce(where(a > 22, V<T, N>(22), a) * 2);
  V<T, N> large = 1 - 2 / (1 + (1 + expm1_reduced(e.r)) * power_of_two<T, N>(e.n));
  return where(a < T(0.55), where(x == 0, x, small), copysign(large, x));
}

template <int N>
TARN_INLINE V<double, N> asinh(V<double, N> x) {
  V<double, N> a = abs(x), b = where(a > 1e8, V<double, N>(1), a);
  V<double, N> y = log1p(b + b * b / (1 + sqrt(b * b + 1)));
  y = where(a > 1e8, log(a) + ExpConstants<double>::kLn2, y);
  return where(a < 1e-9, x, copysign(y, x));
}
template <int N>
TARN_INLINE V<double, N> acosh(V<double, N> x) {
  V<double, N> t = where(x > 1e8, V<double, N>(1), x) - 1;
  V<double, N> y = log1p(t + sqrt(2 * t + t * t));
  y = where(x > 1e8, log(x) + ExpConstants<double>::kLn2, y);
  return where(x < 1, V<double, N>(__builtin_nan("")), y);
}
template <int N>
TARN_INLINE V<double, N> atanh(V<double, N> x) {
  V<double, N> a = abs(x), t = a + a;
  V<double, N> y = 0.5 * log1p(where(a < 0.5, t + t * a / (1 - a), t / (1 - a)));
  return where(a < 1e-9, x, copysign(y, x));
}

// --- erf, erfc ---

// erf(x) / x - 1 as a function of x^2 <= 1.
constexpr double kErf[] = {0.12837916709551257,     -0.376126389031837477,     0.112837916709548577,
                           -0.0268661706450725445,  0.00522397762477379631,    -0.000854832697813543844,
                           0.000120553310078155889, -0.0000149255926491688694, 1.64609566377505725e-6,
                           -1.63498293417258207e-7, 1.46564068665792904e-8,    -1.13594024734777259e-9,
                           5.93375227520348537e-11};
// (1 + 2x) exp(x^2) erfc(x) over t = (x - 2) / (x + 2), x >= 0; the substitution is Schonfelder's (Math.
// Comp. 32, 1978).
constexpr double kErfcx[] = {
    1.27697838155252872,     -0.0927638265857459191,    -0.166030397615288488,     0.164051280033430437,
    -0.0542200009920966183,  -0.00803401508197566211,   0.00872265387724403312,    0.00127133895810930466,
    -0.00145681396718104352, -0.000454340756215850731,  0.000206367367234063185,   0.000151038741632928328,
    -1.51062421858567298e-6, -0.0000364216955830541332, -0.0000134901369533185904, 3.70647906847086098e-6,
    5.21648197826726704e-6,  1.51147001574361942e-6,    -6.79965513618974068e-7,   -8.43756487907002243e-7,
    -2.87033558808726776e-7, 1.44227991381630806e-7,    1.88395309233157624e-7,    2.60969749094127181e-8,
    -4.9838357826790634e-8,  -1.71600089262722526e-8,   6.26511534599837166e-9,    2.57655043386360809e-9,
    -2.18485064545736125e-10};

// erfc of x >= 0.
template <int N>
TARN_INLINE V<double, N> erfc_positive(V<double, N> x) {
  x = where(x > 28, V<double, N>(28), x);  // 0 from 27.3 on
  V<double, N> p = polynomial((x - 2) / (x + 2), kErfcx);
  auto d = two_sum(2 * x, V<double, N>(1));
  V<double, N> q = p / d.hi;
  // What rounding took from the quotient goes into the small part of the exponent.
  auto back = two_product(q, d.hi);
  V<double, N> error = ((p - back.hi) - back.lo - q * d.lo) / p;
  auto square = two_product(x, x);
  return q * exp_pair(-square.hi, error - square.lo);
}
template <int N>
TARN_INLINE V<double, N> erf(V<double, N> x) {
  V<double, N> a = abs(x);
  V<double, N> y = where(a < 1, x + x * polynomial(x * x, kErf), copysign(1 - erfc_positive(a), x));
  return y;
}
template <int N>
TARN_INLINE V<double, N> erfc(V<double, N> x) {
  V<double, N> tail = erfc_positive(abs(x));
  V<double, N> y = where(x < 0, 2 - tail, tail);
  return where(abs(x) < 0.5, 1 - (x + x * polynomial(x * x, kErf)), y);
}

// For 1 <= x <= 4: 1 - exp(-q(x)), q = -log(erfc(x)); from 4 on it rounds to 1.
template <int N>
TARN_INLINE V<float, N> erf(V<float, N> x) {
  constexpr float kSmall[] = {0.128379166f,    -0.3761262646f,   0.112835912f,   -0.02685401369f,
                              0.005188613151f, -0.000801184194f, 7.856475025e-5f};
  constexpr float kLarge[] = {-0.0002727389917f, 1.130015952f,    0.6322501698f,
                              0.1096218546f,     -0.0261216788f,  0.004638563182f,
                              -0.0005672865579f, 4.208645492e-5f, -1.411306719e-6f};
  V<float, N> a = abs(x), b = where(a > 4, V<float, N>(4), a);
  auto e = exp_reduce(-polynomial(b, kLarge));
  V<float, N> large = 1 - (1 + expm1_reduced(e.r)) * power_of_two<float, N>(e.n);
  return where(a < 1, x + x * polynomial(x * x, kSmall), copysign(large, x));
}

}  // namespace tarn::inline v1::TARN_ISA
