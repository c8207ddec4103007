// backward() and grad(): their options, what they refuse, and the modes that switch recording.
#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::variable_list;

namespace {

Tensor numbers(std::vector<double> values) { return tensor_of(values, kDouble); }
Tensor leaf(std::vector<double> values) { return numbers(std::move(values)).requires_grad_(); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("grad() adds nothing to the leaves and takes several outputs and their gradients") {
  Tensor x = leaf({1, 2}), y = leaf({3, 4});
  variable_list grads =
      autograd::grad({x * y, x.sum()}, {x, y}, {numbers({1, 10}), numbers({100}).squeeze()});
  CHECK_CLOSE(grads[0], numbers({103, 140}));
  CHECK_CLOSE(grads[1], numbers({1, 20}));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("an input that was not used is refused, or has an undefined gradient with allow_unused") {
  Tensor x = leaf({1}), unused = leaf({1});
  CHECK_ERROR(
      autograd::grad({x * 2}, {x, unused}),
      "grad: input 1 of sizes [1] was not used to compute the outputs; pass allow_unused=true to get an "
      "undefined gradient for it");
  variable_list grads = autograd::grad({x * 2}, {x, unused}, {}, {}, false, true);
  CHECK_CLOSE(grads[0], numbers({2}));
  CHECK_FALSE(grads[1].defined());
}

TEST_CASE("the gradient of a result inside the graph, and of an output itself") {
  Tensor x = leaf({2});
  Tensor y = x * 3, z = y * y;
  variable_list grads = autograd::grad({z}, {y, z, x});
  CHECK_CLOSE(grads[0], numbers({12}));
  CHECK_CLOSE(grads[1], numbers({1}));
  CHECK_CLOSE(grads[2], numbers({36}));
}

TEST_CASE("grad() of one input does not run what leads to others") {
  Tensor x = leaf({2}), w = leaf({3});
  Tensor h = w * 2;
  int calls = 0;
  h.register_hook([&](const Tensor&) { ++calls; });
  autograd::grad({(x * 5 + h * 7).sum()}, {x});
  CHECK(calls == 0);
}

TEST_CASE("backward with inputs accumulates to those alone") {
  Tensor x = leaf({2}), w = leaf({3});
  Tensor y = x * w;
  autograd::backward({y * 2}, {}, {}, false, {w, y});
  CHECK_CLOSE(w.grad(), numbers({4}));
  CHECK_CLOSE(y.grad(), numbers({2}));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a second backward through freed tensors is refused, retain_graph allows it") {
  Tensor x = leaf({2});
  Tensor y = exp(x);
  y.backward({}, true);
  y.backward();
  CHECK_ERROR(y.backward(),
              "backward: the graph is gone through a second time, but the tensors that exp saved were freed "
              "the first "
              "time; pass retain_graph=true to the first backward");
  // Nothing was saved here, so nothing is gone.
  Tensor z = x + 1;
  z.backward();
  z.backward();
}

TEST_CASE("backward with create_graph gives gradients with a history") {
  Tensor x = leaf({2});
  (x * x * x).backward({}, {}, true);
  CHECK(x.grad().requires_grad());
  Tensor first = x.grad();
  x.mutable_grad() = Tensor();
  first.backward();
  CHECK_CLOSE(x.grad(), numbers({12}));
}

TEST_CASE("derivatives of every order of a chain are right") {
  Tensor x = leaf({0.5}), y = sin(x) * exp(x);
  // (sin x e^x)^(n) = 2^(n/2) sin(x + n pi / 4) e^x.
  for (int n = 1; n <= 6; ++n) {
    y = autograd::grad({y}, {x}, {}, {}, true)[0];
    double want = std::pow(2, n / 2.0) * std::sin(0.5 + n * M_PI / 4) * std::exp(0.5);
    CHECK_CLOSE(y.detach(), numbers({want}));
  }
}

TEST_CASE("a gradient penalty is differentiated through matmul and a norm") {
  Tensor x = formula_tensor({3, 4}, kDouble, kUnit).requires_grad_(),
         w = formula_tensor({4, 2}, kDouble, kUnit);
  w.requires_grad_();
  Tensor y = tanh(matmul(x, w)).sum();
  Tensor g = autograd::grad({y}, {x}, {}, {}, true)[0];
  Tensor penalty = (g.pow(2).sum() - 1).pow(2);
  Tensor got = autograd::grad({penalty}, {w})[0];
  auto value = [&](const Tensor& weight) {
    Tensor leaf_x = x.detach().requires_grad_();
    Tensor grad = autograd::grad({tanh(matmul(leaf_x, weight)).sum()}, {leaf_x})[0];
    return std::pow(values_of(grad.pow(2).sum())[0] - 1, 2);
  };
  double eps = 1e-6;
  for (int i = 0; i < 8; ++i) {
    Tensor up = w.detach().clone(), down = w.detach().clone();
    up.data_ptr<double>()[i] += eps, down.data_ptr<double>()[i] -= eps;
    CHECK(std::abs((value(up) - value(down)) / (2 * eps) - values_of(got)[i]) < 1e-7);
  }
}

TEST_CASE("what backward() and grad() cannot do is said") {
  Tensor x = leaf({1, 2}), plain = numbers({1});
  CHECK_ERROR(plain.backward(), "backward: tensor 0 of sizes [1] does not require grad and has no grad_fn");
  CHECK(contains(
      error_of([&] { (x * 2).backward(); }),
      "backward: the gradient of tensor 0 can be left out only if it has one element, not sizes [2]"));
  CHECK_ERROR((x * 2).backward(plain),
              "backward: the gradient given for tensor 0 has sizes [1], the tensor [2]");
  CHECK_ERROR(autograd::grad({x.sum()}, {}), "grad: at least one input is needed");
  CHECK_ERROR(autograd::grad({}, {x}), "grad: at least one tensor is needed");
  CHECK_ERROR(autograd::grad({x.sum()}, {plain}), "grad: input 0 of sizes [1] does not require grad");
  CHECK_ERROR(autograd::grad({x.sum()}, {x}, {plain, plain}), "grad: 1 tensors were given, but 2 gradients");
  CHECK(contains(error_of([] { tensor_of({1}, kLong).requires_grad_(); }),
                 "requires_grad_: only floating-point tensors can require grad, this one is Long"));
}

TEST_CASE("detach shares memory and has no history; detach_ drops it") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2, d = y.detach();
  CHECK(d.is_alias_of(y));
  CHECK_FALSE(d.requires_grad());
  (x * d).sum().backward();
  CHECK_CLOSE(x.grad(), numbers({2, 4}));
  y.detach_();
  CHECK(y.is_leaf());
  CHECK_FALSE(y.requires_grad());
}

TEST_CASE("a write through detach() is noticed by what saved the tensor, through data() it is not") {
  Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  y.detach().mul_(2);
  CHECK(contains(error_of([&] { y.sum().backward(); }),
                 "exp: output 0 of sizes [2], which its gradient needs, was"));
  Tensor z = exp(x);
  z.data().mul_(2);
  z.sum().backward();
  CHECK_CLOSE(x.grad(), z.detach());
}

TEST_CASE("a tensor saved before it is written is refused by the name of the op that saved it") {
  Tensor x = leaf({1, 2});
  Tensor h = x * 1, y = h * h;
  h.add_(1);
  CHECK_ERROR(
      y.sum().backward(),
      "mul: input 0 of sizes [2], which its gradient needs, was changed in place: it was saved at version 0 "
      "and is now at version 1; call clone() before the in-place op");
  // The same write where no gradient reads the tensor.
  Tensor a = x * 1, b = a + a;
  a.add_(1);
  b.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({2, 2}));
}

TEST_CASE("a write to a view is part of the base's history, and the other way round") {
  Tensor x = leaf({1, 2, 3});
  Tensor base = x * 1, view = base.slice(0, 1, 3);
  view.mul_(base.select(0, 0).clone());
  (base * numbers({1, 10, 100})).sum().backward();
  CHECK_CLOSE(x.grad(), numbers({1 + 20 + 300, 10, 100}));

  x.mutable_grad().reset();
  Tensor other = x * 1, part = other.narrow(0, 0, 2);
  other.mul_(3);
  part.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({3, 3, 0}));
}

