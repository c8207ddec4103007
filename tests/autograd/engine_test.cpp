#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// 0-dim and 1-dim tensors of doubles.
Tensor numbers(std::vector<double> values) {
  Tensor t = detail::make_tensor({int64_t(values.size())}, kDouble);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}
Tensor leaf(std::vector<double> values) { return numbers(std::move(values)).requires_grad_(); }

}  // namespace

TEST_CASE("the gradient of x * x is 2 x") {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * x;
  y.backward(numbers({1, 1, 1}));
  CHECK_CLOSE(x.grad(), numbers({2, 4, 6}));
}

TEST_CASE("gradients of a leaf add up over backward calls") {
  Tensor x = leaf({1, 2});
  (x * 3).backward(numbers({1, 1}));
  (x * 4).backward(numbers({1, 10}));
  CHECK_CLOSE(x.grad(), numbers({7, 43}));
}

TEST_CASE("a value used twice gets the sum of both gradients") {
  Tensor x = leaf({2});
  Tensor y = x.exp();
  Tensor z = y * y + y;
  z.backward(numbers({1}));
  double e = std::exp(2.0);
  CHECK_CLOSE(x.grad(), numbers({2 * e * e + e}));
}

TEST_CASE("broadcasting is undone by a sum in the gradient") {
  Tensor x = leaf({2}), y = leaf({1, 2, 3});
  (x * y).backward(numbers({1, 1, 1}));
  CHECK_CLOSE(x.grad(), numbers({6}));
  CHECK_CLOSE(y.grad(), numbers({2, 2, 2}));
}

TEST_CASE("no_grad records nothing") {
  Tensor x = leaf({1});
  NoGradGuard no_grad;
  Tensor y = x * 2;
  CHECK(!y.requires_grad());
  CHECK(y.grad_fn() == nullptr);
}

TEST_CASE("grad of a grad: the third derivative of x^4 is 24 x") {
  Tensor x = leaf({2});
  Tensor y = x * x * x * x;
  Tensor first = autograd::grad({y}, {x}, {numbers({1})}, {}, true)[0];
  Tensor second = autograd::grad({first}, {x}, {numbers({1})}, {}, true)[0];
  Tensor third = autograd::grad({second}, {x}, {numbers({1})})[0];
  CHECK_CLOSE(first, numbers({32}));
  CHECK_CLOSE(second, numbers({48}));
  CHECK_CLOSE(third, numbers({48}));
  CHECK(!x.grad().defined());
}
