// Anomaly mode: errors of backward name the line of the forward call, found by frame pointers and addr2line.
#include <tarn/autograd/anomaly.h>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/custom_function.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::DetectAnomalyGuard;

namespace {

Tensor leaf(std::vector<double> values) { return tensor_of(values, kDouble).requires_grad_(); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// "anomaly_test.cpp:<line>", as an error names it.
std::string line(int number) { return str("anomaly_test.cpp:", number); }

TEST_CASE("the first gradient that is inf names its op and the line of the forward call") {
  Tensor x = leaf({0, 4});
  DetectAnomalyGuard detect;
  Tensor y = sqrt(x);
  int at = __LINE__ - 1;
  std::string error = error_of([&] { y.sum().backward(); });
  CHECK(contains(error,
                 "backward: sqrt gave inf in the gradient of its input 0, of sizes [2]; it was called at "));
  CHECK(contains(error, line(at)));
}

TEST_CASE("the first op of the forward that made inf is named where only backward shows it") {
  Tensor x = leaf({0, 1});
  DetectAnomalyGuard detect;
  Tensor y = log(x), z = y * 0;
  int at = __LINE__ - 1;
  // y is -inf at 0. The gradient of z * y is 0 * inf.
  std::string error = error_of([&] { (z * y).sum().backward(); });
  CHECK(contains(error, "mul gave inf in the gradient of"));
  CHECK(contains(error, "the first op of the forward that gave inf or nan is log, called at "));
  CHECK(contains(error, line(at)));
}

TEST_CASE("an infinity that the program wrote is not taken for a mistake") {
  Tensor x = leaf({1, 2});
  DetectAnomalyGuard detect;
  Tensor hidden = x.masked_fill(tensor_of({1, 0}, kBool), -INFINITY);
  Tensor error_free = exp(hidden).sum();
  error_free.backward();
  CHECK_CLOSE(x.grad(), tensor_of({0, std::exp(2.0)}, kDouble));
}

TEST_CASE("a saved tensor that was changed names the line of the op that saved it") {
  Tensor x = leaf({1, 2});
  DetectAnomalyGuard detect;
  Tensor y = exp(x);
  int at = __LINE__ - 1;
  y.add_(1);
  std::string error = error_of([&] { y.sum().backward(); });
  CHECK(contains(error, "exp: output 0 of sizes [2], which its gradient needs, was changed in place"));
  CHECK(contains(error, line(at)));
}

TEST_CASE("an error in a second derivative names the line of grad() and that of the forward") {
  Tensor x = leaf({0, 1});
  DetectAnomalyGuard detect;
  Tensor y = pow(x, 1.5);
  int forward = __LINE__ - 1;
  Tensor first = autograd::grad({y.sum()}, {x}, {}, {}, true)[0];
  int backward = __LINE__ - 1;
  // y'' = 0.75 / sqrt(x).
  std::string error = error_of([&] { first.sum().backward(); });
  INFO(error);
  CHECK(contains(error, "gave inf in the gradient"));
#ifndef __SANITIZE_ADDRESS__  // there a frame of Tarn's own passes for the caller's: pointwise_grad.cpp
  CHECK(contains(error, line(backward)));
#else
  (void)backward;
#endif
  CHECK(contains(error, "for the gradient of pow"));
  CHECK(contains(error, line(forward)));
}

TEST_CASE("without check_nan gradients are not looked at, but errors still name the line") {
  Tensor x = leaf({0, 4});
  DetectAnomalyGuard detect(false);
  sqrt(x).sum().backward();
  CHECK(std::isinf(values_of(x.grad())[0]));
  Tensor y = exp(x);
  int at = __LINE__ - 1;
  y.add_(1);
  CHECK(contains(error_of([&] { y.sum().backward(); }), line(at)));
}

TEST_CASE("a forward outside of anomaly mode has no place to name") {
  Tensor x = leaf({0});
  Tensor y = sqrt(x);
  DetectAnomalyGuard detect;
  CHECK_ERROR(
      y.backward(),
      "backward: sqrt gave inf in the gradient of its input 0, of sizes [1]; it was not called in anomaly "
      "mode, so its place is unknown");
}

TEST_CASE("a gradient that comes in as nan is told from one that an op made") {
  Tensor x = leaf({1});
  DetectAnomalyGuard detect;
  Tensor y = x * 2;
  CHECK(contains(error_of([&] { y.backward(tensor_of({NAN}, kDouble)); }),
                 "backward: the gradient that arrives at output 0 of mul has nan, from backward()'s caller"));
}

TEST_CASE("anomaly mode ends with its scope, and scopes nest") {
  CHECK_FALSE(autograd::AnomalyMode::is_enabled());
  {
    DetectAnomalyGuard outer(false);
    CHECK_FALSE(autograd::AnomalyMode::should_check_nan());
    {
      autograd::detect_anomaly inner;
      CHECK(autograd::AnomalyMode::should_check_nan());
    }
    CHECK(autograd::AnomalyMode::is_enabled());
    CHECK_FALSE(autograd::AnomalyMode::should_check_nan());
  }
  CHECK_FALSE(autograd::AnomalyMode::is_enabled());
  Tensor x = leaf({0});
  sqrt(x).backward();
  CHECK(std::isinf(values_of(x.grad())[0]));
}

// Its gradient is nan.
struct Broken : autograd::Function<Broken> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    return {grads[0] * NAN};
  }
};

TEST_CASE("anomaly mode names a custom function, and a write through a view") {
  Tensor x = leaf({1, 2});
  DetectAnomalyGuard detect;
  Tensor y = Broken::apply(x);
  int at = __LINE__ - 1;
  std::string error = error_of([&] { y.sum().backward(); });
  CHECK(contains(error, "Broken gave nan in the gradient of its input 0"));
  INFO(error);
  CHECK(contains(error, line(at)));
  Tensor z = x * 0;
  z.select(0, 1).sqrt_();
  CHECK(
      contains(error_of([&] { z.sum().backward(); }), "copy_slices gave inf in the gradient of its input 0"));
}

}  // namespace
