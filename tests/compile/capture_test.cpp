// Capture by running: every case runs the same program eagerly and compiled, compares to the bit, and counts
// what was recorded. A silent re-record is a failure.
#include <thread>

#include <tarn/core/allocator.h>
#include <tarn/tests/compile/support.h>

namespace tarn {
namespace {

using namespace testing;
using S = CompileStats;

Tensor leaf(IntArrayRef sizes, int64_t b = 60) { return formula_tensor(sizes, kFloat, {.b = b, .d = 128}); }

TEST_CASE("a function of ops gives eager's bits and is recorded once") {
  Tensor w = leaf({6});
  auto f = [&](const Tensor& x) { return (x * w + 1).relu().sum(1) / 3; };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 5; ++i) CHECK_SAME(compiled(batch(4, i)), f(batch(4, i)));
  CHECK(growth(&S::nodes) == 5);
  CHECK(growth(&S::followed) == 20);
  CHECK(growth(&S::mismatches) == 0);
  CHECK(growth(&S::plans) == 1);
  CHECK(growth(&S::segments) == 5);
  CHECK(growth(&S::breaks) == 0);
}

TEST_CASE("numbers are arguments, their kinds are not") {
  auto f = [](const Tensor& x, Scalar s) { return x * s; };
  auto compiled = compile(f);
  Tensor ints = tensor_of({1, 2, 3}, kLong);
  Growth growth;
  for (double s : {0.5, 2.0, 3.25}) CHECK_SAME(compiled(ints, s), f(ints, s));
  CHECK(growth(&S::nodes) == 1);
  CHECK_SAME(compiled(ints, 2), f(ints, 2));
  CHECK(compiled(ints, 2).dtype() == kLong);
  CHECK(growth(&S::nodes) == 2);
}

TEST_CASE("a number that must be whole is checked again") {
  auto compiled = compile([](const Tensor& x, double s) { return x.clone().fill_(s); });
  Tensor ints = tensor_of({1, 2, 3}, kLong);
  CHECK_SAME(compiled(ints, 2.0), tensor_of({2, 2, 2}, kLong));
  CHECK(error_of([&] { ints.clone().fill_(2.5); }) == error_of([&] { compiled(ints, 2.5); }));
}

// Runs `steps` steps eagerly and compiled; `change` prepares step i and may change anything.
template <class Change>
void train_both(int steps, Change change, bool adam = false, bool norm = true) {
  Task eager(adam, norm), task(adam, norm);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return task.step(x, y); });
  std::vector<Tensor> losses, expected;
  for (int i = 0; i < steps; ++i) {
    int64_t n = 4;
    change(eager, i, n);
    change(task, i, n);
    manual_seed(uint64_t(i));
    expected.push_back(eager.step(batch(n, i), labels(n, i)));
    manual_seed(uint64_t(i));
    losses.push_back(step(batch(n, i), labels(n, i)));
  }
  CHECK(bit_difference_of(losses, expected) == "");  // kept losses keep their values
  CHECK(bit_difference_of(task.state(), eager.state()) == "");
}

void nothing(Task&, int, int64_t&) {}

TEST_CASE("a training step with SGD is recorded in two calls") {
  Growth growth;
  train_both(8, nothing);
  // The second call finds momentum buffers where the first made them.
  CHECK(growth(&S::mismatches) == 1);
  CHECK(growth(&S::plans) == 2);
  CHECK(growth(&S::segments) == 8);
  CHECK(growth(&S::breaks) == 0);
}

TEST_CASE("a training step with Adam is recorded in two calls") {
  Growth growth;
  train_both(8, nothing, true);
  CHECK(growth(&S::mismatches) <= 1);
  CHECK(growth(&S::plans) == 2);
  CHECK(growth(&S::breaks) == 0);
}

TEST_CASE("a changing learning rate records nothing") {
  Growth growth;
  train_both(
      8, [](Task& t, int i, int64_t&) { t.optimizer->param_groups()[0].options().set_lr(0.1 / (i + 1)); });
  CHECK(growth(&S::mismatches) == 1);
  CHECK(growth(&S::plans) == 2);
}

TEST_CASE("another batch size is another trace") {
  Growth growth;
  train_both(9, [](Task&, int i, int64_t& n) { n = i % 3 == 2 ? 7 : 4; });
  CHECK(growth(&S::mismatches) == 2);
  CHECK(growth(&S::plans) == 3);
}

TEST_CASE("train and eval alternate") {
  Growth growth;
  train_both(9, [](Task& t, int i, int64_t&) { t.net->train(i % 3 != 2); });
  CHECK(growth(&S::mismatches) == 2);
  CHECK(growth(&S::plans) == 3);
}

