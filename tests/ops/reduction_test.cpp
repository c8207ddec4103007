#include <algorithm>
#include <cmath>
#include <functional>

#include <tarn/core/cpu/reduce.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/ops/differences.h>
#include <tarn/tests/support.h>

using namespace tarn;
using testing::tensor_of;
using testing::values_of;

namespace {

// The slow and obvious sum: every element into the output its kept index names.
std::vector<double> slow_sum(const Tensor& x, detail::DimSet dims) {
  Dims sizes = x.sizes(), steps(int(x.dim()), 0);
  int64_t outputs = 1;
  for (int d = int(x.dim()) - 1; d >= 0; --d) {
    if (dims >> d & 1) continue;
    steps[d] = outputs;
    outputs *= sizes[d];
  }
  std::vector<double> v = values_of(x), sums(size_t(outputs), 0.0);
  for (int64_t i = 0; i < int64_t(v.size()); ++i) {
    int64_t rest = i, at = 0;
    for (int d = int(x.dim()) - 1; d >= 0; --d) {
      at += rest % sizes[d] * steps[d];
      rest /= sizes[d];
    }
    sums[size_t(at)] += v[size_t(i)];
  }
  return sums;
}

std::vector<int64_t> listed(detail::DimSet set) {
  std::vector<int64_t> dims;
  for (int d = 0; d < kMaxRank; ++d)
    if (set >> d & 1) dims.push_back(d);
  return dims;
}

// Tensors of one content in the layouts that take different ways through the kernels.
std::vector<Tensor> layouts(const Tensor& x) {
  std::vector<Tensor> all = {x, x.transpose(0, -1).contiguous().transpose(0, -1)};
  Tensor spaced = zeros({x.size(0), x.size(1), x.size(2), 2 * x.size(3)}, x.dtype()).slice(3, 0, {}, 2);
  spaced.copy_(x);
  all.push_back(spaced);
  all.push_back(x.contiguous(MemoryFormat::ChannelsLast));
  return all;
}

}  // namespace

TEST_CASE("sum over any dims of any layout is the slow sum") {
  manual_seed(1);
  for (ScalarType dtype : {kFloat, kDouble, kBFloat16, kInt}) {
    Tensor x =
        dtype == kInt ? randint(-50, 50, {5, 70, 3, 33}, kInt) : randn({5, 70, 3, 33}, kFloat).to(dtype);
    for (const Tensor& y : layouts(x)) {
      for (detail::DimSet dims = 1; dims < 16; ++dims) {
        Tensor got = sum(y, listed(dims), false, dtype == kInt ? kLong : kDouble);
        std::vector<double> want = slow_sum(y, dims);
        CHECK_CLOSE(got, tensor_of(want, got.dtype(), got.sizes().vec()), {1e-5, 1e-4});
      }
    }
  }
}

TEST_CASE("sums of long rows and tall columns are exact for small integers") {
  for (int64_t n : {1, 63, 64, 65, 4095, 4096, 4097, 8192, 100000, 300001}) {
    Tensor x = arange(n, kFloat).remainder(7);
    double want = slow_sum(x, 1)[0];
    CHECK(sum(x).item<double>() == want);
    CHECK(sum(x.unsqueeze(1).expand({n, 2}).contiguous(), 0).select(0, 1).item<double>() == want);
    CHECK(sum(x.unsqueeze(1).expand({n, 2}), {0}).select(0, 0).item<double>() == want);
  }
}

TEST_CASE("sums are the same bits for any number of threads") {
  manual_seed(2);
  std::vector<std::pair<Tensor, std::vector<int64_t>>> cases = {{randn({1000003}), {}},
                                                                {randn({7, 50021}), {1}},
                                                                {randn({50021, 7}), {0}},
                                                                {randn({3000, 600}), {0}},
                                                                {randn({16, 8, 40, 41}), {0, 2, 3}},
                                                                {randn({9, 5, 4000}), {0, 2}},
                                                                {randn({40000, 3}), {1}},
                                                                {randn({300000}, kDouble), {}}};
  int before = get_num_threads();
  set_num_threads(1);
  std::vector<Tensor> expected;
  for (auto& [x, dims] : cases) expected.push_back(sum(x, dims));
  for (int threads : {2, 3, 4, 8}) {
    set_num_threads(threads);
    for (size_t i = 0; i < cases.size(); ++i) CHECK_SAME(sum(cases[i].first, cases[i].second), expected[i]);
  }
  set_num_threads(before);
}

