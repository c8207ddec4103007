// Rows of the random ops. Their numbers are Tarn's own, so instead of PyTorch's values each has a test of
// what it promises: range, moments, the seed's power, and independence of the number of threads.
#include <tarn/core/ops/random.h>
#include <tarn/core/parallel.h>

#include <cmath>

#include <tarn/tests/ops/rows.h>
#include <tarn/tests/ops/seeding.h>

namespace tarn::testing {

namespace {

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, most = -INFINITY;
};

Moments moments(const Tensor& t) {
  Moments m;
  std::vector<double> values = values_of(t);
  for (double v : values) {
    m.mean += v / double(values.size());
    m.least = std::min(m.least, v);
    m.most = std::max(m.most, v);
  }
  for (double v : values) m.variance += (v - m.mean) * (v - m.mean) / double(values.size());
  return m;
}

constexpr int64_t kCount = 200000;

// Means of kCount numbers stray by 5 standard errors once in two million seeds; the seed is fixed.
void check_uniform(const Tensor& t, double low, double high) {
  Moments m = moments(t);
  double width = high - low;
  CHECK(m.least >= low);
  CHECK(m.most < high);
  CHECK(std::abs(m.mean - (low + high) / 2) < 5 * width / std::sqrt(12.0 * kCount));
  CHECK(std::abs(m.variance - width * width / 12) < 0.01 * width * width);
}

void check_normal(const Tensor& t, double mean, double std) {
  Moments m = moments(t);
  CHECK(std::abs(m.mean - mean) < 5 * std / std::sqrt(double(kCount)));
  CHECK(std::abs(m.variance / (std * std) - 1) < 0.02);
  CHECK(m.most > mean + 3 * std);
}

std::vector<Row> drawing_rows() {
  return {
      {.name = "rand",
       .errors = {E("rand: sizes must not be negative, got [-1]", rand({-1})),
                  E("rand: needs a floating dtype, got Long; for integers use randint or random_",
                    rand({2}, kLong))},
       .property =
           [] {
             manual_seed(1);
             check_uniform(rand({kCount}), 0, 1);
             check_uniform(rand({kCount}, kDouble), 0, 1);
             CHECK(rand({0, 3}).numel() == 0);
             CHECK(rand({}).dim() == 0);
             check_seeding([] { return rand({100, 1000}); });
             Generator g(7), h(7);
             CHECK_SAME(rand({10}, g), rand({10}, h));
           },
       .few_errors = "takes sizes and options only"},
      {.name = "randn",
       .errors = {E("randn: sizes must not be negative, got [-1]", randn({-1})),
                  E("randn: needs a floating dtype, got Long", randn({2}, kLong))},
       .property =
           [] {
             manual_seed(1);
             check_normal(randn({kCount}), 0, 1);
             check_normal(randn({kCount}, kDouble), 0, 1);
             CHECK(randn({0, 3}).numel() == 0);
             check_seeding([] { return randn({100, 1001}); });
             Generator g(7), h(7);
             CHECK_SAME(randn({11}, g), randn({11}, h));
           },
       .few_errors = "takes sizes and options only"},
  };
}

std::vector<Row> shuffling_rows() {
  return {
      {.name = "randint",
       .errors = {E("randint: needs low < high, got 3 and 3", randint(3, 3, {2})),
                  E("randint: [0, 300) does not fit in Byte, which holds 0 to 255",
                    randint(0, 300, {2}, kByte)),
                  E("randint: sizes must not be negative, got [-1]", randint(5, {-1}))},
       .property =
           [] {
             manual_seed(1);
             Tensor t = randint(-3, 5, {kCount});
             Moments m = moments(t);
             CHECK(t.dtype() == kLong);
             CHECK((m.least == -3 && m.most == 4));
             CHECK(std::abs(m.mean - 0.5) < 5 * std::sqrt(63.0 / 12 / kCount));
             CHECK(moments(randint(1, {100})).most == 0);
             check_seeding([] { return randint(1000000, {100000}); });
           }},
      {.name = "randperm",
       .errors = {E("randperm: n must be 0 or more, got -1", randperm(-1)),
                  E("randperm: 299 does not fit in Byte", randperm(300, kByte))},
       .property =
           [] {
             manual_seed(1);
             std::vector<int64_t> order = values_of<int64_t>(randperm(1000));
             CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
             std::sort(order.begin(), order.end());
             for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[size_t(i)] == i);
             CHECK(randperm(0).numel() == 0);
             check_seeding([] { return randperm(50000); });
           },
       .few_errors = "takes one number"},
      {.name = "normal",
       .errors = {E("normal: std must be 0 or more, got -1", normal(0, -1, {2})),
                  E("normal: mean must be floating, got Long", normal(x, 1), typed(kLong, {2})),
                  E("normal: std must be 0 or more everywhere", normal(x, y), {2}, listed({1, -1}))},
       .property =
           [] {
             manual_seed(1);
             check_normal(normal(2, 3, {kCount}), 2, 3);
             Tensor means = tensor_of({-100, 0, 100});
             Tensor t = normal(means, tensor_of({0, 0, 0}));
             CHECK_CLOSE(t, means);
             check_seeding([] { return normal(0, 1, {10001}); });
           }},
      {.name = "bernoulli",
       .errors = {E("bernoulli: p must be between 0 and 1, got 1.5 at element 1", bernoulli(x),
                    listed({0.5, 1.5})),
                  E("bernoulli: p must have a floating dtype, got Long", bernoulli(x), typed(kLong, {2})),
                  E("bernoulli_: p must be between 0 and 1, got 2", bernoulli(x, 2), {2})},
       .property =
           [] {
             manual_seed(1);
             Moments m = moments(bernoulli(formula_tensor({kCount}), 0.3));
             CHECK((m.least == 0 && m.most == 1));
             CHECK(std::abs(m.mean - 0.3) < 5 * std::sqrt(0.21 / kCount));
             CHECK_CLOSE(bernoulli(tensor_of({0, 1, 0, 1})), tensor_of({0, 1, 0, 1}));
             check_seeding([] { return bernoulli(formula_tensor({100000}), 0.5); });
           }},
  };
}

