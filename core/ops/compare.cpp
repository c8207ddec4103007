#include <tarn/core/ops/compare.h>

#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

namespace {

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), op, ": the tensors must have one dtype, got ", a.dtype(), " and ", b.dtype());
}

bool none(const Tensor& flags) { return sum(flags).item<int64_t>() == 0; }

}  // namespace

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  check_same_dtype("isclose", a, b);
  check(rtol >= 0 && atol >= 0, "isclose: tolerances must not be negative, got rtol ", rtol, " and atol ",
        atol);
  Tensor close = eq(a, b);
  if (is_integral(a.dtype(), true) && rtol == 0 && atol == 0) return close;
  ScalarType wide = is_floating(a.dtype()) ? a.dtype() : kDouble;
  Tensor x = a.to(wide), y = b.to(wide);
  Tensor within = le(abs(sub(x, y)), add(mul(abs(y), rtol), atol));
  close = logical_or(close, logical_and(within, isfinite(y)));
  return equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return none(logical_not(isclose(a, b, rtol, atol, equal_nan)));
}

bool equal(const Tensor& a, const Tensor& b) {
  check_same_dtype("equal", a, b);
  return a.sizes() == b.sizes() && none(ne(a, b));
}

bool Tensor::equal(const Tensor& other) const { return tarn::equal(*this, other); }
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tarn::allclose(*this, other, rtol, atol, equal_nan);
}

}  // namespace tarn::inline v1
