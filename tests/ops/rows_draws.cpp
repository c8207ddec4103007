// Rows of the draws from other distributions. Their numbers are Tarn's own, so each has a test of what it
// promises: moments, the shape of the distribution, and independence of the number of threads.
#include <cmath>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/ops/rows.h>
#include <tarn/tests/ops/seeding.h>

namespace tarn::testing {

namespace {

constexpr int64_t kCount = 100000;
constexpr const char* kDrawn = "the numbers are drawn; only those that are certain are compared";

Tensor floats(int64_t n = kCount) { return detail::make_tensor({n}, kFloat); }
Tensor of_dtype(ScalarType dtype, int64_t n = kCount) { return detail::make_tensor({n}, dtype); }

// Kolmogorov's distance from a continuous distribution; it is below 1.95 / sqrt(n) but once in a thousand
// seeds, and the seed is fixed.
template <class F>
void check_distribution(const Tensor& drawn, F below) {
  std::vector<double> values = values_of(drawn);
  std::sort(values.begin(), values.end());
  double n = double(values.size()), most = 0;
  for (size_t i = 0; i < values.size(); ++i)
    most = std::max(
        {most, std::abs(below(values[i]) - double(i) / n), std::abs(below(values[i]) - double(i + 1) / n)});
  CHECK(most < 1.95 / std::sqrt(n));
}

// The chi-square distance of counts from probabilities of 0, 1, ...; values beyond them count as one more.
// It strays from its mean by 4.5 deviations once in many thousand seeds.
void check_counts(const Tensor& drawn, const std::vector<double>& probability) {
  std::vector<double> found(probability.size() + 1);
  for (double v : values_of(drawn)) {
    REQUIRE((v >= 0 && v == std::floor(v)));
    found[std::min(size_t(v), probability.size())] += 1;
  }
  double n = double(drawn.numel()), distance = 0, rest = 1, kinds = 0;
  auto add = [&](double p, double count) {
    if (n * p < 5) return;
    distance += (count - n * p) * (count - n * p) / (n * p);
    ++kinds;
  };
  for (size_t k = 0; k < probability.size(); ++k) {
    add(probability[k], found[k]);
    rest -= probability[k];
  }
  add(rest, found.back());
  REQUIRE(kinds > 1);
  CHECK(distance < kinds + 4.5 * std::sqrt(2 * kinds));
}

std::vector<double> poisson_probabilities(double mean, int n) {
  std::vector<double> p;
  for (int k = 0; k < n; ++k) p.push_back(std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0)));
  return p;
}

std::vector<double> binomial_probabilities(double n, double p) {
  std::vector<double> out;
  for (double k = 0; k <= n; ++k)
    out.push_back(std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                           k * std::log(p) + (n - k) * std::log1p(-p)));
  return out;
}

Tensor filled(double value, ScalarType dtype = kDouble, int64_t n = kCount) {
  return of_dtype(dtype, n).fill_(value);
}

