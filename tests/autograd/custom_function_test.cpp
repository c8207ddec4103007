// Function<T>: operations with gradients of their own, by libtorch's documented rules.
#include <tarn/autograd/custom_function.h>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/gradcheck.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;

namespace {

Tensor leaf(std::vector<double> values) { return tensor_of(values, kDouble).requires_grad_(); }

// x^power * factor, with the power as plain data.
struct Power : Function<Power> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t power, const Tensor& factor) {
    ctx->saved_data["power"] = power;
    ctx->save_for_backward({x, factor});
    return pow(x, double(power)) * factor;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    variable_list saved = ctx->get_saved_variables();
    int64_t n = ctx->saved_data["power"].toInt();
    Tensor to_factor = ctx->needs_input_grad(2) ? grads[0] * pow(saved[0], double(n)) : Tensor();
    return {grads[0] * double(n) * pow(saved[0], double(n - 1)) * saved[1], Tensor(), to_factor};
  }
};

TEST_CASE("a custom function's backward gives its gradients, differentiably") {
  Tensor x = leaf({1, 2, -3}), factor = leaf({2, 1, 0.5});
  Tensor y = Power::apply(x, int64_t(3), factor);
  CHECK_CLOSE(y.detach(), tensor_of({2, 8, -13.5}, kDouble));
  CHECK(y.grad_fn()->name().find("Power") != std::string::npos);
  y.sum().backward();
  CHECK_CLOSE(x.grad(), tensor_of({6, 12, 13.5}, kDouble));
  CHECK_CLOSE(factor.grad(), tensor_of({1, 8, -27}, kDouble));
  Tensor constant = tensor_of({1, 1, 1}, kDouble);
  Tensor first = autograd::grad({Power::apply(x, int64_t(3), constant).sum()}, {x}, {}, {}, true)[0];
  CHECK_CLOSE(autograd::grad({first.sum()}, {x})[0], tensor_of({6, 12, -18}, kDouble));
}

// exp, which saves its output.
struct Exp : Function<Exp> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    Tensor y = exp(x);
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0]};
  }
};

TEST_CASE("a saved output has its history, and a write to it is noticed") {
  Tensor x = leaf({1, 2});
  Tensor first = autograd::grad({Exp::apply(x).sum()}, {x}, {}, {}, true)[0];
  CHECK_CLOSE(autograd::grad({first.sum()}, {x})[0], x.detach().exp());
  Tensor y = Exp::apply(x);
  y.mul_(2);
  CHECK(error_of([&] { y.sum().backward(); }).find("was changed in place") != std::string::npos);
}

TEST_CASE("the tensors of a custom function are freed by backward unless the graph is retained") {
  Tensor x = leaf({1, 2});
  Tensor y = Exp::apply(x).sum();
  y.backward({}, true);
  y.backward();
  CHECK(error_of([&] { y.backward(); }).find("pass retain_graph=true to the first backward") !=
        std::string::npos);
}

// x in place times 2, and its sign, which has no gradient.
struct Doubled : Function<Doubled> {
  static variable_list forward(AutogradContext* ctx, Tensor x) {
    Tensor signs = sign(x);
    x.mul_(2);
    ctx->mark_dirty({x});
    ctx->mark_non_differentiable({signs});
    return {x, signs};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    CHECK(grads[1].defined());
    return {grads[0] * 2};
  }
};

TEST_CASE("an input written in place is the output; what is not differentiable has no history") {
  Tensor x = leaf({1, -2}), y = x * 1.0;
  variable_list out = Doubled::apply(y);
  CHECK(out[0].is_same(y));
  CHECK(!out[1].requires_grad());
  y.sum().backward();
  CHECK_CLOSE(y.detach(), tensor_of({2, -4}, kDouble));
  CHECK_CLOSE(x.grad(), tensor_of({2, 2}, kDouble));
  CHECK(error_of([&] { Doubled::apply(x); }).find(": a leaf that requires grad cannot be written in place") !=
        std::string::npos);
}

struct Same : Function<Same> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, std::optional<Tensor> none) {
    CHECK(!GradMode::is_enabled());
    CHECK(!none);
    ctx->set_materialize_grads(false);
    return {x, x.view({-1, 1})};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    CHECK(!grads[1].defined());
    return {grads[0] * 10, Tensor()};
  }
};

TEST_CASE("an input that is returned gets a history of its own, and an unused output no gradient") {
  Tensor x = leaf({1, 2});
  variable_list out = Same::apply(x, std::optional<Tensor>());
  CHECK(!out[0].is_same(x));
  CHECK(out[0].is_alias_of(x));
  out[0].sum().backward();
  CHECK_CLOSE(x.grad(), tensor_of({10, 10}, kDouble));
  CHECK(x.is_leaf());
}

TEST_CASE("without a gradient to compute a custom function leaves no trace") {
  Tensor x = tensor_of({1, 2}, kDouble);
  CHECK(!Exp::apply(x).requires_grad());
  NoGradGuard no_grad;
  CHECK(!Exp::apply(leaf({1})).requires_grad());
}

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext*, const Tensor& x, int64_t) { return x * 1; }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    if (ctx->needs_input_grad(1)) return {};
    return count == 1 ? variable_list{grads[0]} : variable_list{grads[0], grads[0]};
  }
  static int count;
};
int Wrong::count = 1;

TEST_CASE("a backward that returns the wrong gradients is refused by name") {
  Tensor x = leaf({1});
  Wrong::count = 1;
  CHECK(error_of([&] {
          Wrong::apply(x, int64_t(0)).backward();
        }).find("Wrong: backward returned 1 gradients for 2 arguments of forward") != std::string::npos);
  Wrong::count = 2;
  CHECK(error_of([&] {
          Wrong::apply(x, int64_t(0)).backward();
        }).find("Wrong: backward returned a gradient for argument 1 of forward, which is no tensor") !=
        std::string::npos);
}

}  // namespace
