#include <tarn/autograd/gradcheck.h>

#include <tarn/autograd/autograd.h>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::gradcheck;
using autograd::gradgradcheck;
using autograd::variable_list;

namespace {

Tensor leaf(IntArrayRef sizes) { return formula_tensor(sizes, kDouble, kUnit).requires_grad_(); }

}  // namespace

TEST_CASE("gradcheck and gradgradcheck pass for right gradients") {
  auto f = [](const variable_list& in) {
    return variable_list{tanh(matmul(in[0], in[1])), sum(in[0] * in[0])};
  };
  CHECK(gradcheck(f, {leaf({2, 3}), leaf({3, 2})}));
  CHECK(gradgradcheck(f, {leaf({2, 3}), leaf({3, 2})}));
}

TEST_CASE("gradcheck walks inputs of any strides") {
  Tensor x = formula_tensor({3, 4}, kDouble, kUnit).t().narrow(0, 1, 2).requires_grad_();
  CHECK(gradcheck([](const variable_list& in) { return variable_list{exp(in[0])}; }, {x}));
}

TEST_CASE("gradcheck names the first entry that differs") {
  // detach hides a factor from autograd, so its gradient is half of the true one.
  auto wrong = [](const variable_list& in) { return variable_list{in[0] * in[0].detach()}; };
  Tensor x = detail::make_tensor({1}, kDouble);
  fill_with(x, [](int64_t) { return 2.0; });
  x.requires_grad_();
  CHECK_ERROR(gradcheck(wrong, {x}, {.eps = 0.5}),
              "gradcheck: autograd says 2, differences say 4 for output element 0 with respect to element 0 "
              "of input 0 "
              "of those that require grad");
  CHECK_FALSE(gradcheck(wrong, {x}, {.raise_exception = false}));
}

TEST_CASE("gradgradcheck finds a gradient that forgets its history") {
  auto f = [](const variable_list& in) {
    Tensor y = in[0].clone();
    y.register_hook([x = in[0]](const Tensor& g) { return g * x.detach(); });
    return variable_list{y * 1};
  };
  CHECK_FALSE(gradgradcheck(f, {leaf({2})}, {.raise_exception = false}));
}

TEST_CASE("gradcheck refuses what it cannot check") {
  auto f = [](const variable_list& in) { return variable_list{in[0] * 2}; };
  CHECK_ERROR(gradcheck(f, {formula_tensor({2}, kFloat).requires_grad_()}),
              "gradcheck: inputs that require grad must be Double, got Float");
  CHECK_ERROR(gradcheck(f, {formula_tensor({2}, kDouble)}),
              "gradcheck: no input requires grad; call requires_grad_() on what is to be checked");
  CHECK_ERROR(gradcheck([](const variable_list& in) { return variable_list{in[0].detach()}; }, {leaf({2})}),
              "gradcheck: no output requires grad, so there is nothing to check");
}