std::vector<Row> continuous_rows() {
  return {
      {.name = "uniform_",
       .errors = {E("uniform_: needs a floating dtype, got Long; for integers use randint or random_",
                    x.uniform_(), typed(kLong, {2})),
                  E("uniform_: needs from <= to, both finite, got 2 and 1", x.uniform_(2, 1), {2}),
                  E("uniform_: needs from <= to, both finite, got 0 and inf", x.uniform_(0, INFINITY), {2})},
       .property =
           [] {
             manual_seed(1);
             auto below = [](double v) { return (v + 1) / 4; };
             check_distribution(floats().uniform_(-1, 3), below);
             check_distribution(of_dtype(kDouble).uniform_(-1, 3), below);
             check_seeding([] { return floats(30001).uniform_(); });
           }},
      {.name = "normal_",
       .errors = {E("normal_: needs a floating dtype, got Int", x.normal_(), typed(kInt, {2})),
                  E("normal_: std must be 0 or more, got -1", x.normal_(0, -1), {2}),
                  E("normal_: std must be 0 or more, got nan", x.normal_(0, NAN), {2})},
       .property =
           [] {
             manual_seed(1);
             auto below = [](double v) { return 0.5 * std::erfc(-(v - 1) / (3 * std::sqrt(2.0))); };
             check_distribution(floats().normal_(1, 3), below);
             check_distribution(of_dtype(kDouble).normal_(1, 3), below);
             check_seeding([] { return floats(30001).normal_(); });
           }},
      {.name = "exponential_",
       .errors = {E("exponential_: needs a floating dtype, got Long", x.exponential_(), typed(kLong, {2})),
                  E("exponential_: lambda must be positive, got 0", x.exponential_(0), {2}),
                  E("exponential_: lambda must be positive, got nan", x.exponential_(NAN), {2})},
       .property =
           [] {
             manual_seed(1);
             auto below = [](double v) { return 1 - std::exp(-2 * v); };
             check_distribution(floats().exponential_(2), below);
             check_distribution(of_dtype(kDouble).exponential_(2), below);
             CHECK(floats(0).exponential_().numel() == 0);
             check_seeding([] { return of_dtype(kDouble, 30001).exponential_(); });
             Generator g(7), h(7);
             CHECK_SAME(floats(9).exponential_(1, g), floats(9).exponential_(1, h));
             Tensor strided = detail::make_tensor({5, 6}, kFloat),
                    dense = detail::make_tensor({6, 5}, kFloat);
             CHECK_SAME(strided.t().exponential_(1, g).clone(), dense.exponential_(1, h));
           }},
      {.name = "cauchy_",
       .errors = {E("cauchy_: needs a floating dtype, got Int", x.cauchy_(), typed(kInt, {2})),
                  E("cauchy_: sigma must be positive, got 0", x.cauchy_(1, 0), {2}),
                  E("cauchy_: sigma must be positive, got -1", x.cauchy_(0, -1), {2})},
       .property =
           [] {
             manual_seed(1);
             check_distribution(of_dtype(kDouble).cauchy_(1, 3),
                                [](double v) { return 0.5 + std::atan((v - 1) / 3) / M_PI; });
             check_seeding([] { return floats(30001).cauchy_(); });
           }},
      {.name = "log_normal_",
       .errors = {E("log_normal_: needs a floating dtype, got Int", x.log_normal_(), typed(kInt, {2})),
                  E("log_normal_: std must be positive, got 0", x.log_normal_(1, 0), {2}),
                  E("log_normal_: std must be positive, got -1", x.log_normal_(0, -1), {2})},
       .property =
           [] {
             manual_seed(1);
             check_distribution(floats().log_normal_(0.5, 2), [](double v) {
               return 0.5 * std::erfc(-(std::log(v) - 0.5) / (2 * std::sqrt(2.0)));
             });
             check_seeding([] { return floats(30001).log_normal_(); });
           }},
  };
}

