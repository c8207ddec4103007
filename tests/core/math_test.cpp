// The elementary functions of core/cpu/math.h, reached through the kernels of the pointwise rows: errors in
// ULP against the C library in higher precision, special values, and the same bits from every instruction
// set, vector length and tail.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <tarn/core/cpu/features.h>
#include <tarn/core/cpu/pointwise_kernels.h>
#include <tarn/core/dtype.h>
#include <tarn_config.h>

#include <tarn/tests/catch.h>

namespace {

using namespace tarn;
using detail::CpuIsa;
using generic::RowId;

struct Function {
  const char* name;
  RowId row;
  long double (*exact)(long double);
  double (*exact_f32)(double);  // precise enough to judge floats
  double ulp;                   // promised bound
  std::vector<double> near;     // break points of the implementation
};

const std::vector<Function>& functions() {
  static const std::vector<Function> table = {
      {"exp", RowId::kRow_exp, expl, exp, 2, {-745.2, -708.4, -103.97, -87.34, 0, 88.72, 709.78}},
      {"exp2", RowId::kRow_exp2, exp2l, exp2, 4, {-1074, -149, -126, 0, 128, 1024}},
      {"expm1", RowId::kRow_expm1, expm1l, expm1, 4, {-40, -0.3466, 0, 0.3466, 88.72, 709.78}},
      {"log", RowId::kRow_log, logl, log, 2, {0.7071, 1, 1.4142}},
      {"log2", RowId::kRow_log2, log2l, log2, 4, {0.7071, 1, 1.4142, 2}},
      {"log10", RowId::kRow_log10, log10l, log10, 4, {0.7071, 1, 1.4142, 10}},
      {"log1p", RowId::kRow_log1p, log1pl, log1p, 4, {-1, -0.29, 0, 0.41, 1}},
      {"sin", RowId::kRow_sin, sinl, sin, 4, {0, 0.7854, 1.5708, 3.14159265, 6.2831853, 1e6, -1e6}},
      {"cos", RowId::kRow_cos, cosl, cos, 4, {0, 0.7854, 1.5708, 3.14159265, 6.2831853, 1e6, -1e6}},
      {"tan", RowId::kRow_tan, tanl, tan, 4, {0, 0.7854, 1.5708, 3.14159265, 1e6}},
      {"asin", RowId::kRow_asin, asinl, asin, 4, {-1, -0.5, 0, 0.5, 1}},
      {"acos", RowId::kRow_acos, acosl, acos, 4, {-1, -0.5, 0, 0.5, 1}},
      {"atan", RowId::kRow_atan, atanl, atan, 4, {-1, -0.4142, 0, 0.4142, 1, 2.4142}},
      {"sinh", RowId::kRow_sinh, sinhl, sinh, 4, {0, 1, 22, 89.4, 710.4}},
      {"cosh", RowId::kRow_cosh, coshl, cosh, 4, {0, 1, 22, 89.4, 710.4}},
      {"tanh", RowId::kRow_tanh, tanhl, tanh, 2, {0, 0.55, -0.55, 9.01, 19.06, 22}},
      {"asinh", RowId::kRow_asinh, asinhl, asinh, 4, {0, 1, 1e8}},
      {"acosh", RowId::kRow_acosh, acoshl, acosh, 4, {1, 2, 1e8}},
      {"atanh", RowId::kRow_atanh, atanhl, atanh, 4, {-1, 0, 0.5, 1}},
      {"erf", RowId::kRow_erf, erfl, erf, 2, {0, 1, -1, 3.92, 5.92}},
      {"erfc", RowId::kRow_erfc, erfcl, erfc, 4, {-1, 0, 0.5, 10.05, 26.5, 27.2}},
  };
  return table;
}

template <class T>
const detail::PointwiseTable& table([[maybe_unused]] CpuIsa isa) {
  constexpr bool f32 = std::is_same_v<T, float>;
#if TARN_HAS_V3
  if (isa == CpuIsa::V3) return f32 ? v3::pointwise_f32 : v3::pointwise_f64;
#endif
#if TARN_HAS_V4
  if (isa == CpuIsa::V4) return f32 ? v4::pointwise_f32 : v4::pointwise_f64;
#endif
  return f32 ? generic::pointwise_f32 : generic::pointwise_f64;
}
std::vector<CpuIsa> isas() {
  std::vector<CpuIsa> list = {CpuIsa::Generic};
  [[maybe_unused]] CpuIsa best = detail::choose_isa(nullptr, detail::cpu_best_isa());
#if TARN_HAS_V3
  if (best >= CpuIsa::V3) list.push_back(CpuIsa::V3);
#endif
#if TARN_HAS_V4
  if (best >= CpuIsa::V4) list.push_back(CpuIsa::V4);
#endif
  return list;
}

template <class T>
std::vector<T> run(CpuIsa isa, RowId row, const std::vector<T>& a, const std::vector<T>& b = {}) {
  std::vector<T> out(a.size());
  const void* in[generic::kSlots] = {nullptr, a.data(), b.data(), nullptr, nullptr};
  table<T>(isa).kernels[row][0](out.data(), in, nullptr, int64_t(a.size()));
  return out;
}

template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

// How far `got` is from `exact`, in units of the last place of the result's type there.
template <class T>
double ulps(T got, long double exact) {
  T rounded = T(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent;
  long double ulp = std::ldexp(1.0L, std::max(rounded == 0 ? lowest : exponent, lowest) - digits);
  return double(std::fabs((long double)got - exact) / ulp);
}

// Every `step`-th float by its bits.
std::vector<float> floats(uint64_t step) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step)
    values.push_back(std::bit_cast<float>(uint32_t(bits)));
  return values;
}
// Doubles of all exponents, and most of them where functions are not trivial.
std::vector<double> doubles(int count) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<double>(random()));
    for (double range : {1.0, 3.0, 30.0, 800.0}) values.push_back(range * unit(random));
    values.push_back(std::ldexp(unit(random), -int(random() % 60)));
    values.push_back(1 + std::ldexp(unit(random), -int(random() % 52)));
  }
  return values;
}
// The numbers next to `centre`, in T.
template <class T>
void add_neighbours(std::vector<T>& values, double centre, int count) {
  T up = T(centre), down = up;
  values.push_back(up);
  for (int i = 0; i < count; ++i) {
    up = std::nextafter(up, T(INFINITY)), down = std::nextafter(down, T(-INFINITY));
    values.push_back(up), values.push_back(down);
  }
}

