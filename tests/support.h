// What every test program shares: tensors whose values come from an integer formula (so that no input has to
// be stored and PyTorch can make the same ones), and comparisons that say where two tensors differ. Nothing
// here calls an op: values are read and written through pointers and strides.
//
//   CHECK_CLOSE(softmax(x, 1), expected);              a tolerance that suits the dtype
//   CHECK_CLOSE(softmax(x, 1), expected, {1e-3, 0});   relative, absolute
//   CHECK_SAME(a, b);                                  bitwise, but for NaN equals NaN
//   CHECK_ERROR(softmax(x, 7), "softmax: dim 7 is outside a tensor of shape [2, 4]");
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <tarn/core/tensor.h>

#include <tarn/tests/catch.h>

namespace tarn::testing {

// |got - want| <= absolute + relative * |want|.
struct Tolerance {
  double relative = -1;  // negative: what suits the dtype
  double absolute = 0;
};

inline Tolerance default_tolerance(ScalarType dtype) {
  switch (dtype) {
    case kDouble:
      return {1e-9, 1e-11};
    case kFloat:
      return {1.3e-5, 1e-6};
    case kHalf:
      return {2e-3, 1e-4};
    case kBFloat16:
      return {1.6e-2, 1e-4};
    default:
      return {0, 0};
  }
}

// Calls f(offset, linear) for each element in row-major order; offset counts elements from the first one.
template <class F>
void for_each_offset(IntArrayRef sizes, IntArrayRef strides, F f) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t linear = 0; linear < count; ++linear) {
    f(offset, linear);
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      at[d] = 0;
    }
  }
}

// The elements in row-major order. T = int64_t keeps large integers exact.
template <class T = double>
std::vector<T> values_of(const Tensor& t) {
  std::vector<T> values(t.numel());
  detail::visit(t.dtype(), "values_of", [&]<class E>(detail::Type<E>) {
    const E* data = static_cast<const E*>(t.data_ptr());
    for_each_offset(t.sizes(), t.strides(), [&](int64_t offset, int64_t i) { values[i] = T(data[offset]); });
  });
  return values;
}

// The bytes of the elements in row-major order: what CHECK_SAME compares.
inline std::vector<unsigned char> bytes_of(const Tensor& t) {
  size_t width = t.element_size();
  std::vector<unsigned char> bytes(t.numel() * width);
  const auto* data = static_cast<const unsigned char*>(t.data_ptr());
  for_each_offset(t.sizes(), t.strides(), [&](int64_t offset, int64_t i) {
    std::memcpy(&bytes[i * width], data + offset * int64_t(width), width);
  });
  return bytes;
}

inline std::string describe(const Tensor& t) {
  return t.defined() ? str(t.dtype(), " ", t.sizes()) : std::string("undefined");
}

// [1, 0, 2] of element 23 in a tensor of sizes [2, 3, 4].
inline std::string position(int64_t linear, IntArrayRef sizes) {
  std::vector<int64_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; linear /= sizes[d]) at[d] = linear % sizes[d];
  return str(at);
}

inline bool close(double got, double want, Tolerance tolerance) {
  if (got == want) return true;
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

// Empty if the tensors have the same dtype, sizes and, within the tolerance, values; else what differs and
// where.
inline std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance = {}) {
  if (!got.defined() && !want.defined()) return "";
  if (!got.defined() || !want.defined() || got.dtype() != want.dtype() || got.sizes() != want.sizes())
    return "got " + describe(got) + ", expected " + describe(want);
  if (is_integral(got.dtype(), true)) {
    std::vector<int64_t> a = values_of<int64_t>(got), b = values_of<int64_t>(want);
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return str("got ", a[i], ", expected ", b[i], " at ", position(i, got.sizes()));
    return "";
  }
  if (tolerance.relative < 0) tolerance = default_tolerance(got.dtype());
  std::vector<double> a = values_of(got), b = values_of(want);
  size_t wrong = 0, worst = 0;
  double worst_error = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (close(a[i], b[i], tolerance)) continue;
    double error = std::abs(a[i] - b[i]);
    if (std::isnan(error)) error = INFINITY;
    if (error > worst_error) worst = i, worst_error = error;
    ++wrong;
  }
  if (wrong == 0) return "";
  char text[200];
  std::snprintf(text, sizeof text, "got %.17g, expected %.17g (tolerance %g relative, %g absolute)", a[worst],
                b[worst], tolerance.relative, tolerance.absolute);
  return str(text, " at ", position(worst, got.sizes()), " of ", got.dtype(), " ", got.sizes(), "; ", wrong,
             " of ", a.size(), " elements differ");
}

