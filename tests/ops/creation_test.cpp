#include <tarn/core/ops/creation.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::tensor_of;
using testing::values_of;

TEST_CASE("zeros, ones and full hold one value") {
  CHECK_SAME(zeros({2, 3}), tensor_of({0, 0, 0, 0, 0, 0}, kFloat, {2, 3}));
  CHECK_SAME(ones({2}, kLong), tensor_of({1, 1}, kLong));
  CHECK_SAME(full({3}, 2.5, kHalf), tensor_of({2.5, 2.5, 2.5}, kHalf));
  CHECK_SAME(zeros({0, 3}), tensor_of({}, kFloat, {0, 3}));
  CHECK_SAME(ones({}), tensor_of({1}, kFloat, {}));
}

TEST_CASE("full takes its dtype from the value") {
  CHECK(full({1}, 1).dtype() == kLong);
  CHECK(full({1}, true).dtype() == kBool);
  CHECK(full({1}, 1.0).dtype() == kFloat);
  CHECK(full({1}, 1, kDouble).dtype() == kDouble);
  CHECK(scalar_tensor(3).dtype() == kFloat);
}

TEST_CASE("arange counts from start to below end") {
  CHECK_SAME(arange(4), tensor_of({0, 1, 2, 3}, kLong));
  CHECK_SAME(arange(2, 5), tensor_of({2, 3, 4}, kLong));
  CHECK_SAME(arange(5, 0, -2), tensor_of({5, 3, 1}, kLong));
  CHECK_SAME(arange(0.0, 1.0, 0.25), tensor_of({0, 0.25, 0.5, 0.75}));
  CHECK_SAME(arange(3, kFloat), tensor_of({0, 1, 2}));
  CHECK_SAME(arange(1, 4, 1, kBFloat16), tensor_of({1, 2, 3}, kBFloat16));
  CHECK(arange(3, 3).numel() == 0);
  CHECK(arange(0.0, 1.0, 0.1).numel() == 10);
}

TEST_CASE("arange is exact for large integers") {
  int64_t large = (int64_t(1) << 60) + 1;
  CHECK(values_of<int64_t>(arange(large, large + 3)) == std::vector<int64_t>{large, large + 1, large + 2});
}

TEST_CASE("arange names steps that lead nowhere") {
  CHECK_ERROR(arange(0, 5, 0), "arange: step must not be 0");
  CHECK_ERROR(arange(0, 5, -1), "arange: a step of -1 does not lead from 0 to 5");
  CHECK_ERROR(arange(5.0, 0.0, 0.5), "arange: a step of 0.5 does not lead from 5 to 0");
  CHECK_ERROR(arange(0.0, INFINITY, 1.0), "arange: start and end must be finite, got 0 and inf");
  CHECK_ERROR(arange(0.0, 1.0, NAN), "arange: step must not be 0 or NaN, got nan");
}

TEST_CASE("linspace includes both ends") {
  CHECK_CLOSE(linspace(0, 1, 5), tensor_of({0, 0.25, 0.5, 0.75, 1}));
  CHECK_SAME(linspace(3, 9, 1), tensor_of({3}));
  CHECK(linspace(0, 1, 0).numel() == 0);
  Tensor t = linspace(-1, 1, 7, kDouble);
  std::vector<double> v = values_of(t);
  for (int i = 0; i < 7; ++i) CHECK(v[i] == -v[6 - i]);
  CHECK_ERROR(linspace(0, 1, -1), "linspace: steps must be 0 or more, got -1");
}

TEST_CASE("eye has ones on its diagonal") {
  CHECK_SAME(eye(2), tensor_of({1, 0, 0, 1}, kFloat, {2, 2}));
  CHECK_SAME(eye(2, 3, kInt), tensor_of({1, 0, 0, 0, 1, 0}, kInt, {2, 3}));
  CHECK_SAME(eye(3, 1), tensor_of({1, 0, 0}, kFloat, {3, 1}));
  CHECK(eye(0).numel() == 0);
  CHECK_ERROR(eye(-1), "eye: sizes must be 0 or more, got -1 and -1");
}

TEST_CASE("like functions keep dtype and layout") {
  Tensor x = empty({2, 3, 4, 5}, kHalf, MemoryFormat::ChannelsLast);
  CHECK(x.is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(zeros_like(x).strides() == x.strides());
  CHECK(ones_like(x).dtype() == kHalf);
  CHECK(empty_like(x, kFloat).dtype() == kFloat);
  CHECK(empty_like(x, {}, MemoryFormat::Contiguous).is_contiguous());
  CHECK(full_like(x, 3).strides() == x.strides());
  Tensor transposed = empty({3, 4}).t();
  CHECK(zeros_like(transposed).strides() == transposed.strides());
  CHECK(zeros_like(empty({1, 4}).expand({3, 4})).is_contiguous());
}

TEST_CASE("empty_strided has the strides it is given") {
  Tensor x = empty_strided({2, 3}, {1, 2});
  CHECK(x.strides() == IntArrayRef({1, 2}));
  CHECK_ERROR(empty_strided({2}, {1, 1}), "empty_strided: sizes [2] and strides [1, 1] differ in number");
  CHECK_ERROR(empty_strided({2}, {-1}),
              "empty_strided: strides must be 0 or more and fit in memory, got [-1]");
}

TEST_CASE("impossible sizes are named") {
  CHECK(testing::error_of([] { zeros({2, -1}); }).find("zeros: ") == 0);
  CHECK(testing::error_of([] { zeros({int64_t(1) << 40, int64_t(1) << 40}); }).find("zeros: ") == 0);
  std::vector<int64_t> many(17, 1);
  CHECK_ERROR(ones(many),
              "ones: at most 16 dims are supported, got sizes [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
              "1, 1]");
  CHECK_ERROR(empty({2, 3}, {}, MemoryFormat::ChannelsLast),
              "empty: channels_last needs 4 dims, got sizes [2, 3]");
}
