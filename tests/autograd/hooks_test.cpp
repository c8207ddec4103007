// Hooks of tensors, of nodes and after accumulation; retain_grad.
#include <tarn/autograd/autograd.h>
#include <tarn/autograd/engine.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::RemovableHandle;
using autograd::scoped_hook;
using autograd::scoped_post_accumulate_grad_hook;
using autograd::scoped_pre_hook;
using autograd::variable_list;

namespace {

Tensor numbers(std::vector<double> values) { return tensor_of(values, kDouble); }
Tensor leaf(std::vector<double> values) { return numbers(std::move(values)).requires_grad_(); }

TEST_CASE("a tensor's hooks see its whole gradient and may replace it, one after another") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  std::vector<double> seen;
  y.register_hook([&](const Tensor& g) { seen.push_back(values_of(g)[0]); });
  unsigned twice = y.register_hook([](const Tensor& g) { return g * 2; });
  y.register_hook([&](const Tensor& g) { seen.push_back(values_of(g)[0]); });
  // Used twice: the hook sees the sum.
  (y + y * 4).sum().backward();
  CHECK(seen == std::vector<double>{5, 10});
  CHECK_CLOSE(x.grad(), numbers({30, 30}));

  Tensor z = x * 3;
  twice = z.register_hook([](const Tensor& g) { return g * 2; });
  z.remove_hook(twice);
  CHECK_ERROR(z.remove_hook(7), "remove_hook: there is no hook 7");
  x.mutable_grad().reset();
  z.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({3, 3}));
}

TEST_CASE("a leaf's hook changes what is accumulated, also what grad() returns") {
  Tensor x = leaf({1, 2});
  auto handle = scoped_hook(x, [](const Tensor& g) { return g * 10; });
  x.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({10, 10}));
  CHECK_CLOSE(autograd::grad({x.sum()}, {x})[0], numbers({10, 10}));
}

TEST_CASE("a handle removes its hook at its end, when told, or never") {
  Tensor x = leaf({1});
  int calls = 0;
  auto count = [&](const Tensor&) { ++calls; };
  auto run = [&] {
    calls = 0;
    x.sum().backward();
    return calls;
  };
  {
    RemovableHandle handle = scoped_hook(x, count);
    CHECK(run() == 1);
    RemovableHandle moved = std::move(handle);
    CHECK(run() == 1);
    handle.remove();
    CHECK(run() == 1);
    moved.remove();
    moved.remove();
    CHECK(run() == 0);
    moved = scoped_hook(x, count);
    moved = scoped_hook(x, count);
    CHECK(run() == 1);
  }
  CHECK(run() == 0);
  scoped_hook(x, count).keep();
  CHECK(run() == 1);
}

TEST_CASE("a hook that removes itself runs once, and what it holds is freed") {
  Tensor x = leaf({1});
  auto held = std::make_shared<int>(0);
  RemovableHandle handle;
  handle = scoped_hook(x, [held, &handle](const Tensor&) {
    ++*held;
    handle.remove();
  });
  x.sum().backward();
  x.sum().backward();
  CHECK(*held == 1);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a hook outlives the tensor that it was registered on, not the graph") {
  Tensor x = leaf({1});
  int calls = 0;
  Tensor z;
  {
    Tensor y = x * 2;
    y.register_hook([&](const Tensor&) { ++calls; });
    z = y * 3;
  }
  z.backward();
  CHECK(calls == 1);
}

TEST_CASE("hooks of a node see the gradients that go in and come out, and may replace them") {
  Tensor x = leaf({1, 2}), y = leaf({3, 4});
  Tensor z = x * y;
  auto pre =
      scoped_pre_hook(z.grad_fn(), [](const variable_list& grads) { return variable_list{grads[0] * 2}; });
  auto post = scoped_hook(z.grad_fn(), [&](const variable_list& inputs, const variable_list& outputs) {
    CHECK_CLOSE(outputs[0], numbers({2, 2}));
    CHECK_CLOSE(inputs[0], numbers({6, 8}));
    return variable_list{inputs[0], inputs[1] * 100};
  });
  z.sum().backward({}, true);
  CHECK_CLOSE(x.grad(), numbers({6, 8}));
  CHECK_CLOSE(y.grad(), numbers({200, 400}));
  pre.remove(), post.remove();
  x.mutable_grad().reset();
  z.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({3, 4}));
}

TEST_CASE("a node's hook may only watch, and must return as many gradients as there are") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  int calls = 0;
  auto watch = scoped_hook(y.grad_fn(), [&](const variable_list&, const variable_list&) { ++calls; });
  auto watch_before = scoped_pre_hook(y.grad_fn(), [&](const variable_list&) { ++calls; });
  y.sum().backward({}, true);
  CHECK(calls == 2);
  CHECK_CLOSE(x.grad(), numbers({2, 2}));
  auto none = scoped_pre_hook(y.grad_fn(), [](const variable_list&) { return variable_list(); });
  CHECK_ERROR(y.sum().backward(), "mul: a pre hook returned 0 gradients for 1 outputs");
  CHECK_ERROR(scoped_hook(x.grad_fn(), [](const variable_list&, const variable_list&) {}),
              "scoped_hook: the node is null; a leaf has none");
}

