#include <tarn/core/ops/indexing.h>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
using namespace tarn::indexing;

namespace {

using Ints = std::vector<int64_t>;
Ints ints(const Tensor& t) { return values_of<int64_t>(t); }

Tensor counting(IntArrayRef sizes) {
  Tensor t = detail::make_tensor(sizes, kLong);
  fill_with(t, [](int64_t i) { return double(i); });
  return t;
}

Tensor longs(const Ints& values) {
  Tensor t = detail::make_tensor({int64_t(values.size())}, kLong);
  fill_with(t, [&](int64_t i) { return double(values[size_t(i)]); });
  return t;
}

}  // namespace

TEST_CASE("integers, slices, None and Ellipsis make views") {
  Tensor x = counting({2, 3, 4});
  CHECK(ints(x.index({1, Slice(0, 2), -1})) == Ints{15, 19});
  CHECK(x.index({"...", 0}).sizes() == IntArrayRef({2, 3}));
  CHECK(x.index({None, Ellipsis, Slice(None, None, 2)}).sizes() == IntArrayRef({1, 2, 3, 2}));
  CHECK(x.index({1}).is_alias_of(x));
}

TEST_CASE("index tensors broadcast against each other") {
  Tensor x = counting({3, 4});
  CHECK(ints(x.index({longs({0, 2}), longs({1, 3})})) == Ints{1, 11});
  CHECK(x.index({longs({0, 2}).view({2, 1}), longs({1, 3, 0})}).sizes() == IntArrayRef({2, 3}));
  CHECK(ints(x.index({Slice(), longs({-1})})) == Ints{3, 7, 11});
}

TEST_CASE("index tensors that are apart put their dims in front") {
  Tensor x = counting({2, 3, 4});
  CHECK(x.index({longs({0, 1, 0, 1, 0}), Slice(), longs({0})}).sizes() == IntArrayRef({5, 3}));
  CHECK(x.index({Slice(), longs({0, 1, 0, 1, 0}), longs({0})}).sizes() == IntArrayRef({2, 5}));
  CHECK(ints(x.index({longs({1}), Slice(), longs({2})})) == Ints{14, 18, 22});
}

TEST_CASE("a mask picks elements in row-major order") {
  Tensor x = counting({2, 3});
  Tensor mask = longs({0, 1, 0, 1, 1, 0}).to(kBool).view({2, 3});
  CHECK(ints(x.index({mask})) == Ints{1, 3, 4});
  CHECK(ints(masked_select(x, mask)) == Ints{1, 3, 4});
  CHECK_ERROR(x.index({longs({1, 0, 1}).to(kBool)}),
              "index: a mask of sizes [3] does not fit a tensor of sizes [2, 3] at dim 0");
}

TEST_CASE("index_put_ writes what index reads") {
  Tensor x = counting({2, 3});
  x.index_put_({longs({1, 0}), longs({2, 0})}, longs({50, 60}));
  CHECK(ints(x) == Ints{60, 1, 2, 3, 4, 50});
  x.index_put_({Slice(), 1}, 9);
  CHECK(ints(x) == Ints{60, 9, 2, 3, 9, 50});
  x.index_put_({longs({0, 0, 0, 0, 1, 1}).to(kBool).view({2, 3})}, 0);
  CHECK(ints(x) == Ints{60, 9, 2, 3, 0, 0});
}

TEST_CASE("an index outside of its dim is named") {
  CHECK_ERROR(counting({3}).index({longs({3})}),
              "index: index 3 is outside of a dim of size 3; x has sizes [3] with the indexed dims in front");
  CHECK_ERROR(counting({3}).index({5}), "select: index 5 is outside of dim 0 of a tensor of sizes [3]");
  CHECK_ERROR(counting({3}).index({0, 0}),
              "index: an index for 2 dims is too long for a tensor of sizes [3]");
  CHECK_ERROR(counting({3}).index({"abc"}), "index: the only text in an index is \"...\", got \"abc\"");
}

TEST_CASE("gather and scatter_add are each other's transpose") {
  Tensor x = counting({2, 3}), index = longs({0, 2, 1, 1}).view({2, 2});
  CHECK(ints(gather(x, 1, index)) == Ints{0, 2, 4, 4});
  Tensor zero = counting({2, 3}).zero_();
  CHECK(ints(scatter_add(zero, 1, index, longs({5, 6, 7, 8}).view({2, 2}))) == Ints{5, 0, 6, 0, 15, 0});
  CHECK_ERROR(gather(x, 1, longs({0, 3}).view({2, 1})),
              "gather: index 3 is outside of dim 1 of a tensor of sizes [2, 3]");
}

TEST_CASE("scatter keeps the last value written") {
  Tensor x = counting({4}).zero_();
  CHECK(ints(scatter(x, 0, longs({1, 1, 3}), longs({5, 6, 7}))) == Ints{0, 6, 0, 7});
}

TEST_CASE("cat promotes dtypes and checks sizes") {
  Tensor a = counting({2, 2}), b = counting({1, 2}).to(kFloat);
  CHECK(cat({a, b}).dtype() == kFloat);
  CHECK(values_of(cat({a, b})) == std::vector<double>{0, 1, 2, 3, 0, 1});
  CHECK(stack({a, a}, 2).sizes() == IntArrayRef({2, 2, 2}));
  CHECK_ERROR(cat({a, counting({1, 3})}), "cat: sizes must agree but for dim 0, got [2, 2] and [1, 3]");
  CHECK_ERROR(stack({a, b}), "stack: tensors must have one shape, got [2, 2] and [1, 2]");
}

TEST_CASE("flip, roll and repeat move whole slices") {
  CHECK(ints(flip(counting({2, 3}), {1})) == Ints{2, 1, 0, 5, 4, 3});
  CHECK(ints(roll(counting({4}), {1})) == Ints{3, 0, 1, 2});
  CHECK(ints(roll(counting({2, 3}), {-1}, {1})) == Ints{1, 2, 0, 4, 5, 3});
  CHECK(ints(repeat(counting({2}), {2, 2})) == Ints{0, 1, 0, 1, 0, 1, 0, 1});
}

TEST_CASE("nonzero lists places in order") {
  CHECK(ints(nonzero(longs({0, 1, 2, 0}).view({2, 2}))) == Ints{0, 1, 1, 0});
  CHECK(nonzero(counting({0, 2})).sizes() == IntArrayRef({0, 2}));
}

TEST_CASE("embedding looks rows up and names a bad index") {
  Tensor table = counting({3, 2}).to(kFloat);
  Tensor rows = embedding(table, longs({2, 0, 2, 1}).view({2, 2}));
  CHECK(rows.sizes() == IntArrayRef({2, 2, 2}));
  CHECK(values_of(rows) == std::vector<double>{4, 5, 0, 1, 4, 5, 2, 3});
  CHECK_ERROR(embedding(table, longs({3})), "embedding: index 3 is outside of a table of 3 rows");
  CHECK(ints(one_hot(longs({1, 0}), 3)) == Ints{0, 1, 0, 1, 0, 0});
}
