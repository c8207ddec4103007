#include <cmath>
#include <limits>

#include <tarn/core/cpu/reduce.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include "../support.h"

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
  CHECK_ERROR(sum(x, {1, -2}), "sum: dim -2 appears twice in [1, -2]");
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
