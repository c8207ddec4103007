#include <cmath>
#include <set>

#include <tarn/core/cpu/philox.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::values_of;

namespace {

struct Moments {
  double mean, variance, lowest, highest;
};

Moments moments(const Tensor& x) {
  std::vector<double> v = values_of(x);
  Moments m{0, 0, v[0], v[0]};
  for (double a : v) {
    m.mean += a / double(v.size());
    m.lowest = std::min(m.lowest, a);
    m.highest = std::max(m.highest, a);
  }
  for (double a : v) m.variance += (a - m.mean) * (a - m.mean) / double(v.size());
  return m;
}

}  // namespace

TEST_CASE("the same seed gives the same numbers for any number of threads") {
  int before = get_num_threads();
  auto draw = [] {
    manual_seed(3);
    std::vector<Tensor> all = {rand({100003}),         randn({100003}),      rand({5001}, kDouble),
                               randn({5001}, kDouble), randint(10, {50001}), randperm(1000)};
    all.push_back(dropout(ones({70001}), 0.3, true));
    all.push_back(bernoulli(full({1001}, 0.5)));
    return all;
  };
  set_num_threads(1);
  std::vector<Tensor> expected = draw();
  for (int threads : {2, 3, 8}) {
    set_num_threads(threads);
    std::vector<Tensor> got = draw();
    for (size_t i = 0; i < got.size(); ++i) CHECK_SAME(got[i], expected[i]);
  }
  set_num_threads(before);
}

TEST_CASE("uniform numbers come from the published Philox stream") {
  Generator g(7);
  std::vector<double> v = values_of(rand({1000}, g));
  for (int64_t i : {0, 1, 2, 3, 4, 500, 999}) {
    CHECK(v[i] == detail::uniform_float(detail::philox_block(7, uint64_t(i) / 4).w[i % 4]));
  }
  CHECK(g.get_offset() == 1000);
}

TEST_CASE("a generator goes on from a state that was kept") {
  Generator g(123456789012345);
  rand({1000}, g);
  Tensor state = g.get_state();
  Tensor expected = randn({77}, g);
  Generator other(1);
  other.set_state(state);
  CHECK_SAME(randn({77}, other), expected);
  CHECK(other.current_seed() == 123456789012345);
  CHECK_ERROR(g.set_state(zeros({16})), "Generator: a state is 16 contiguous bytes, got Float [16]");
  CHECK_ERROR(g.set_state(ones({16}, kByte)),
              "Generator: offset must be a multiple of 4, got 72340172838076673");
  CHECK(g.current_seed() == 123456789012345);
}

TEST_CASE("the first numbers of a longer tensor are those of a shorter one") {
  for (int64_t n : {1, 2, 5, 255, 256, 257, 1000}) {
    CHECK_SAME(randn({n}, Generator(5)), randn({3000}, Generator(5)).narrow(0, 0, n).contiguous());
    CHECK_SAME(randn({n}, Generator(5), kDouble),
               randn({3000}, Generator(5), kDouble).narrow(0, 0, n).contiguous());
  }
}

TEST_CASE("uniform numbers have the right moments and range") {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    manual_seed(1);
    Moments m = moments(rand({100000}, dtype));
    CHECK(m.mean == Approx(0.5).margin(0.01));
    CHECK(m.variance == Approx(1 / 12.0).margin(0.002));
    CHECK(m.lowest >= 0);
    CHECK(m.highest < 1);
    Moments scaled = moments(empty({100000}, dtype).uniform_(-2, 4));
    CHECK(scaled.mean == Approx(1).margin(0.05));
    CHECK(scaled.lowest >= -2);
    CHECK(scaled.highest <= 4);
  }
}

TEST_CASE("a uniform number never reaches the upper end") {
  CHECK(moments(empty({1 << 20}).uniform_(1, 1 + 0x1p-20)).highest < 1 + 0x1p-20);
}

TEST_CASE("normal numbers have the right moments and tails") {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    manual_seed(2);
    Tensor x = randn({200000}, dtype);
    Moments m = moments(x);
    CHECK(m.mean == Approx(0).margin(0.01));
    CHECK(m.variance == Approx(1).margin(0.02));
    double beyond2 = 0, skew = 0, kurtosis = 0, neighbours = 0;
    std::vector<double> v = values_of(x);
    for (size_t i = 0; i < v.size(); ++i) {
      beyond2 += std::abs(v[i]) > 2;
      skew += v[i] * v[i] * v[i];
      kurtosis += v[i] * v[i] * v[i] * v[i];
      if (i > 0) neighbours += v[i] * v[i - 1];
    }
    double n = double(v.size());
    CHECK(beyond2 / n == Approx(0.0455).margin(0.003));
    CHECK(skew / n == Approx(0).margin(0.05));
    CHECK(kurtosis / n == Approx(3).margin(0.1));
    CHECK(neighbours / n == Approx(0).margin(0.01));
  }
  Moments scaled = moments(normal(3, 0.5, {100000}));
  CHECK(scaled.mean == Approx(3).margin(0.01));
  CHECK(scaled.variance == Approx(0.25).margin(0.01));
}