TEST_CASE("writes in place that autograd cannot follow are refused") {
  Tensor x = leaf({1, 2});
  CHECK(contains(error_of([&] { x.add_(1); }), "a leaf that requires grad cannot be written in place"));
  CHECK(contains(error_of([&] { x.select(0, 0).add_(1); }),
                 "a view of a leaf that requires grad cannot be written"));
  Tensor y = x * 1;
  CHECK(
      contains(error_of([&] { y.split(1)[0].add_(1); }), "one of several that split(), chunk() or unbind()"));
  Tensor hidden;
  {
    NoGradGuard no_grad;
    hidden = y.narrow(0, 0, 1);
  }
  CHECK(contains(error_of([&] { hidden.add_(1); }),
                 "made with grad mode off and is now written with grad mode on"));
}

TEST_CASE("grad modes nest and belong to their scope") {
  Tensor x = leaf({1});
  {
    NoGradGuard off;
    CHECK_FALSE((x * 2).requires_grad());
    {
      AutoGradMode on(true);
      CHECK((x * 2).requires_grad());
    }
    CHECK_FALSE(GradMode::is_enabled());
    CHECK(leaf({1}).requires_grad());
  }
  CHECK((x * 2).requires_grad());
  GradMode::set_enabled(false);
  CHECK_FALSE((x * 2).requires_grad());
  GradMode::set_enabled(true);
}

TEST_CASE("tensors of InferenceMode stay out of autograd") {
  Tensor x = leaf({1, 2}), inside;
  {
    InferenceMode guard;
    CHECK(InferenceMode::is_enabled());
    inside = x * 2;
    CHECK(inside.is_inference());
    CHECK_FALSE(inside.requires_grad());
    inside.add_(1);
    {
      InferenceMode off(false);
      CHECK((x * 2).requires_grad());
    }
  }
  CHECK_FALSE(InferenceMode::is_enabled());
  CHECK(
      contains(error_of([&] { x* inside; }), "a tensor made in InferenceMode cannot be saved for backward"));
  CHECK(contains(error_of([&] { inside.add_(1); }),
                 "a tensor made in InferenceMode cannot be written outside"));
  CHECK(contains(error_of([&] { inside.requires_grad_(); }), "this tensor was made in InferenceMode"));
  (x + inside).sum().backward();
  CHECK_CLOSE(x.grad(), numbers({1, 1}));
  (x * inside.clone()).sum().backward();
  CHECK_CLOSE(x.grad(), numbers({4, 6}));
}

TEST_CASE("a leaf's gradient may be switched off between forward and backward") {
  Tensor x = leaf({1}), w = leaf({2});
  Tensor y = x * w;
  w.requires_grad_(false);
  y.backward();
  CHECK_CLOSE(x.grad(), numbers({2}));
  CHECK_FALSE(w.grad().defined());
}

}  // namespace