// As difference(), but to the last bit; any NaN equals any NaN.
inline std::string bit_difference(const Tensor& got, const Tensor& want) {
  std::string rough = difference(got, want, {INFINITY, 0});
  if (!rough.empty() || !got.defined()) return rough;
  std::vector<unsigned char> a = bytes_of(got), b = bytes_of(want);
  if (a == b) return "";
  std::vector<double> x = values_of(got), y = values_of(want);
  size_t width = got.element_size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(&a[i * width], &b[i * width], width) == 0 || (std::isnan(x[i]) && std::isnan(y[i])))
      continue;
    char text[120];
    std::snprintf(text, sizeof text, "got %.17g, expected %.17g to the bit", x[i], y[i]);
    return str(text, " at ", position(i, got.sizes()), " of ", got.dtype(), " ", got.sizes());
  }
  return "";
}

// The text of the tarn::Error that f throws; "no error" if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// --- tensors from a formula ---

// Element i is ((i * a + b) mod m - c) / d; integer dtypes round the quotient down.
struct Formula {
  int64_t a = 194, b = 60, m = 502, c = 251, d = 64;
};

// The ranges below are chosen so that each value is exact in every floating dtype (an odd number of at most 8
// bits over a power of two), none is an integer, where gradients of the likes of relu and floor have a kink,
// and the first 125 elements are distinct.
inline constexpr Formula kAround0;                                                     // -3.92 .. 3.89
inline constexpr Formula kPositive{.a = 74, .b = 60, .m = 250, .c = -1, .d = 64};      // 0.016 .. 3.89
inline constexpr Formula kUnit{.d = 256};                                              // -0.98 .. 0.97
inline constexpr Formula kProbability{.a = 74, .b = 60, .m = 250, .c = -1, .d = 256};  // 0.004 .. 0.97

inline double evaluate(const Formula& f, int64_t i, bool integer) {
  int64_t numerator = (i * f.a + f.b) % f.m - f.c;
  double value = double(numerator) / double(f.d);
  return integer ? std::floor(value) : value;
}

// Writes value(i) to the i-th element, in row-major order of t's sizes.
template <class F>
void fill_with(const Tensor& t, F value) {
  detail::visit(t.dtype(), "fill_with", [&]<class E>(detail::Type<E>) {
    E* data = static_cast<E*>(t.data_ptr());
    for_each_offset(t.sizes(), t.strides(), [&](int64_t offset, int64_t i) {
      if constexpr (std::is_same_v<E, bool>)
        data[offset] = value(i) != 0;
      else if constexpr (std::is_integral_v<E>)
        data[offset] = E(int64_t(value(i)));
      else if constexpr (sizeof(E) == 2)
        data[offset] = E(float(value(i)));
      else
        data[offset] = E(value(i));
    });
  });
}

inline Tensor formula_tensor(IntArrayRef sizes, ScalarType dtype = kFloat,
                             const Formula& formula = kAround0) {
  Tensor t = detail::make_tensor(sizes, dtype);
  fill_with(t, [&](int64_t i) { return evaluate(formula, i, is_integral(dtype, true)); });
  return t;
}

// A tensor of these values; the sizes default to one dim.
inline Tensor tensor_of(const std::vector<double>& values, ScalarType dtype = kFloat,
                        std::vector<int64_t> sizes = {-1}) {
  if (sizes.size() == 1 && sizes[0] == -1) sizes[0] = int64_t(values.size());
  Tensor t = detail::make_tensor(sizes, dtype);
  ensure(t.numel() == int64_t(values.size()), "tensor_of: ", values.size(), " values for sizes ", sizes);
  fill_with(t, [&](int64_t i) { return values[i]; });
  return t;
}

}  // namespace tarn::testing

// One assertion per pair of tensors; a failure shows dtype, shape, place and both values.
#define CHECK_CLOSE(got, ...) CHECK(::tarn::testing::difference((got), __VA_ARGS__) == "")
#define CHECK_SAME(got, want) CHECK(::tarn::testing::bit_difference(got, want) == "")
#define CHECK_ERROR(expression, text) CHECK(::tarn::testing::error_of([&] { (void)(expression); }) == text)