std::vector<Row> counting_rows() {
  return {
      {.name = "geometric_",
       .errors = {E("geometric_: Bool holds no counts", x.geometric_(0.5), mask({2})),
                  E("geometric_: p must be between 0 and 1, got 0", x.geometric_(0), {2}),
                  E("geometric_: p must be between 0 and 1, got 1", x.geometric_(1), {2})},
       .property =
           [] {
             manual_seed(1);
             std::vector<double> p{0};
             for (int k = 1; k < 30; ++k) p.push_back(0.3 * std::pow(0.7, k - 1));
             check_counts(floats().geometric_(0.3), p);
             check_counts(of_dtype(kLong).geometric_(0.3), p);
             // Numbers that the dtype does not hold are cut, not wrapped.
             for (double v : values_of(of_dtype(kChar, 1000).geometric_(1e-9))) REQUIRE(v >= 1);
             for (double v : values_of(of_dtype(kLong, 1000).geometric_(1e-300))) REQUIRE(v >= 1);
             check_seeding([] { return of_dtype(kLong, 30001).geometric_(0.01); });
           }},
      {.name = "poisson",
       .samples = {S(poisson(x), listed({0, 0, 0})), S(poisson(x), listed({0}, {})), S(poisson(x), {0, 3})},
       .errors = {E("poisson: rates must have a floating dtype, got Long", poisson(x), typed(kLong, {2})),
                  E("poisson: rates must be 0 or more and finite, got -1 at element 1", poisson(x),
                    listed({0, -1})),
                  E("poisson: rates must be 0 or more and finite, got inf at element 0", poisson(x),
                    listed({INFINITY}))},
       .property =
           [] {
             manual_seed(1);
             for (double mean : {0.3, 4.0, 9.9, 10.1, 40.0})
               check_counts(poisson(filled(mean)), poisson_probabilities(mean, 100));
             CHECK_CLOSE(poisson(tensor_of({0, 0})), tensor_of({0, 0}));
             double large = values_of(poisson(filled(1e15, kDouble, 1)))[0];
             CHECK(std::abs(large - 1e15) < 10 * std::sqrt(1e15));
             Tensor rates = filled(3, kFloat, 4).requires_grad_();
             poisson(rates).backward(filled(1, kFloat, 4));
             CHECK_SAME(rates.grad(), filled(0, kFloat, 4));
             check_seeding([] { return poisson(filled(20, kFloat, 30001)); });
           },
       .no_layouts = kDrawn},
      {.name = "binomial",
       .samples = {S(binomial(x, y), listed({7, 7, 2}), listed({0, 1, 1})),
                   S(binomial(x, y), listed({3}, {}), listed({1}, {})), S(binomial(x, y), {0, 3}, {0, 3})},
       .errors = {E("binomial: count and prob must have one floating dtype, got Float and Double",
                    binomial(x, y), {2}, typed(kDouble, {2})),
                  E("binomial: counts must be 0 or more and finite, got -1 at element 1", binomial(x, y),
                    listed({2, -1}), probability({2})),
                  E("binomial: probabilities must be between 0 and 1, got 1.5 at element 0", binomial(x, y),
                    listed({2, 1}), listed({1.5, 0})),
                  E("binomial: shapes [2] and [3] do not broadcast: dim 0 is 2 and 3", binomial(x, y), {2},
                    {3})},
       .property =
           [] {
             manual_seed(1);
             for (double p : {0.02, 0.3, 0.5, 0.9})
               for (double n : {1.0, 20.0, 200.0})
                 check_counts(binomial(filled(n), tensor_of({p}, kDouble)), binomial_probabilities(n, p));
             CHECK_CLOSE(binomial(tensor_of({7, 7, 0}), tensor_of({0, 1, 0.5})), tensor_of({0, 7, 0}));
             check_seeding([] { return binomial(filled(100, kFloat, 30001), tensor_of({0.4}, kFloat)); });
           },
       .no_layouts = kDrawn},
  };
}