TEST_CASE("a parameter without gradient for a while") {
  train_both(9, [](Task& t, int i, int64_t&) { t.net->parameters()[0].requires_grad_(i % 4 < 2); });
}

TEST_CASE("a branch on a value") {
  auto program = [](Task& t, const Tensor& x, const Tensor& y) {
    Tensor loss = t.step(x, y);
    if (loss.item<double>() > 1.05) loss = loss * 2 + x.sum();
    return loss - 1;
  };
  Task eager, task;
  auto step = compile([&](const Tensor& x, const Tensor& y) { return program(task, x, y); });
  Growth growth;
  int high = 0;
  for (int i = 0; i < 12; ++i) {
    manual_seed(uint64_t(i));
    Tensor want = program(eager, batch(4, i), labels(4, i));
    high += want.item<double>() > 0.05;
    manual_seed(uint64_t(i));
    CHECK_SAME(step(batch(4, i), labels(4, i)), want);
  }
  CHECK((high > 0 && high < 12));
  CHECK(growth(&S::breaks) == 12);
  CHECK(growth(&S::segments) == 24);
  CHECK(growth(&S::mismatches) <= 4);
  CHECK(bit_difference_of(task.state(), eager.state()) == "");
}

TEST_CASE("kept and dropped handles choose the plan") {
  Tensor w = leaf({6});
  std::vector<Tensor> kept;
  auto f = [&](const Tensor& x, bool keep_first, bool keep_view) {
    Tensor a = x * w, b = a + 1;
    if (keep_first) kept.push_back(a);
    if (keep_view) kept.push_back(b.select(0, 1));
    return b.relu();
  };
  auto compiled = compile(f);
  Growth growth;
  for (int round = 0; round < 3; ++round) {
    for (int c = 0; c < 4; ++c) {
      kept.clear();
      Tensor got = compiled(batch(4, round), c & 1, c & 2);
      std::vector<Tensor> compiled_kept = std::exchange(kept, {});
      CHECK_SAME(got, f(batch(4, round), c & 1, c & 2));
      CHECK(bit_difference_of(compiled_kept, kept) == "");
    }
  }
  CHECK(growth(&S::plans) == 4);
}

TEST_CASE("a hundred kept results stay different") {
  auto compiled = compile([](const Tensor& x) { return (x * 2).sum(); });
  std::vector<Tensor> results;
  Growth growth;
  for (int i = 0; i < 100; ++i) results.push_back(compiled(full({3}, i)));
  for (int i = 0; i < 100; ++i) CHECK(results[size_t(i)].item<float>() == float(6 * i));
  CHECK(growth(&S::plans) == 1);
}

TEST_CASE("arguments that share memory") {
  auto f = [](const Tensor& a, const Tensor& b) {
    a.mul_(2);
    Tensor c = a + b;
    b.add_(c);
    return c * a;
  };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 6; ++i) {
    Tensor x = batch(4, i), y = batch(4, i + 1), x2 = x.clone(), y2 = y.clone();
    switch (i % 3) {
      case 0:
        CHECK_SAME(compiled(x, y), f(x2, y2));
        break;
      case 1:
        CHECK_SAME(compiled(x, x), f(x2, x2));
        break;
      case 2:  // other rows of one storage
        CHECK_SAME(compiled(x.narrow(0, 0, 3), x.narrow(0, 1, 3)), f(x2.narrow(0, 0, 3), x2.narrow(0, 1, 3)));
    }
    CHECK_SAME(x, x2);
    CHECK_SAME(y, y2);
  }
  CHECK(growth(&S::plans) == 3);
}

TEST_CASE("views and writes through them") {
  auto f = [](const Tensor& x) {
    Tensor y = x.clone();
    y.select(0, 1).add_(10);
    Tensor t = y.t();
    t.narrow(0, 1, 2).mul_(3);
    y.view({-1}).narrow(0, 2, 4).copy_(x.view({-1}).narrow(0, 0, 4));
    return std::make_tuple(y, t.contiguous(), y.as_strided({2, 2}, {1, 3}, 1));
  };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 4; ++i) {
    auto [a, b, c] = compiled(batch(4, i));
    auto [d, e, g] = f(batch(4, i));
    CHECK_SAME(a, d);
    CHECK_SAME(b, e);
    CHECK_SAME(c, g);
    CHECK(c.is_alias_of(a));
  }
  CHECK(growth(&S::mismatches) == 0);
  CHECK(growth(&S::plans) == 1);
}

