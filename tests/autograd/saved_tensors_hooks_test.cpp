#include <tarn/autograd/saved_tensors_hooks.h>

#include <map>

#include <tarn/autograd/autograd.h>
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
using autograd::graph::save_on_cpu;
using autograd::graph::saved_tensors_hooks;

namespace {

Tensor leaf(IntArrayRef sizes) { return formula_tensor(sizes, kDouble, kUnit).requires_grad_(); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("saved tensors go through pack and unpack, also those that are transposed or outputs") {
  Tensor x = leaf({3, 4});
  auto f = [&] { return exp(tanh(x.t()) * x.t()).sum(); };
  f().backward();
  Tensor want = x.grad().clone();
  x.mutable_grad().reset();
  std::map<int, Tensor> store;
  int unpacked = 0;
  Tensor y;
  {
    saved_tensors_hooks hooks(
        [&](const Tensor& t) {
          CHECK_FALSE(GradMode::is_enabled());
          CHECK_FALSE(t.requires_grad());
          int key = int(store.size());
          store[key] = t.clone();
          return key;
        },
        [&](int key) { return ++unpacked, store.at(key); });
    y = f();
  }
  // tanh's output, both factors of the product, exp's output.
  CHECK(store.size() == 4);
  y.backward();
  CHECK(unpacked == 4);
  CHECK_SAME(x.grad(), want);
  int before = int(store.size());
  f();
  CHECK(int(store.size()) == before);
}

TEST_CASE("packed tensors have their history when the gradient is differentiated again") {
  Tensor x = leaf({4}), y;
  {
    saved_tensors_hooks hooks([](const Tensor& t) { return std::vector<Tensor>{t.clone()}; },
                              [](const std::vector<Tensor>& list) { return list[0]; });
    y = (x * x * x).sum();
  }
  Tensor first = autograd::grad({y}, {x}, {}, {}, true)[0];
  CHECK_CLOSE(autograd::grad({first.sum()}, {x})[0], (x * 6).detach());
}

TEST_CASE("the innermost hooks are asked, and those of a custom function's tensors too") {
  struct Square : autograd::Function<Square> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x;
    }
    static variable_list backward(autograd::AutogradContext* ctx, variable_list grads) {
      return {grads[0] * 2 * ctx->get_saved_variables()[0]};
    }
  };
  Tensor x = leaf({4}), y;
  int outer = 0, inner = 0;
  auto same = [](const Tensor& t) { return t; };
  {
    saved_tensors_hooks a([&](const Tensor& t) { return ++outer, t; }, same);
    {
      saved_tensors_hooks b([&](const Tensor& t) { return ++inner, t; }, same);
      y = Square::apply(x);
    }
    y = exp(y);
  }
  CHECK(inner == 1);
  CHECK(outer == 1);
  y.sum().backward();
  CHECK_CLOSE(x.grad(), (exp(x * x) * 2 * x).detach());
}

TEST_CASE("what pack and unpack may not do is refused") {
  Tensor x = leaf({2});
  auto same = [](const Tensor& t) { return t; };
  {
    saved_tensors_hooks hooks([](const Tensor& t) { return t.add_(1); }, same);
    CHECK_ERROR(exp(x), "exp: a pack hook changed a saved tensor of sizes [2] in place; call clone() first");
  }
  Tensor y;
  {
    saved_tensors_hooks hooks(same, [](const Tensor& t) { return t.slice(0, 0, 1); });
    y = exp(x).sum();
  }
  CHECK_ERROR(
      y.backward(),
      "exp: the unpack hook for output 0 returned Double of sizes [1], saved was Double of sizes [2]");
  {
    saved_tensors_hooks hooks(same, [](const Tensor&) { return Tensor(); });
    y = exp(x).sum();
  }
  CHECK_ERROR(y.backward(), "exp: the unpack hook for output 0 returned an undefined tensor");
}

TEST_CASE("a pack that returns the tensor itself is watched for writes, a copy is not") {
  Tensor x = leaf({2});
  auto same = [](const Tensor& t) { return t; };
  Tensor y, z;
  {
    saved_tensors_hooks hooks(same, same);
    y = exp(x);
  }
  y.mul_(2);
  CHECK(contains(error_of([&] { y.sum().backward(); }),
                 "exp: output 0 of sizes [2], which its gradient needs, was"));
  {
    saved_tensors_hooks hooks([](const Tensor& t) { return t.clone(); }, same);
    z = exp(x);
  }
  z.mul_(2);
  z.sum().backward();
  CHECK_CLOSE(x.grad(), (exp(x) * 2).detach());
}

TEST_CASE("save_on_cpu changes no gradient and costs a CPU tensor no copy") {
  Tensor x = leaf({64, 64}), y;
  matmul(exp(x), x).sum().backward();
  Tensor want = x.grad().clone();
  x.mutable_grad().reset();
  int64_t before = int64_t(cpu::memory_stats().live_bytes);
  exp(x);
  int64_t result = int64_t(cpu::memory_stats().live_bytes);
  CHECK(result == before);
  {
    save_on_cpu hooks;
    y = exp(x);
    CHECK(int64_t(cpu::memory_stats().live_bytes) - before < 2 * int64_t(x.nbytes()));
    y = matmul(y, x);
  }
  y.sum().backward();
  CHECK_SAME(x.grad(), want);
}

}  // namespace
