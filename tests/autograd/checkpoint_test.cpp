// checkpoint(): the same gradients, none of the memory.
#include <tarn/autograd/checkpoint.h>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/gradcheck.h>
#include <tarn/core/allocator.h>
#include <tarn/core/autocast.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/random.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::checkpoint;
using autograd::variable_list;

namespace {

Tensor leaf(IntArrayRef sizes, ScalarType dtype = kDouble) {
  return formula_tensor(sizes, dtype, kUnit).requires_grad_();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Tensor block(const Tensor& x, const Tensor& w) { return tanh(matmul(exp(tanh(x)), w)); }

TEST_CASE("a checkpointed block has the gradients of the plain one, to the bit") {
  Tensor x = leaf({4, 5}), w = leaf({5, 5});
  block(block(x, w), w).sum().backward();
  Tensor x_plain = x.grad().clone(), w_plain = w.grad().clone();
  x.mutable_grad().reset(), w.mutable_grad().reset();
  int runs = 0;
  auto counted = [&](const Tensor& x, const Tensor& w) { return ++runs, block(x, w); };
  Tensor y = checkpoint(counted, checkpoint(counted, x, w), w);
  CHECK(runs == 2);
  y.sum().backward();
  CHECK(runs == 4);
  CHECK_SAME(x.grad(), x_plain);
  CHECK_SAME(w.grad(), w_plain);
}

TEST_CASE("what f captures gets its gradient, arguments of other types are passed on") {
  Tensor x = leaf({3}), w = leaf({3});
  auto f = [w](const variable_list& list, double factor, std::optional<Tensor> none, int power) {
    CHECK_FALSE(none);
    return std::make_tuple(list[0] * w * factor, pow(list[1], power));
  };
  auto [a, b] = checkpoint(f, variable_list{x, x * 2}, 3.0, std::optional<Tensor>(), 2);
  (a + b).sum().backward();
  CHECK_CLOSE(w.grad(), (x * 3).detach());
  CHECK_CLOSE(x.grad(), (w * 3 + x * 8).detach());
}

TEST_CASE("a checkpointed block keeps no memory but its inputs and outputs") {
  Tensor x = formula_tensor({256, 256}, kFloat, kUnit).requires_grad_();
  auto deep = [](Tensor h) {
    for (int i = 0; i < 10; ++i) h = exp(tanh(h));
    return h;
  };
  auto grown = [&](auto forward) {
    int64_t before = int64_t(cpu::memory_stats().live_bytes);
    Tensor y = forward();
    return int64_t(cpu::memory_stats().live_bytes) - before;
  };
  int64_t plain = grown([&] { return deep(x); });
  int64_t kept = grown([&] { return checkpoint(deep, x); });
  CHECK(plain == 20 * 256 * 1024);
  CHECK(kept == 256 * 1024);
}

TEST_CASE("dropout draws the same mask again, and the generator goes on as if it had run once") {
  Tensor x = leaf({1000});
  auto f = [](const Tensor& x) { return tanh(x) * (rand_like(x) + rand_like(x).mul_(2)) * tanh(x); };
  manual_seed(5);
  f(x).sum().backward();
  Tensor want = x.grad().clone(), next = rand({3});
  x.mutable_grad().reset();
  manual_seed(5);
  Tensor y = checkpoint(f, x);
  Tensor after = rand({3});
  CHECK_SAME(after, next);
  uint64_t offset = default_generator().get_offset();
  y.sum().backward();
  CHECK(default_generator().get_offset() == offset);
  CHECK_SAME(x.grad(), want);

  x.mutable_grad().reset();
  manual_seed(5);
  checkpoint({.preserve_rng_state = false}, f, x).sum().backward();
  CHECK(default_generator().get_offset() > offset - 4);
  CHECK(bit_difference(x.grad(), want) != "");
}

TEST_CASE("f runs again under the autocast of its first run") {
  Tensor x = leaf({8, 8}, kFloat), w = leaf({8, 8}, kFloat);
  auto f = [&](const Tensor& x) { return matmul(tanh(matmul(x, w)), w); };
  auto gradient = [&](auto forward) {
    x.mutable_grad().reset();
    Tensor y;
    {
      AutocastGuard autocast(kCPU);
      y = forward();
    }
    CHECK(y.dtype() == kBFloat16);
    y.sum().backward();
    return x.grad().clone();
  };
  Tensor want = gradient([&] { return f(x); });
  CHECK_SAME(gradient([&] { return checkpoint(f, x); }), want);
}

TEST_CASE("checkpoints nest") {
  Tensor x = leaf({6});
  int inner_runs = 0, outer_runs = 0;
  auto inner = [&](const Tensor& x) { return ++inner_runs, exp(tanh(x)); };
  auto outer = [&](const Tensor& x) { return ++outer_runs, tanh(checkpoint(inner, exp(x) * x)); };
  tanh(exp(tanh(exp(x) * x))).sum().backward();
  Tensor want = x.grad().clone();
  x.mutable_grad().reset();
  checkpoint(outer, x).sum().backward();
  CHECK_CLOSE(x.grad(), want);
  CHECK(outer_runs >= 2);
  CHECK(inner_runs >= 2);
}

TEST_CASE("checkpoint under create_graph, grad() and retain_graph") {
  auto f = [](const variable_list& in) {
    return variable_list{
        checkpoint([](const Tensor& x, const Tensor& w) { return tanh(x * w).exp(); }, in[0], in[1])};
  };
  CHECK(autograd::gradcheck(f, {leaf({4}), leaf({4})}));
  CHECK(autograd::gradgradcheck(f, {leaf({4}), leaf({4})}));
  Tensor x = leaf({4});
  int runs = 0;
  Tensor y = checkpoint([&](const Tensor& x) { return ++runs, exp(tanh(x)); }, x).sum();
  Tensor first = autograd::grad({y}, {x}, {}, true)[0], second = autograd::grad({y}, {x}, {}, true)[0];
  CHECK(runs == 3);
  CHECK_SAME(first, second);
}

TEST_CASE("without grad mode f is just called, and a result that needs no gradient has no history") {
  int runs = 0;
  auto f = [&](const Tensor& x) { return ++runs, exp(x); };
  {
    NoGradGuard no_grad;
    CHECK_FALSE(checkpoint(f, leaf({2})).requires_grad());
  }
  CHECK_FALSE(checkpoint(f, formula_tensor({2}, kDouble)).requires_grad());
  CHECK(runs == 2);
}

TEST_CASE("a function that does not do the same again is refused") {
  Tensor x = leaf({3});
  int runs = 0;
  auto fewer = [&](const Tensor& x) { return runs++ == 0 ? tanh(exp(x)) : exp(x); };
  CHECK(contains(
      error_of([&] { checkpoint(fewer, x).sum().backward(); }),
      "checkpoint: the function saved 2 tensors for backward when it ran first and 1 when it ran again"));
  runs = 0;
  auto other = [&](const Tensor& x) { return exp(runs++ == 0 ? x : x.slice(0, 0, 2)); };
  CHECK(contains(error_of([&] { checkpoint(other, x).sum().backward(); }),
                 "returned Double of sizes [2], saved was"));
}

TEST_CASE("changes in place between the two runs are refused") {
  Tensor x = leaf({3}), w = leaf({3});
  Tensor h = x * 1;
  Tensor y = checkpoint([](const Tensor& h) { return exp(h); }, h);
  h.add_(1);
  CHECK(contains(error_of([&] { y.sum().backward(); }), "checkpoint: input 0 of sizes [3]"));

  y = checkpoint([w](const Tensor& x) { return x * w; }, x);
  {
    NoGradGuard no_grad;
    w.add_(1);
  }
  CHECK(contains(error_of([&] { y.sum().backward(); }), "that the function uses was changed in place since"));

  auto spoils_its_own = [](const Tensor& x) { return exp(x).mul_(2); };
  y = checkpoint(spoils_its_own, x);
  CHECK(contains(error_of([&] { y.sum().backward(); }), "in place after an op saved it for its gradient"));
}

TEST_CASE("what leaves the checkpoint may be written: the second run makes it anew") {
  Tensor x = leaf({3});
  Tensor y = checkpoint([](const Tensor& x) { return exp(x); }, x);
  y.mul_(2);
  y.sum().backward();
  CHECK_CLOSE(x.grad(), (exp(x) * 2).detach());
}

TEST_CASE("an error of f in its second run comes out of backward, which can be called again") {
  Tensor x = leaf({3});
  bool fails = false;
  Tensor y = checkpoint(
      [&](const Tensor& x) {
        Tensor h = exp(x);
        check(!fails, "out of luck");
        return tanh(h);
      },
      x);
  fails = true;
  CHECK_ERROR(y.sum().backward(), "out of luck");
  fails = false;
  y.sum().backward();
  CHECK(x.grad().defined());
}

}  // namespace