std::vector<Row> category_rows() {
  return {
      {.name = "multinomial",
       .samples = {S(multinomial(x, 1), listed({0, 3, 0})),
                   S(multinomial(x, 4, true), listed({0, 0, 2, 0, 5, 0, 0, 0}, {2, 4}))},
       .errors = {E("multinomial: weights must have a floating dtype, got Long", multinomial(x, 1),
                    typed(kLong, {2})),
                  E("multinomial: weights must have 1 or 2 dims, got sizes [2, 2, 2]", multinomial(x, 1),
                    probability({2, 2, 2})),
                  E("multinomial: num_samples must be positive, got 0", multinomial(x, 0), probability({2})),
                  E("multinomial: 3 samples without replacement of 2 categories", multinomial(x, 3),
                    probability({2})),
                  E("multinomial: weights must be 0 or more and finite, got -1", multinomial(x, 1),
                    listed({2, -1})),
                  E("multinomial: the weights of a row must have a positive finite sum, got 0",
                    multinomial(x, 1), listed({0, 0})),
                  E("multinomial: 2 samples without replacement need as many positive weights, got 1",
                    multinomial(x, 2), listed({0, 3})),
                  E("multinomial: there are no categories in weights of sizes [0]", multinomial(x, 1), {0})},
       .property =
           [] {
             manual_seed(1);
             Tensor weights = tensor_of({1, 0, 4, 5});
             check_counts(multinomial(weights, kCount, true), {0.1, 0, 0.4, 0.5});
             // Of two draws without replacement: P(first, second) = p q / (1 - p).
             Tensor rows = weights.expand({kCount, 4}), pairs = rows.multinomial(2);
             CHECK(pairs.sizes() == IntArrayRef{kCount, 2});
             CHECK(pairs.dtype() == kLong);
             std::vector<double> p(12);
             std::vector<double> w{0.1, 0, 0.4, 0.5};
             for (size_t a = 0; a < 3; ++a)
               for (size_t b = 0; b < 4; ++b) p[a * 4 + b] = a == b ? 0 : w[a] * w[b] / (1 - w[a]);
             check_counts(add(mul(pairs.select(1, 0), 4), pairs.select(1, 1)), p);
             Generator g(7), h(7);
             CHECK_SAME(weights.multinomial(9, true, g), weights.multinomial(9, true, h));
             check_seeding([] { return multinomial(filled(1, kFloat, 3000).view({100, 30}), 20); });
             check_seeding([] { return multinomial(filled(1, kFloat, 3000).view({100, 30}), 40, true); });
           },
       .no_empty = "there must be weights",
       .no_layouts = kDrawn,
       .no_scalar = "there must be a dim of categories"},
  };
}

std::vector<Row> whole_dtype_rows() {
  return {
      {.name = "random_",
       .errors = {E("random_: needs low < high, got 0 and 0", x.random_(0), {2}),
                  E("random_: [0, 300) does not fit in Byte, which holds 0 to 255", x.random_(300),
                    typed(kByte, {2})),
                  E("random_: needs low < high, got 3 and 2", x.random_(3, 2), {2})},
       .property =
           [] {
             manual_seed(1);
             check_counts(of_dtype(kInt).random_(3), {1 / 3.0, 1 / 3.0, 1 / 3.0});
             check_counts(of_dtype(kByte).random_(), std::vector<double>(256, 1 / 256.0));
             check_counts(of_dtype(kBool).random_(), {0.5, 0.5});
             for (double v : values_of(of_dtype(kLong, 1000).random_())) REQUIRE((v >= 0 && v <= 0x1p63));
             std::vector<double> floats = values_of(of_dtype(kFloat, 1000).random_());
             for (double v : floats) REQUIRE((v >= 0 && v <= 0x1p24 && v == std::floor(v)));
             CHECK(*std::max_element(floats.begin(), floats.end()) > 0x1p23);
             check_seeding([] { return of_dtype(kLong, 30001).random_(); });
           }},
      {.name = "bernoulli_",
       .errors = {E("bernoulli_: p must have a floating dtype, got Long", x.bernoulli_(y), {2},
                    typed(kLong, {2})),
                  E("bernoulli: p must be between 0 and 1, got 1.5 at element 0", x.bernoulli_(y), {2},
                    listed({1.5, 0})),
                  E("bernoulli_: p must be between 0 and 1, got -1", x.bernoulli_(-1), {2})},
       .property =
           [] {
             manual_seed(1);
             check_counts(of_dtype(kLong).bernoulli_(tensor_of({0.3})), {0.7, 0.3});
             check_counts(filled(0.3).bernoulli(), {0.7, 0.3});
             CHECK_CLOSE(of_dtype(kInt, 3).bernoulli_(tensor_of({0, 1, 0})), tensor_of({0, 1, 0}, kInt));
             check_seeding([] { return floats(30001).bernoulli_(tensor_of({0.5})); });
           }},
  };
}

}  // namespace

std::vector<Row> draw_rows() {
  return join({continuous_rows(), counting_rows(), category_rows(), whole_dtype_rows()});
}

}  // namespace tarn::testing