TEST_CASE("a long float sum keeps its digits") {
  Tensor x = full({1 << 24}, 0.1);
  CHECK(sum(x).item<double>() == Approx((1 << 24) * double(0.1f)).epsilon(1e-6));
  Tensor tall = full({1 << 20, 4}, 0.1);
  CHECK(sum(tall, 0).select(0, 3).item<double>() == Approx((1 << 20) * double(0.1f)).epsilon(1e-6));
}

TEST_CASE("sum takes its dtype from the input") {
  CHECK(sum(ones({3}, kBool)).dtype() == kLong);
  CHECK(sum(ones({3}, kBool)).item<int64_t>() == 3);
  CHECK(sum(full({300}, 255, kByte)).item<int64_t>() == 76500);
  CHECK(sum(ones({3}, kHalf)).dtype() == kHalf);
  CHECK(sum(ones({3}), kDouble).dtype() == kDouble);
  CHECK(sum(full({3}, 1.7), kLong).item<int64_t>() == 3);
  // bf16 stops counting at 256; the sum is formed in float.
  CHECK(sum(ones({1000}, kBFloat16)).item<double>() == 1000);
}

TEST_CASE("sum keeps and drops dims") {
  Tensor x = ones({2, 3, 4});
  CHECK(sum(x, 1).sizes() == IntArrayRef({2, 4}));
  CHECK(sum(x, {0, -1}, true).sizes() == IntArrayRef({1, 3, 1}));
  CHECK(sum(x, IntArrayRef{}, true).sizes() == IntArrayRef({1, 1, 1}));
  CHECK(sum(ones({}), 0).item<double>() == 1);
  CHECK(sum(zeros({0, 3}), 0).sizes() == IntArrayRef({3}));
  CHECK(sum(zeros({0, 3})).item<double>() == 0);
  CHECK(sum(zeros({3, 0}), 0).numel() == 0);
  CHECK_ERROR(sum(x, 3), "sum: dim 3 is outside of a tensor of rank 3; use -3 to 2");
  CHECK_ERROR(sum(x, {1, -2}), "sum: dim 1 is given twice in [1, -2]");
}

TEST_CASE("mean divides in the compute type") {
  CHECK(mean(tensor_of({1, 2, 6})).item<double>() == 3);
  CHECK_CLOSE(mean(tensor_of({1, 2, 3, 5}, kFloat, {2, 2}), 0), tensor_of({2, 3.5}));
  CHECK(std::isnan(mean(zeros({0})).item<double>()));
  CHECK(mean(ones({4}, kLong), kFloat).item<double>() == 1);
  CHECK_ERROR(mean(ones({2}, kLong)),
              "mean: needs a floating dtype, got Long; call to(kFloat) first or give a dtype");
}

TEST_CASE("the mean of large values does not overflow") {
  CHECK(mean(full({1000}, 3e38)).item<double>() == Approx(3e38).epsilon(1e-6));
  Tensor x = tensor_of({3e38, 3e38, 1, 3, INFINITY, 1, NAN, 1}, kFloat, {4, 2});
  CHECK_CLOSE(mean(x, 1), tensor_of({3e38, 2, INFINITY, NAN}));
}

TEST_CASE("prod multiplies, and integers wrap into int64") {
  CHECK_SAME(prod(tensor_of({2, 3, 4, 5}, kFloat, {2, 2}), 0), tensor_of({8, 15}));
  CHECK(prod(full({70}, 2, kInt)).item<int64_t>() == 0);
  CHECK(prod(full({62}, 2, kByte)).item<int64_t>() == int64_t(1) << 62);
  CHECK(prod(zeros({0})).item<double>() == 1);
  CHECK(prod(ones({2}, kLong), kFloat).dtype() == kFloat);
}

TEST_CASE("any and all look for what is not zero") {
  Tensor x = tensor_of({0, 0, 0, 0.25, 1, NAN}, kFloat, {3, 2});
  CHECK_SAME(any(x, 1), tensor_of({0, 1, 1}, kBool));
  CHECK_SAME(all(x, 1), tensor_of({0, 0, 1}, kBool));
  CHECK(any(x).item<bool>());
  CHECK_FALSE(all(x).item<bool>());
  CHECK_FALSE(any(zeros({0})).item<bool>());
  CHECK(all(zeros({0})).item<bool>());
  CHECK(any(ones({2}, kByte)).dtype() == kByte);
  CHECK(all(ones({1000}, kBool)).item<bool>());
}