// libtorch's classes of hooks.
struct Doubles : autograd::FunctionPreHook {
  variable_list operator()(const variable_list& grads) override { return {grads[0] * 2}; }
};
struct Negates : autograd::FunctionPostHook {
  variable_list operator()(const variable_list& inputs, const variable_list&) override {
    return {-inputs[0]};
  }
};

TEST_CASE("libtorch's hook classes are added and deleted by key") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  uintptr_t pre = y.grad_fn()->add_pre_hook(std::make_unique<Doubles>());
  uintptr_t post = y.grad_fn()->add_post_hook(std::make_unique<Negates>());
  CHECK_CLOSE(autograd::grad({y.sum()}, {x}, {}, true)[0], numbers({-6, -6}));
  CHECK(y.grad_fn()->del_pre_hook(pre));
  CHECK_FALSE(y.grad_fn()->del_pre_hook(pre));
  CHECK_FALSE(y.grad_fn()->del_post_hook(pre));
  CHECK_CLOSE(autograd::grad({y.sum()}, {x}, {}, true)[0], numbers({-3, -3}));
  CHECK(y.grad_fn()->del_post_hook(post));
  CHECK_CLOSE(autograd::grad({y.sum()}, {x})[0], numbers({3, 3}));
}

TEST_CASE("a hook after accumulation sees the leaf with its gradient, and may step and clear it") {
  Tensor x = leaf({1, 2});
  auto step = scoped_post_accumulate_grad_hook(x, [](const Tensor& leaf) {
    NoGradGuard no_grad;
    leaf.sub_(leaf.grad() * 0.5);
    leaf.mutable_grad().reset();
  });
  (x * 4).sum().backward();
  CHECK_CLOSE(x.detach(), numbers({-1, 0}));
  CHECK_FALSE(x.grad().defined());
  step.remove();
  (x * 4).sum().backward();
  CHECK_CLOSE(x.grad(), numbers({4, 4}));
  CHECK_ERROR(scoped_post_accumulate_grad_hook(x * 2, [](const Tensor&) {}),
              "register_post_accumulate_grad_hook: a leaf that requires grad is needed");
  unsigned index = autograd::register_post_accumulate_grad_hook(x, [](const Tensor&) { fail("called"); });
  autograd::remove_post_accumulate_grad_hook(x, index);
  x.sum().backward();
}

TEST_CASE("a hook on a tensor without gradient, or with a wrong result, is refused") {
  CHECK_ERROR(numbers({1}).register_hook([](const Tensor&) {}),
              "register_hook: this tensor does not require grad, so it gets no gradient");
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  auto wrong = scoped_hook(y, [](const Tensor&) { return numbers({1, 2, 3}); });
  CHECK(error_of([&] { y.sum().backward(); }).find("the sizes [3], but the tensor it belongs to has [2]") !=
        std::string::npos);
}

TEST_CASE("a hook keeps to the value it was registered for when the tensor is written in place") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 1;
  std::vector<double> seen;
  y.register_hook([&](const Tensor& g) { seen.push_back(values_of(g)[0]); });
  y.mul_(5);
  y.sum().backward();
  CHECK(seen == std::vector<double>{5});
}

TEST_CASE("retain_grad keeps the gradient of a result, of its newest value, and adds up") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  CHECK_FALSE(y.retains_grad());
  y.retain_grad();
  y.retain_grad();
  CHECK(y.retains_grad());
  Tensor z = (y * y).sum();
  z.backward({}, true);
  CHECK_CLOSE(y.grad(), numbers({6, 12}));
  z.backward();
  CHECK_CLOSE(y.grad(), numbers({12, 24}));

  Tensor w = x * 3;
  w.retain_grad();
  w.mul_(2);
  (w * 7).sum().backward();
  CHECK_CLOSE(w.grad(), numbers({7, 7}));
  x.retain_grad();
  CHECK_FALSE(x.retains_grad());
  CHECK_ERROR(numbers({1}).retain_grad(), "retain_grad: this tensor does not require grad");
}

TEST_CASE("hooks run before the gradient is retained") {
  Tensor x = leaf({1});
  Tensor y = x * 3;
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.sum().backward();
  CHECK_CLOSE(y.grad(), numbers({10}));
}

TEST_CASE("backward may be called within a hook") {
  Tensor x = leaf({3}), w = leaf({5});
  Tensor y = x * 2;
  int done = 0;
  y.register_hook([&](const Tensor& g) {
    AutoGradMode recording(true);  // off in backward without create_graph
    (w * 4).sum().backward();
    detail::queue_callback([&] { ++done; });
    return g * w.grad();
  });
  y.sum().backward();
  CHECK_CLOSE(x.grad(), numbers({8}));
  CHECK(done == 1);
}

TEST_CASE("hooks are recorded under create_graph") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  y.register_hook([&](const Tensor& g) { return g * x; });
  Tensor first = autograd::grad({y.sum()}, {x}, {}, {}, true)[0];
  CHECK_CLOSE(first.detach(), numbers({18}));
  CHECK_CLOSE(autograd::grad({first}, {x})[0], numbers({12}));
}

}  // namespace