std::vector<Row> other_rows() {
  return {
      {.name = "rand_like",
       .property =
           [] {
             Tensor t = rand_like(formula_tensor({2, 3}, kDouble));
             CHECK((t.dtype() == kDouble && t.sizes() == IntArrayRef{2, 3}));
           },
       .few_errors = "takes any floating tensor"},
      {.name = "randn_like",
       .property =
           [] {
             Tensor t = randn_like(formula_tensor({2, 3}, kDouble));
             CHECK((t.dtype() == kDouble && t.sizes() == IntArrayRef{2, 3}));
           },
       .few_errors = "takes any floating tensor"},
      {.name = "randint_like",
       .property =
           [] {
             Tensor t = randint_like(formula_tensor({2, 3}, kInt), 4, 6);
             CHECK((t.dtype() == kInt && t.sizes() == IntArrayRef{2, 3}));
             CHECK((moments(t).least >= 4 && moments(t).most <= 5));
           },
       .few_errors = "as randint"},
      {.name = "dropout",
       .errors = {E("dropout: p must be between 0 and 1, got 1.5", dropout(x, 1.5, true), {2}),
                  E("dropout: p must be between 0 and 1, got -0.5", dropout(x, -0.5, true), {2}),
                  E("dropout: needs a floating tensor, got Long", dropout(x, 0.5, true), typed(kLong, {2}))},
       .property =
           [] {
             manual_seed(1);
             Tensor x = tensor_of(std::vector<double>(kCount, 1.0)).requires_grad_();
             Tensor y = dropout(x, 0.2, true);
             Moments m = moments(y);
             CHECK((m.least == 0 && m.most == 1.25));
             CHECK(std::abs(m.mean - 1) < 5 * 0.5 / std::sqrt(double(kCount)));
             // What was dropped has no gradient, what was kept is scaled like the value.
             y.backward(tensor_of(std::vector<double>(kCount, 1.0)));
             CHECK_SAME(x.grad(), y.detach());
             CHECK_SAME(dropout(x, 0.2, false), x);
             CHECK(moments(dropout(x, 1, true)).most == 0);
             check_seeding([] { return dropout(formula_tensor({100000}), 0.5, true); });
           }},
  };
}

}  // namespace

std::vector<Row> random_rows() { return join({drawing_rows(), shuffling_rows(), other_rows()}); }

}  // namespace tarn::testing