const double kSpecial[] = {0.0,
                           -0.0,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           2,
                           4e-324,
                           -4e-324,
                           1e-310,
                           1e-45,
                           1e-39,
                           1e-300,
                           1e300,
                           -1e300,
                           1e-30,
                           1e30,
                           1.7976931348623157e308,
                           3.4028234663852886e38};

struct Worst {
  double ulp = 0;
  double at = 0;
};
template <class T>
Worst worst_error(const Function& f, std::vector<T> values) {
  for (double x : kSpecial) values.push_back(T(x));
  for (double x : f.near) add_neighbours<T>(values, x, 400);
  std::vector<T> got = run<T>(isas().back(), f.row, values);
  Worst worst;
  for (size_t i = 0; i < values.size(); ++i) {
    long double exact = std::is_same_v<T, float> ? f.exact_f32(values[i]) : f.exact(values[i]);
    double e = ulps(got[i], exact);
    if (e > worst.ulp) worst = {e, double(values[i])};
  }
  return worst;
}

void check_table(uint64_t float_step, int double_count) {
  std::vector<float> f32 = floats(float_step);
  std::vector<double> f64 = doubles(double_count);
  std::printf("%-8s %10s %24s %10s %24s\n", "function", "f32 ULP", "at", "f64 ULP", "at");
  for (const Function& f : functions()) {
    Worst a = worst_error<float>(f, f32), b = worst_error<double>(f, f64);
    std::printf("%-8s %10.3f %24.9g %10.3f %24.17g\n", f.name, a.ulp, a.at, b.ulp, b.at);
    INFO(f.name);
    CHECK(a.ulp <= f.ulp);
    CHECK(b.ulp <= f.ulp);
  }
}

}  // namespace

TEST_CASE("elementary functions keep their error bounds") { check_table(65537, 2000); }
TEST_CASE("elementary functions keep their error bounds on every 257th float", "[slow]") {
  check_table(257, 100000);
}

TEST_CASE("elementary functions give the same bits on every instruction set, length and tail") {
  std::vector<float> f32 = floats(1048573);
  std::vector<double> f64 = doubles(200);
  for (double x : kSpecial) f32.push_back(float(x)), f64.push_back(x);
  auto check_type = [&]<class T>(const std::vector<T>& values) {
    for (const Function& f : functions()) {
      INFO(f.name);
      std::vector<T> want = run<T>(CpuIsa::Generic, f.row, values);
      int different = 0;
      for (CpuIsa isa : isas()) {
        std::vector<T> got = run<T>(isa, f.row, values);
        for (size_t i = 0; i < values.size(); ++i) different += !same_bits(got[i], want[i]);
        for (size_t i = 0; i + 23 < values.size(); i += 211) {  // tails of 1 to 23
          size_t n = 1 + i % 23;
          got = run<T>(isa, f.row, std::vector<T>(values.begin() + i, values.begin() + i + n));
          for (size_t k = 0; k < n; ++k) different += !same_bits(got[k], want[i + k]);
        }
      }
      CHECK(different == 0);
    }
  };
  check_type(f32);
  check_type(f64);
}