TEST_CASE("as_strided starts where it says, not where its input does") {
  auto f = [](const Tensor& x) { return x.as_strided({2}, {1}, 3) * 2; };
  auto compiled = compile(f);
  Tensor base = leaf({10});
  for (int i = 0; i < 6; ++i) {
    Tensor x = base.narrow(0, i % 3, 4);
    CHECK_SAME(compiled(x), f(x));
  }
}

TEST_CASE("inputs are replaced, written by others, or returned") {
  Tensor w = leaf({6});
  auto f = [&](const Tensor& x) { return std::make_pair(x, x + w); };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 5; ++i) {
    if (i == 2) w = leaf({6}, 99);
    if (i == 3) w.add_(1);
    Tensor x = batch(4, i);
    auto [same, sum] = compiled(x);
    CHECK(same.is_same(x));
    CHECK_SAME(sum, f(x).second);
  }
  CHECK(growth(&S::nodes) == 1);
}

TEST_CASE("gradients accumulate over calls and double backward works inside") {
  auto program = [](const Tensor& w, const Tensor& x) {
    Tensor loss = (x * w).tanh().pow(2).sum();
    Tensor g = autograd::grad({loss}, {w}, {}, {}, true)[0];
    (g * g).sum().backward();
    return g.detach();
  };
  Tensor w1 = leaf({6}).requires_grad_(), w2 = leaf({6}).requires_grad_();
  auto compiled = compile([&](const Tensor& x) { return program(w2, x); });
  for (int i = 0; i < 6; ++i) {
    if (i == 4) w1.mutable_grad().reset(), w2.mutable_grad().reset();
    CHECK_SAME(compiled(batch(4, i)), program(w1, batch(4, i)));
    CHECK_SAME(w2.grad(), w1.grad());
  }
}

TEST_CASE("an error of a shape is eager's and leaves the function usable") {
  Tensor w = leaf({6});
  auto f = [&](const Tensor& x) {
    w.mul_(1.5);
    return x.matmul(w.view({6, 1})) + 1;
  };
  auto compiled = compile(f);
  for (int i = 0; i < 6; ++i) {
    Tensor before = w.clone();
    Tensor x = i % 2 ? leaf({4, 5}) : batch(4, i);
    std::string eager_error = error_of([&] { f(x); });
    Tensor after = w.clone();
    w.copy_(before);
    CHECK(error_of([&] { compiled(x); }) == eager_error);
    CHECK_SAME(w, after);  // what was done before the error is done
  }
}

TEST_CASE("the user's exception passes through") {
  Tensor w = leaf({6}), plain = w.clone();
  auto program = [](const Tensor& t, int i) {
    t.add_(1);
    if (i % 2) throw std::runtime_error("stop");
    t.mul_(2);
    return t.sum();
  };
  auto compiled = compile([&](int i) { return program(w, i); });
  for (int i = 0; i < 6; ++i) {
    bool threw = false;
    try {
      compiled(i);
    } catch (const std::runtime_error&) {
      threw = true;
    }
    try {
      program(plain, i);
    } catch (const std::runtime_error&) {
    }
    CHECK(threw == (i % 2 == 1));
    CHECK_SAME(w, plain);
  }
}

TEST_CASE("a failing kernel loses what it makes and nothing else") {
  Tensor table = leaf({5, 3}), kept, other;
  auto f = [&](const Tensor& index) {
    other = table * 2;
    kept = table.index_select(0, index) + 1;
    return kept.sum();
  };
  auto compiled = compile(f);
  Tensor good = tensor_of({1, 2}, kLong), bad = tensor_of({1, 7}, kLong);
  for (int i = 0; i < 4; ++i) {
    CHECK_SAME(compiled(good), f(good));
    std::string text = error_of([&] { compiled(bad); });
    CHECK(text == error_of([&] { table.index_select(0, bad); }));
    CHECK_SAME(other, table * 2);
    CHECK_ERROR(kept.item<float>() + kept.sum().item<float>(),
                "item: a tensor of one element is needed, got sizes [2, 3]");
    CHECK_ERROR(
        kept.data_ptr(),
        "tensor: this tensor of sizes [2, 3] has no values, because an op of the compiled function that "
        "makes it failed");
  }
}

TEST_CASE("compiled functions nest") {
  auto inner = compile([](const Tensor& x) { return x.exp() + 1; });
  auto outer = compile([&](const Tensor& x) { return inner(inner(x).log()) * 2; });
  Growth growth;
  for (int i = 0; i < 3; ++i) {
    Tensor x = batch(4, i);
    CHECK_SAME(outer(x), ((x.exp() + 1).log().exp() + 1) * 2);
  }
  CHECK(growth(&S::calls) == 3);
  CHECK(growth(&S::segments) == 3);
}

