// Ten ways to use autograd, ten thousand times each: whatever graphs, hooks and saved tensors they make, all
// memory comes back.
#include <tarn/autograd/autograd.h>
#include <tarn/autograd/checkpoint.h>
#include <tarn/autograd/custom_function.h>
#include <tarn/core/allocator.h>
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

Tensor leaf(IntArrayRef sizes) { return formula_tensor(sizes, kDouble, kUnit).requires_grad_(); }

void train_a_layer() {
  Tensor x = formula_tensor({2, 3}, kDouble), w = leaf({3, 3}), b = leaf({3});
  Tensor loss = relu(matmul(x, w) + b).pow(2).mean();
  loss.backward();
  NoGradGuard no_grad;
  w.sub_(w.grad() * 0.1);
  w.mutable_grad().reset();
}

void throw_a_graph_away() { tanh(exp(leaf({4})) * leaf({4})).sum(); }

// The base's history leads to the view's node, whose saved output is a view again.
void write_views() {
  Tensor x = leaf({4}), base = x * 1, other = x * 1;
  Tensor view = base.slice(0, 1, 3);
  view.exp_();
  base.sum().backward();
  Tensor slice = other.slice(0, 1, 3), part = slice.select(0, 0);
  slice.mul_(2);
  part.tanh_();
  (other.sum() + slice.sum()).backward();
}

void write_what_is_saved() {
  Tensor x = leaf({4}), y = x * 1;
  y.exp_();
  Tensor z = y * y;
  y.mul_(2);
  error_of([&] { z.sum().backward(); });
}

void differentiate_three_times() {
  Tensor x = leaf({3}), y = (exp(x) * x * x).sum();
  for (int i = 0; i < 3; ++i) y = autograd::grad({y}, {x}, {}, {}, true)[0].sum();
}

// As users are warned not to: the leaf's gradient leads to the leaf. They must break the cycle themselves.
void keep_a_graph_in_grad() {
  Tensor x = leaf({3});
  (x * x).sum().backward({}, {}, true);
  x.mutable_grad().reset();
}

struct Scaled : autograd::Function<Scaled> {
  static variable_list forward(autograd::AutogradContext* ctx, const Tensor& x, double factor) {
    Tensor y = x * factor;
    ctx->save_for_backward({x, y});
    ctx->saved_data["factor"] = factor;
    return {y, x};
  }
  static variable_list backward(autograd::AutogradContext* ctx, variable_list grads) {
    variable_list saved = ctx->get_saved_variables();
    return {grads[0] * saved[1] / saved[0] + grads[1], Tensor()};
  }
};

void call_a_custom_function() {
  Tensor x = leaf({3});
  variable_list out = Scaled::apply(x, 2.0);
  Tensor first = autograd::grad({(out[0] * out[1]).sum()}, {x}, {}, {}, true)[0];
  first.sum().backward();
}

void hook_everything() {
  Tensor x = leaf({3}), y = x * 2;
  y.retain_grad();
  y.register_hook([x](const Tensor& g) { return g * x.detach(); });
  auto of_tensor = autograd::scoped_hook(x, [](const Tensor&) {});
  auto of_node = autograd::scoped_hook(y.grad_fn(), [](const variable_list&, const variable_list&) {});
  auto after =
      autograd::scoped_post_accumulate_grad_hook(x, [](const Tensor& t) { t.mutable_grad().reset(); });
  y.sum().backward();
}

void checkpoint_in_a_checkpoint() {
  Tensor x = leaf({3});
  auto inner = [](const Tensor& x) { return exp(tanh(x)); };
  auto outer = [&](const Tensor& x) { return autograd::checkpoint(inner, exp(x)) * x; };
  autograd::checkpoint(outer, x).sum().backward();
  autograd::checkpoint(outer, x);
}

void fail_in_backward() {
  Tensor x = leaf({3}), y = exp(x);
  y.register_hook([](const Tensor&) { fail("no"); });
  error_of([&] { (y * y).sum().backward(); });
  autograd::graph::saved_tensors_hooks hooks([](const Tensor& t) { return t.clone(); },
                                             [](const Tensor&) { return Tensor(); });
  error_of([&] { exp(x).sum().backward(); });
}

struct Scenario {
  const char* name;
  void (*run)();
};

constexpr Scenario kScenarios[] = {
    {"train a layer", train_a_layer},
    {"throw a graph away", throw_a_graph_away},
    {"write views", write_views},
    {"write what is saved", write_what_is_saved},
    {"differentiate three times", differentiate_three_times},
    {"keep a graph in .grad", keep_a_graph_in_grad},
    {"call a custom function", call_a_custom_function},
    {"hook everything", hook_everything},
    {"checkpoint in a checkpoint", checkpoint_in_a_checkpoint},
    {"fail in backward", fail_in_backward},
};

void check_memory_comes_back(int iterations) {
  for (const Scenario& scenario : kScenarios) {
    INFO(scenario.name);
    scenario.run();
    cpu::MemoryStats before = cpu::memory_stats();
    for (int i = 0; i < iterations; ++i) scenario.run();
    cpu::MemoryStats after = cpu::memory_stats();
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(after.live_blocks == before.live_blocks);
  }
}

TEST_CASE("ten scenarios give back all their memory") { check_memory_comes_back(100); }

TEST_CASE("ten scenarios, ten thousand times, leave the live bytes at their base", "[slow]") {
  check_memory_comes_back(10000);
}

}  // namespace