TEST_CASE("pow and atan2 keep their error bounds") {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  auto check_type = [&]<class T>(T) {
    std::vector<T> x, y;
    for (int i = 0; i < 40000; ++i) {
      // Bases and exponents whose power is in range, whatever their size.
      T base = T(std::exp(unit(random) * (i % 2 ? 80 : 1e-3)));
      x.push_back(base),
          y.push_back(T(unit(random) * 85 / std::max(1e-4, std::fabs(std::log(double(base))))));
    }
    std::vector<T> p = run<T>(isas().back(), RowId::kRow_pow, x, y),
                   a = run<T>(isas().back(), RowId::kRow_atan2, y, x);
    double worst_pow = 0, worst_atan2 = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      worst_pow = std::max(worst_pow, ulps(p[i], powl(x[i], y[i])));
      worst_atan2 = std::max(worst_atan2, ulps(a[i], atan2l(y[i], x[i])));
    }
    std::printf("%-8s %10.3f\n%-8s %10.3f\n", "pow", worst_pow, "atan2", worst_atan2);
    CHECK(worst_pow <= 2);
    CHECK(worst_atan2 <= 4);
  };
  check_type(1.0f);
  check_type(1.0);
}

TEST_CASE("pow, atan2, fmod treat special values as C does") {
  std::vector<double> values(std::begin(kSpecial), std::end(kSpecial));
  for (double v : {3.0, -3.0, 4.0, -4.0, 2.5, -2.5, 0.25, 9007199254740991.0, -9007199254740991.0})
    values.push_back(v);
  std::vector<double> x, y;
  for (double a : values)
    for (double b : values) x.push_back(a), y.push_back(b);
  for (CpuIsa isa : isas()) {
    std::vector<double> p = run(isa, RowId::kRow_pow, x, y), a = run(isa, RowId::kRow_atan2, x, y);
    std::vector<double> m = run(isa, RowId::kRow_fmod, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i] << " " << y[i]);
      double want = std::pow(x[i], y[i]);
      CHECK((same_bits(p[i], want) || ulps(p[i], want) <= 2));
      CHECK(std::signbit(p[i]) == std::signbit(std::isnan(p[i]) ? p[i] : want));
      want = std::atan2(x[i], y[i]);
      CHECK((same_bits(a[i], want) || ulps(a[i], want) <= 2));
      CHECK(same_bits(m[i], std::fmod(x[i], y[i])));
    }
  }
}

TEST_CASE("odd functions keep the sign of zero and rounding follows IEEE 754") {
  std::vector<double> x = {
      0.0,   -0.0,     0.5,      -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 4503599627370497.5,
      1e300, INFINITY, -INFINITY};
  for (CpuIsa isa : isas()) {
    for (RowId row : {RowId::kRow_sin, RowId::kRow_tan, RowId::kRow_asin, RowId::kRow_atan, RowId::kRow_sinh,
                      RowId::kRow_tanh, RowId::kRow_asinh, RowId::kRow_atanh, RowId::kRow_expm1,
                      RowId::kRow_log1p, RowId::kRow_erf})
      CHECK(same_bits(run(isa, row, x)[1], -0.0));
    std::vector<double> nearest = run(isa, RowId::kRow_round, x), down = run(isa, RowId::kRow_floor, x);
    std::vector<double> up = run(isa, RowId::kRow_ceil, x), cut = run(isa, RowId::kRow_trunc, x);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      CHECK(same_bits(nearest[i], std::nearbyint(x[i])));
      CHECK(same_bits(down[i], std::floor(x[i])));
      CHECK(same_bits(up[i], std::ceil(x[i])));
      CHECK(same_bits(cut[i], std::trunc(x[i])));
    }
  }
}

TEST_CASE("16-bit floats convert as the scalar types do, on every instruction set") {
  std::vector<float> values = floats(65521);
  for (float x : {65504.0f, 65519.9f, 65520.0f, -65536.0f, 5.9604645e-8f, 2.9802322e-8f, 2.98023259e-8f,
                  6.1035156e-5f, 6.1e-5f})
    values.push_back(x);
  for (CpuIsa isa : isas()) {
    std::vector<uint16_t> half(values.size()), brain(values.size());
    table<float>(isa).store[int(kHalf)](half.data(), values.data(), 1, int64_t(values.size()));
    table<float>(isa).store[int(kBFloat16)](brain.data(), values.data(), 1, int64_t(values.size()));
    std::vector<float> back(values.size());
    table<float>(isa).load[int(kHalf)](back.data(), half.data(), 1, int64_t(values.size()));
    int wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        wrong += !std::isnan(back[i]) || !std::isnan(detail::float_from_bfloat16(brain[i]));
        continue;
      }
      wrong += half[i] != Half(values[i]).bits || brain[i] != BFloat16(values[i]).bits;
      wrong += !same_bits(back[i], detail::float_from_half(half[i]));
    }
    CHECK(wrong == 0);
  }
}