TEST_CASE("amax and amin find NaN first") {
  Tensor x = tensor_of({3, -1, 7, 2, NAN, 5}, kFloat, {2, 3});
  CHECK_SAME(amax(x, 1), tensor_of({7, NAN}));
  CHECK_SAME(amin(x, 0), tensor_of({2, NAN, 5}));
  CHECK(std::isnan(max(x).item<double>()));
  CHECK(min(tensor_of({4, 200, 9}, kByte)).item<int64_t>() == 4);
  CHECK(max(full({5}, -INFINITY)).item<double>() == -INFINITY);
  CHECK(amax(full({3}, INT64_MIN, kLong)).item<int64_t>() == INT64_MIN);
  CHECK_ERROR(amax(zeros({0, 3}), 0), "amax: dim 0 of a tensor of shape [0, 3] is empty and has no maximum");
}

TEST_CASE("max and min along a dim give the first place") {
  Tensor x = tensor_of({1, 5, 5, 9, NAN, NAN, -2, -2, -3}, kFloat, {3, 3});
  auto [values, places] = max(x, 1);
  CHECK_SAME(values, tensor_of({5, NAN, -2}));
  CHECK_SAME(places, tensor_of({1, 1, 0}, kLong));
  CHECK_SAME(argmin(x, 0), tensor_of({2, 1, 1}, kLong));
  CHECK_SAME(argmax(x.t(), 0), tensor_of({1, 1, 0}, kLong));
  CHECK(argmax(x).item<int64_t>() == 4);
  CHECK(argmax(tensor_of({0, 1, 1}, kBool)).item<int64_t>() == 1);
  CHECK(argmax(x, 1, true).sizes() == IntArrayRef({3, 1}));
  CHECK(argmax(full({}, 3.0)).item<int64_t>() == 0);
}

TEST_CASE("places in long rows and wide columns are those of the slow search") {
  manual_seed(3);
  for (Tensor x : {randint(0, 1000, {3, 70001}), randint(0, 50, {700, 600}), randint(0, 9, {20, 30, 7})}) {
    for (int64_t dim = 0; dim < x.dim(); ++dim) {
      Tensor moved = x.movedim(dim, -1).contiguous();
      std::vector<int64_t> v = values_of<int64_t>(moved), want;
      int64_t n = moved.size(-1);
      for (size_t row = 0; row < v.size(); row += size_t(n))
        want.push_back(std::max_element(v.begin() + row, v.begin() + row + n) - (v.begin() + row));
      CHECK(values_of<int64_t>(argmax(x, dim)) == want);
      CHECK(values_of<int64_t>(std::get<1>(max(x.to(kFloat), dim))) == want);
    }
  }
}

TEST_CASE("var and std of known numbers") {
  Tensor x = tensor_of({1, 2, 3, 4, 2, 2, 2, 2}, kFloat, {2, 4});
  CHECK_CLOSE(var(x, {1}), tensor_of({5.0 / 3, 0}));
  CHECK_CLOSE(var(x, {1}, false), tensor_of({1.25, 0}));
  CHECK_CLOSE(tarn::std(x, {1}, false, true), tensor_of({std::sqrt(1.25), 0}, kFloat, {2, 1}));
  CHECK_CLOSE(var(x, {1}, 2), tensor_of({2.5, 0}));
  CHECK_CLOSE(var(x, 1), x.var(1));
  CHECK_CLOSE(var(x), x.var(true));
  CHECK_CLOSE(var(x, false) * 8, var(x, true) * 7);
  auto [variance, average] = var_mean(x, {1});
  CHECK_CLOSE(average, tensor_of({2.5, 2}));
  CHECK_CLOSE(variance, var(x, {1}));
  CHECK(std::isnan(var(ones({1})).item<double>()));
  CHECK_ERROR(var(ones({2}, kLong)), "var: needs a floating tensor, got Long; call to(kFloat) first");
}

TEST_CASE("the variance of a large constant is zero, and small spreads survive large means") {
  CHECK(var(full({1001}, 1234567.8)).item<double>() == 0);
  Tensor x = arange(1000, kFloat).remainder(2) + 1e6;  // 1e6 and 1e6 + 1
  CHECK(var(x, false).item<double>() == Approx(0.25).epsilon(1e-6));
}

