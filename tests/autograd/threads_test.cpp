// backward() on several threads: each does its own graph's work; leaves and parts of graphs may be shared.
// Values are small integers, so that sums do not depend on the order. Run these under ThreadSanitizer, too:
// ./dev test tsan -L autograd -R threads
#include <atomic>
#include <thread>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/checkpoint.h>
#include <tarn/autograd/custom_function.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using autograd::variable_list;

namespace {

constexpr int kThreads = 4;

// Runs f(thread) on all threads, which start together; assertions come after.
template <class F>
void on_threads(F f) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      f(t);
    });
  for (std::thread& thread : threads) thread.join();
}

Tensor numbers(std::vector<double> values) { return tensor_of(values, kDouble); }
Tensor leaf(std::vector<double> values) { return numbers(std::move(values)).requires_grad_(); }

TEST_CASE("threads with graphs of their own do not disturb each other") {
  std::vector<std::vector<double>> grads(kThreads);
  on_threads([&](int t) {
    Tensor x = leaf({double(t), 2});
    for (int i = 0; i < 200; ++i) {
      Tensor y = x * x, z = y.narrow(0, 0, 1);
      z.mul_(3);
      y.sum().backward();
    }
    grads[t] = values_of(x.grad());
  });
  for (int t = 0; t < kThreads; ++t) CHECK(grads[t] == std::vector<double>{200 * 6.0 * t, 200 * 4.0});
}

TEST_CASE("threads that share leaves lose no gradient") {
  Tensor w = leaf({1, 2, 3}), b = leaf({4});
  on_threads([&](int t) {
    for (int i = 0; i < 200; ++i) {
      Tensor x = numbers({1.0 + t, 1, 2});
      (w * x + b).sum().backward();
    }
  });
  CHECK_CLOSE(w.grad(), numbers({200 * 10, 200 * 4, 200 * 8}));
  CHECK_CLOSE(b.grad(), numbers({200 * 3 * kThreads}));
}

TEST_CASE("threads that use a leaf for the first time at once agree on where its gradient goes") {
  for (int round = 0; round < 100; ++round) {
    Tensor w = leaf({1, 2});
    on_threads([&](int t) { (w * double(t + 1)).sum().backward(); });
    REQUIRE(values_of(w.grad()) == std::vector<double>{10, 10});
  }
}

TEST_CASE("threads may go through a shared part of a graph that is retained") {
  Tensor w = leaf({1, 2});
  Tensor h = w * w;
  Tensor view = h.slice(0, 0, 1);
  on_threads([&](int t) {
    for (int i = 0; i < 50; ++i) (h * double(t + 1) + view).sum().backward({}, true);
  });
  // d(h * c + h[0] to each) / dw = 2 w c, and 2 * 2 w[0] for the first.
  CHECK_CLOSE(w.grad(), numbers({50 * (10 * 2 + kThreads * 4), 50 * 10 * 4}));
}

TEST_CASE("a shared part that one thread frees is an error for the others, or right") {
  for (int round = 0; round < 50; ++round) {
    Tensor w = leaf({1, 2}), h = w * w;
    std::atomic<int> done{0}, refused{0};
    on_threads([&](int) {
      std::string error = error_of([&] { (h * 3).sum().backward(); });
      if (error == "no error")
        ++done;
      else if (error.find("the graph is gone through a second time") != std::string::npos)
        ++refused;
    });
    REQUIRE(done + refused == kThreads);
    REQUIRE(done >= 1);
    REQUIRE(values_of(w.grad()) == std::vector<double>{6.0 * done, 12.0 * done});
  }
}

struct Counting : autograd::Function<Counting> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->saved_data["calls"] = 0;
    ctx->save_for_backward({x});
    return x * 2;
  }
  static variable_list backward(autograd::AutogradContext* ctx, variable_list grads) {
    ctx->saved_data["calls"] = ctx->saved_data["calls"].toInt() + 1;
    if (!ctx->needs_input_grad(0)) return {Tensor()};
    return {grads[0] * double(ctx->saved_data["calls"].toInt())};
  }
};

TEST_CASE("a custom function's context is used by one thread at a time") {
  Tensor w = leaf({1});
  Tensor h = Counting::apply(w);
  on_threads([&](int) {
    for (int i = 0; i < 25; ++i) (h * 1).backward({}, true);
  });
  // 1 + 2 + ... + 100.
  CHECK_CLOSE(w.grad(), numbers({5050}));
}

TEST_CASE("a checkpoint is run again by whichever thread comes first") {
  Tensor w = leaf({1, 2});
  Tensor h = autograd::checkpoint([](const Tensor& w) { return (w * w) * w; }, w);
  on_threads([&](int) {
    for (int i = 0; i < 10; ++i) h.sum().backward({}, true);
  });
  CHECK_CLOSE(w.grad(), numbers({10 * kThreads * 3, 10 * kThreads * 12}));
}

TEST_CASE("a hook may be removed while other threads run it") {
  Tensor w = leaf({1});
  std::atomic<int> calls{0};
  autograd::RemovableHandle handle = autograd::scoped_hook(w, [&](const Tensor&) { ++calls; });
  on_threads([&](int t) {
    for (int i = 0; i < 50; ++i) {
      if (t == 0 && i == 25) handle.remove();
      (w * 2).backward();
    }
  });
  CHECK(calls >= 25);
  CHECK_CLOSE(w.grad(), numbers({2 * 50 * kThreads}));
  int before = calls;
  (w * 2).backward();
  CHECK(calls == before);
}

TEST_CASE("modes belong to their thread") {
  NoGradGuard off;
  std::atomic<int> recorded{0};
  on_threads([&](int) { recorded += leaf({1}).mul(2).requires_grad(); });
  CHECK(recorded == kThreads);
  CHECK_FALSE(leaf({1}).mul(2).requires_grad());
}

}  // namespace
