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
    Tensor to_factor = ctx->needs_input_grad(1) ? grads[0] * pow(saved[0], double(n)) : Tensor();
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
    CHECK(ctx->needs_input_grad(0));
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

// y = x + bias where a bias is given; says which gradients are wanted.
struct Shifted : Function<Shifted> {
  static Tensor forward(AutogradContext*, double factor, const Tensor& x, std::optional<Tensor> bias) {
    Tensor y = x * factor;
    return bias ? y + *bias : y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    wanted.clear();
    for (size_t i = 0; i < count; ++i) wanted.push_back(ctx->needs_input_grad(i));
    return {Tensor(), grads[0] * 2, count == 2 ? grads[0] : Tensor()};
  }
  static inline std::vector<bool> wanted;
  static inline size_t count = 0;
};

TEST_CASE("needs_input_grad counts the tensors among the arguments, as libtorch's does") {
  Tensor x = leaf({1, 2}), bias = leaf({1, 1}), plain = tensor_of({1, 1}, kDouble);
  Shifted::count = 2;
  Shifted::apply(2.0, x, std::optional<Tensor>(bias)).sum().backward();
  CHECK(Shifted::wanted == std::vector<bool>{true, true});
  CHECK_CLOSE(bias.grad(), tensor_of({1, 1}, kDouble));
  Shifted::apply(2.0, x, std::optional<Tensor>(plain)).sum().backward();
  CHECK(Shifted::wanted == std::vector<bool>{true, false});
  autograd::grad({Shifted::apply(2.0, x, std::optional<Tensor>(bias)).sum()}, {bias});
  CHECK(Shifted::wanted == std::vector<bool>{false, true});
  Shifted::count = 1;
  Shifted::apply(2.0, x, std::optional<Tensor>()).sum().backward();
  CHECK(Shifted::wanted == std::vector<bool>{true});
  Shifted::count = 3;
  CHECK(error_of([&] {
          Shifted::apply(2.0, x, std::optional<Tensor>(bias)).sum().backward();
        }).find("Shifted has 2 tensors among its arguments, asked for number 2") != std::string::npos);
}

// Every kind of data, and three outputs.
struct Spread : Function<Spread> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, const variable_list& factors) {
    ctx->saved_data["count"] = int64_t(factors.size());
    ctx->saved_data["half"] = 0.5;
    ctx->saved_data["on"] = true;
    ctx->saved_data["name"] = std::string("spread");
    ctx->saved_data["factor"] = factors[0];
    return {x * factors[0], x.select(0, 0) * 2, sum(x)};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto& data = ctx->saved_data;
    CHECK(data["count"].toInt() == 2);
    CHECK(data["half"].toDouble() == 0.5);
    CHECK(data["on"].toBool());
    CHECK(data["name"].toStringRef() == "spread");
    CHECK(ctx->get_saved_variables().empty());
    Tensor g = grads[0] * data["factor"].toTensor() + grads[2];
    g.select(0, 0).add_(grads[1] * 2);
    return {g, Tensor()};
  }
};

TEST_CASE("outputs of several shapes, lists that are not traversed, data of every kind") {
  Tensor x = leaf({1, 2}), factor = leaf({3, 4});
  auto all = [&] { return Spread::apply(x, variable_list{factor, factor}); };
  variable_list out = all();
  CHECK(out[0].grad_fn() == out[2].grad_fn());
  CHECK(out[1].output_nr() == 1);
  (out[0].sum() + out[1] * 10 + out[2] * 100).backward();
  CHECK_CLOSE(x.grad(), tensor_of({123, 104}, kDouble));
  CHECK(!factor.grad().defined());
  // Zeros stand for the outputs that were not used.
  CHECK_CLOSE(autograd::grad({all()[1]}, {x})[0], tensor_of({2, 0}, kDouble));
}

TEST_CASE("gradcheck and gradgradcheck take custom functions") {
  auto cube = [](const variable_list& in) {
    return variable_list{Power::apply(in[0], int64_t(3), in[1]), Exp::apply(in[0])};
  };
  CHECK(autograd::gradcheck(cube, {leaf({1, 2}), leaf({0.5, 3})}));
  auto exp_only = [](const variable_list& in) { return variable_list{Exp::apply(in[0])}; };
  CHECK(autograd::gradgradcheck(exp_only, {leaf({1, 2})}));
}

struct Captured : Function<Captured> {
  static Tensor forward(AutogradContext*, const Tensor&) { return kept; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 5}; }
  static inline Tensor kept;
};

TEST_CASE("a tensor with a history of its own that forward returns keeps it") {
  Tensor x = leaf({1}), weight = leaf({7});
  Captured::kept = weight;
  Captured::apply(x).backward();
  CHECK(weight.is_leaf());
  CHECK(!weight.grad().defined());
  CHECK_CLOSE(x.grad(), tensor_of({5}, kDouble));
  Captured::kept = Tensor();
}

struct Dirty : Function<Dirty> {
  static Tensor forward(AutogradContext* ctx, Tensor x, bool mark_other) {
    x.mul_(2);
    ctx->mark_dirty({mark_other ? x * 1 : x});
    return mark_other ? x * 1 : x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2, Tensor()}; }
};

TEST_CASE("what mark_dirty cannot mean is refused") {
  Tensor x = leaf({1, 2}), y = x * 1;
  CHECK(error_of([&] { Dirty::apply(y, true); }).find("mark_dirty was given a tensor that is no input") !=
        std::string::npos);
  Tensor base = x * 1, view = base.select(0, 0);
  CHECK(error_of([&] {
          Dirty::apply(view, false);
        }).find("a view cannot be written in place by a function") != std::string::npos);
  // What was saved before the write is noticed.
  Tensor z = x * 1, squared = z * z;
  Dirty::apply(z, false);
  CHECK(error_of([&] { squared.sum().backward(); }).find("was changed in place") != std::string::npos);
}

struct Throws : Function<Throws> {
  static Tensor forward(AutogradContext*, const Tensor& x) {
    check(!in_forward, "forward failed");
    return x * 1;
  }
  static variable_list backward(AutogradContext*, variable_list) { fail("backward failed"); }
  static inline bool in_forward = false;
};

TEST_CASE("errors of forward and backward come through, and leave the modes as they were") {
  Tensor x = leaf({1});
  CHECK_ERROR(Throws::apply(x).backward(), "backward failed");
  CHECK(GradMode::is_enabled());
  Throws::in_forward = true;
  CHECK_ERROR(Throws::apply(x), "forward failed");
  CHECK(GradMode::is_enabled());
  Throws::in_forward = false;
}

}  // namespace