TEST_CASE("printing, pointers and accessors see values") {
  auto f = [](const Tensor& x) {
    Tensor y = x * 2;
    std::string text = str(y.sizes()) + to_string(y);
    y.add_(1);
    float first = *y.data_ptr<float>();
    y.data_ptr<float>()[1] = 5;
    return std::make_tuple(text, first, y * 3, x.add_(1));
  };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 3; ++i) {
    Tensor a = batch(2, i), b = batch(2, i);
    auto [text, first, y, x] = compiled(a);
    auto [text2, first2, y2, x2] = f(b);
    CHECK(text == text2);
    CHECK(first == first2);
    CHECK_SAME(y, y2);
    CHECK_SAME(x, x2);
  }
  CHECK(growth(&S::breaks) == 3 * 2);
}

TEST_CASE("a graph break is an error where the user says so, with the place") {
  auto f = [](const Tensor& x) { return (x * 2).sum().item<float>(); };
  auto strict = compile(f, {.fullgraph = true});
  std::string text = error_of([&] { strict(ones({2})); });
  INFO(text);
  CHECK(text.find("compile: graph break: item() at ") == 0);
  CHECK(text.find("needs a value before the compiled function has ended") != text.npos);
  auto lax = compile(f);
  CHECK(lax(ones({2})) == 4);
  {
    ErrorOnGraphBreak on;
    CHECK(error_of([&] { lax(ones({2})); }) != "no error");
    ErrorOnGraphBreak off(false);
    CHECK(strict(ones({2})) == 4);
  }
  CHECK(lax(ones({2})) == 4);
}

TEST_CASE("random numbers are eager's") {
  auto f = [](const Tensor& x) { return dropout(x, 0.5, true) + rand({6}) + randn_like(x); };
  auto compiled = compile(f);
  Growth growth;
  for (int i = 0; i < 4; ++i) {
    manual_seed(uint64_t(7 + i));
    Tensor want = f(batch(4, i)), next = rand({2});
    manual_seed(uint64_t(7 + i));
    CHECK_SAME(compiled(batch(4, i)), want);
    CHECK_SAME(rand({2}), next);
  }
  CHECK(growth(&S::mismatches) == 0);
}

TEST_CASE("dead tensors pin nothing and live bytes return") {
  Task task;
  auto step = compile([&](const Tensor& x, const Tensor& y) { return task.step(x, y); });
  step(batch(4, 0), labels(4, 0));
  step(batch(4, 0), labels(4, 0));
  task.optimizer->zero_grad();
  auto live = [] { return cpu::memory_stats().live_bytes; };
  auto before = live();
  for (int i = 0; i < 20; ++i) step(batch(4, i), labels(4, i));
  task.optimizer->zero_grad();
  CHECK(live() == before);
}

TEST_CASE("threads share a compiled function") {
  Tensor w = leaf({6});
  auto f = [&](const Tensor& x) { return (x * w).relu().sum(); };
  auto compiled = compile(f);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Tensor x = batch(4, i + t);
        if (!bit_difference(compiled(x), f(x)).empty()) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a pending tensor on another thread raises") {
  std::string text;
  auto compiled = compile([&](const Tensor& x) {
    Tensor y = x + 1;
    std::thread([&] { text = error_of([&] { (y * 2).sum(); }); }).join();
    return y;
  });
  CHECK_SAME(compiled(ones({2})), full({2}, 2.0));
  CHECK(text.find("is made by a compiled function that runs on another thread") != text.npos);
}

TEST_CASE("the default dtype is part of what was seen") {
  auto f = [](const Tensor& x) { return x / 2; };
  auto compiled = compile(f);
  Tensor ints = tensor_of({1, 2, 3}, kLong);
  CHECK(compiled(ints).dtype() == kFloat);
  set_default_dtype(kDouble);
  CHECK(compiled(ints).dtype() == kDouble);
  set_default_dtype(kFloat);
  CHECK(compiled(ints).dtype() == kFloat);
}

TEST_CASE("wrong options are refused by name") {
  CHECK_ERROR(compile([] {}, {.mode = "fast"}),
              "compile: mode must be \"default\", \"reduce-overhead\" or \"max-autotune\", got \"fast\"");
  CHECK_ERROR(
      compile([] {}, {.verify = true}),
      "compile: verify is not available in this version; compare with a run under TARN_COMPILE=plain");
}

}  // namespace
}  // namespace tarn