TEST_CASE("norms of known numbers") {
  Tensor x = tensor_of({3, -4, 0, 0}, kFloat, {2, 2});
  CHECK(norm(x).item<double>() == 5);
  CHECK_CLOSE(norm(x, 2, 1), tensor_of({5, 0}));
  CHECK_CLOSE(norm(x, 1, 1), tensor_of({7, 0}));
  CHECK_CLOSE(norm(x, 0, 1), tensor_of({2, 0}));
  CHECK_CLOSE(norm(x, INFINITY, 1), tensor_of({4, 0}));
  CHECK_CLOSE(norm(x, -INFINITY, 1), tensor_of({3, 0}));
  CHECK_CLOSE(norm(x, 3, 1, true), tensor_of({std::cbrt(91), 0}, kFloat, {2, 1}));
  CHECK(norm(full({4}, 1e30)).item<double>() == Approx(2e30).epsilon(1e-6));
  CHECK(norm(full({4}, 1e-30)).item<double>() == Approx(2e-30).epsilon(1e-6));
  CHECK_ERROR(norm(ones({2}, kInt)), "norm: needs a floating tensor, got Int; call to(kFloat) first");
  CHECK_ERROR(norm(zeros({0}), INFINITY), "norm: p = inf is not defined for no elements, got sizes [0]");
}

TEST_CASE("logsumexp survives large and infinite values") {
  CHECK_CLOSE(logsumexp(tensor_of({1000, 1000, 0, 0}, kFloat, {2, 2}), 1),
              tensor_of({1000 + std::log(2), std::log(2)}));
  CHECK(logsumexp(full({3}, -INFINITY), 0).item<double>() == -INFINITY);
  CHECK(logsumexp(tensor_of({INFINITY, 1}), 0).item<double>() == INFINITY);
  CHECK(logsumexp(zeros({0}), 0).item<double>() == -INFINITY);
}

TEST_CASE("cumsum runs along its dim") {
  Tensor x = tensor_of({1, 2, 3, 4}, kFloat, {2, 2});
  CHECK_SAME(cumsum(x, 0), tensor_of({1, 2, 4, 6}, kFloat, {2, 2}));
  CHECK_SAME(cumsum(x.t(), 0), tensor_of({1, 3, 3, 7}, kFloat, {2, 2}));
  CHECK_SAME(cumsum(ones({3}, kBool), 0), tensor_of({1, 2, 3}, kLong));
  CHECK(cumsum(full({100000}, 0.1), 0).select(0, -1).item<double>() ==
        Approx(1e5 * double(0.1f)).epsilon(1e-7));
  CHECK(cumsum(full({}, 2.0), 0).item<double>() == 2);
  CHECK_ERROR(cumsum(x, 2), "cumsum: dim 2 is outside of a tensor of rank 2; use -2 to 1");
}

TEST_CASE("gradients of reductions agree with differences") {
  using F = std::function<Tensor(const Tensor&)>;
  std::vector<F> functions = {
      [](const Tensor& x) { return sum(x, 1); },
      [](const Tensor& x) {
        return mean(x, {0, 2}, true);
      },
      [](const Tensor& x) { return prod(x, 1); },
      [](const Tensor& x) { return prod(x.select(0, 0)); },
      [](const Tensor& x) {
        return amax(x, {0, 1});
      },
      [](const Tensor& x) { return min(x); },
      [](const Tensor& x) { return std::get<0>(max(x, 2)); },
      [](const Tensor& x) {
        return var(x, {1, 2});
      },
      [](const Tensor& x) { return tarn::std(x, 0, false); },
      [](const Tensor& x) { return std::get<0>(var_mean(x, {1})) * std::get<1>(var_mean(x, {1})); },
      [](const Tensor& x) { return std::get<0>(std_mean(x, {1})) * std::get<1>(std_mean(x, {1})); },
      [](const Tensor& x) { return norm(x); },
      [](const Tensor& x) { return norm(x, 1, 1); },
      [](const Tensor& x) { return norm(x, 3, 1); },
      [](const Tensor& x) { return norm(x, 1.5, 1); },
      [](const Tensor& x) { return norm(x, INFINITY, 1); },
      [](const Tensor& x) {
        return logsumexp(x, {0, 2});
      },
      [](const Tensor& x) { return cumsum(x, 1); },
  };
  Tensor x = randn({3, 4, 2}, Generator(11), kDouble);
  for (const F& f : functions) {
    testing::check_gradient(f, x);
    testing::check_second_gradient(f, x);
  }
}

TEST_CASE("the gradient of a product knows its zeros") {
  for (Tensor x : {tensor_of({2, 0, 3, 4}, kDouble), tensor_of({2, 0, 0, 4}, kDouble)}) {
    auto f = [](const Tensor& t) { return prod(t); };
    testing::check_gradient(f, x);
    testing::check_second_gradient(f, x);
  }
}