TEST_CASE("float and double normal numbers follow Box and Muller") {
  detail::Words w = detail::philox_block(9, 0);
  double u = (double(w.w[0] >> 1) + 0.25) * 0x1p-31, turn = double(w.w[1]) * 0x1p-32;
  double r = std::sqrt(-2 * std::log(u)), angle = 2 * M_PI * turn;
  std::vector<double> v = values_of(randn({2}, Generator(9)));
  CHECK(v[0] == Approx(r * std::cos(angle)).epsilon(1e-5));
  CHECK(v[1] == Approx(r * std::sin(angle)).epsilon(1e-5));

  u = detail::uniform_double(w.w[0], w.w[1]) + 0x1p-54;
  turn = (double(w.w[3]) + double(w.w[2]) * 0x1p-32) * 0x1p-32;
  r = std::sqrt(-2 * std::log(u));
  angle = 2 * M_PI * turn;
  v = values_of(randn({2}, Generator(9), kDouble));
  CHECK(v[0] == Approx(r * std::cos(angle)).epsilon(1e-12));
  CHECK(v[1] == Approx(r * std::sin(angle)).epsilon(1e-12));
}

TEST_CASE("integers fill their range evenly") {
  manual_seed(4);
  std::vector<int64_t> v = values_of<int64_t>(randint(-3, 4, {70000}));
  std::vector<int> counts(7);
  for (int64_t a : v) {
    REQUIRE((a >= -3 && a < 4));
    ++counts[a + 3];
  }
  for (int count : counts) CHECK(std::abs(count - 10000) < 500);
  Moments wide = moments(randint(INT64_MIN, INT64_MAX, {10000}));
  CHECK(std::abs(wide.mean) < 0x1p63 * 0.05);
  CHECK(wide.highest > 0x1p62);
  CHECK(randint(0, 2, {10}, TensorOptions(kBool)).dtype() == kBool);
}

TEST_CASE("randperm is a permutation, and not always the same") {
  std::vector<int64_t> v = values_of<int64_t>(randperm(1000));
  CHECK(std::set<int64_t>(v.begin(), v.end()).size() == 1000);
  CHECK(*std::max_element(v.begin(), v.end()) == 999);
  CHECK(values_of<int64_t>(randperm(1000)) != v);
  CHECK(randperm(0).numel() == 0);
  CHECK(randperm(100, kInt).dtype() == kInt);
  std::vector<int> first(4);
  for (int i = 0; i < 4000; ++i) ++first[values_of<int64_t>(randperm(4))[0]];
  for (int count : first) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("bernoulli is 1 as often as p says") {
  manual_seed(5);
  CHECK(moments(empty({100000}).bernoulli_(0.3)).mean == Approx(0.3).margin(0.01));
  CHECK(moments(empty({1000}).bernoulli_(1)).lowest == 1);
  CHECK(moments(empty({1000}).bernoulli_(0)).highest == 0);
  CHECK(moments(empty({100000}, kBool).bernoulli_(0.7)).mean == Approx(0.7).margin(0.01));
  CHECK_SAME(bernoulli(testing::tensor_of({0, 1, 0, 1})), testing::tensor_of({0, 1, 0, 1}));
  CHECK(bernoulli(ones({5}), 0.0).dtype() == kFloat);
}

TEST_CASE("dropout zeroes and scales") {
  manual_seed(6);
  Tensor y = dropout(ones({100000}), 0.25, true);
  int64_t zeros = 0;
  for (double a : values_of(y)) {
    zeros += a == 0;
    REQUIRE((a == 0 || a == Approx(4.0 / 3).epsilon(1e-6)));
  }
  CHECK(zeros / 1e5 == Approx(0.25).margin(0.01));
  CHECK(moments(dropout(ones({100}), 1, true)).highest == 0);
}

TEST_CASE("dropout by nothing or outside of training is the identity") {
  Tensor x = ones({4});
  CHECK(dropout(x, 0, true).is_same(x));
  CHECK(dropout(x, 0.5, false).is_same(x));
  CHECK_ERROR(dropout(x, 1.5, true), "dropout: p must be between 0 and 1, got 1.5");
  CHECK_ERROR(dropout(ones({2}, kLong), 0.5, true), "dropout: needs a floating tensor, got Long");
}

TEST_CASE("random fills reach every element of a tensor that is not row-major") {
  Tensor x = zeros({30, 20}).t();
  x.uniform_(1, 2, Generator(8));
  CHECK(moments(x).lowest >= 1);
  CHECK_SAME(x.contiguous(), zeros({20, 30}).uniform_(1, 2, Generator(8)));
}

TEST_CASE("random functions name what they cannot do") {
  CHECK_ERROR(rand({2}, kLong),
              "rand: needs a floating dtype, got Long; for integers use randint or random_");
  CHECK_ERROR(ones({2}).uniform_(2, 1), "uniform_: needs from <= to, both finite, got 2 and 1");
  CHECK_ERROR(ones({2}).normal_(0, -1), "normal_: std must be 0 or more, got -1");
  CHECK_ERROR(randint(3, 3, {2}), "randint: needs low < high, got 3 and 3");
  CHECK_ERROR(randint(0, 300, {2}, TensorOptions(kByte)),
              "randint: [0, 300) does not fit in Byte, which holds 0 to 255");
  CHECK_ERROR(randperm(-1), "randperm: n must be 0 or more, got -1");
  CHECK_ERROR(randperm(1000, kByte), "randperm: 999 does not fit in Byte");
  CHECK_ERROR(ones({2}).bernoulli_(2), "bernoulli_: p must be between 0 and 1, got 2");
  CHECK_ERROR(bernoulli(full({2}, 1.5)), "bernoulli: p must be between 0 and 1, got 1.5 at element 0");
}
