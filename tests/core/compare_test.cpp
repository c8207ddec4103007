#include <tarn/core/ops/compare.h>

#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

Tensor floats(const std::vector<double>& values) {
  Tensor t = detail::make_tensor({int64_t(values.size())}, kFloat);
  fill_with(t, [&](int64_t i) { return values[size_t(i)]; });
  return t;
}

}  // namespace

TEST_CASE("equal compares sizes and every element") {
  CHECK(equal(floats({1, 2}), floats({1, 2})));
  CHECK_FALSE(equal(floats({1, 2}), floats({1, 3})));
  CHECK_FALSE(equal(floats({1, 2}), floats({1, 2}).view({2, 1})));
  CHECK_FALSE(equal(floats({NAN}), floats({NAN})));
  CHECK_ERROR(equal(floats({1}), floats({1}).to(kDouble)),
              "equal: the tensors must have one dtype, got Float and Double");
}

TEST_CASE("allclose allows a tolerance around the second tensor") {
  CHECK(allclose(floats({100}), floats({100.0005})));
  CHECK_FALSE(allclose(floats({100}), floats({100.01})));
  CHECK(allclose(floats({0.5}), floats({1}), 0, 0.5));
  CHECK(allclose(floats({NAN, INFINITY}), floats({NAN, INFINITY}), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(floats({NAN}), floats({NAN})));
  CHECK_FALSE(allclose(floats({INFINITY}), floats({1e30})));
  CHECK_FALSE(allclose(floats({1e30}), floats({INFINITY})));
  CHECK_ERROR(isclose(floats({1}), floats({1}), -1),
              "isclose: tolerances must not be negative, got rtol -1 and atol 1e-08");
}
