#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

Tensor counting(IntArrayRef sizes) {
  Tensor t = detail::make_tensor(sizes, kLong);
  fill_with(t, [](int64_t i) { return double(i); });
  return t;
}

std::vector<int64_t> ints(const Tensor& t) { return values_of<int64_t>(t); }
using Ints = std::vector<int64_t>;

}  // namespace

TEST_CASE("a view shares memory with its base") {
  Tensor x = counting({2, 3});
  Tensor row = x.select(0, 1);
  row.fill_(7);
  CHECK(ints(x) == Ints{0, 1, 2, 7, 7, 7});
  CHECK(row.is_alias_of(x));
}

TEST_CASE("writes to a view and to its base count for both") {
  Tensor x = counting({4});
  Tensor v = x.narrow(0, 1, 2);
  uint32_t before = x._version();
  v.zero_();
  CHECK(x._version() == before + 1);
  CHECK(v._version() == before + 1);
}

TEST_CASE("view keeps memory order and infers one size") {
  Tensor x = counting({2, 6});
  CHECK(x.view({3, -1}).sizes() == IntArrayRef({3, 4}));
  CHECK(ints(x.view({3, 4}).select(0, 1)) == Ints{4, 5, 6, 7});
  CHECK(counting({0, 3}).view({3, 0}).sizes() == IntArrayRef({3, 0}));
}

TEST_CASE("view refuses what needs a copy, reshape makes it") {
  Tensor x = counting({2, 3}).t();
  CHECK_ERROR(x.view({6}),
              "view: a tensor of sizes [3, 2] and strides [1, 3] cannot be seen as [6] without a copy; call "
              "reshape() instead");
  CHECK(ints(x.reshape({6})) == Ints{0, 3, 1, 4, 2, 5});
}

TEST_CASE("view names sizes that do not fit") {
  CHECK_ERROR(counting({2, 3}).view({4}),
              "view: a tensor of sizes [2, 3] (6 elements) cannot take sizes [4]");
  CHECK_ERROR(counting({2, 3}).view({-1, -1}), "view: only one size may be -1, got [-1, -1]");
  CHECK_ERROR(counting({2, 3}).view({-2, -3}), "view: sizes must be -1 or not negative, got [-2, -3]");
}

TEST_CASE("permute, transpose and movedim reorder strides") {
  Tensor x = counting({2, 3, 4});
  CHECK(x.permute({2, 0, 1}).sizes() == IntArrayRef({4, 2, 3}));
  CHECK(x.permute({2, 0, 1}).strides() == IntArrayRef({1, 12, 4}));
  CHECK(ints(x.select(0, 0).t().select(0, 0)) == Ints{0, 4, 8});
  CHECK(x.movedim(0, 2).sizes() == IntArrayRef({3, 4, 2}));
  CHECK_ERROR(x.permute({0, 1}), "permute: a tensor of sizes [2, 3, 4] needs 3 dims, got [0, 1]");
  CHECK_ERROR(x.permute({0, 1, 1}), "permute: dim 1 stands twice in [0, 1, 1]");
}

TEST_CASE("slice clamps as Python does") {
  Tensor x = counting({5});
  CHECK(ints(x.slice(0, 1, 4)) == Ints{1, 2, 3});
  CHECK(ints(x.slice(0, -2)) == Ints{3, 4});
  CHECK(ints(x.slice(0, 0, 100, 2)) == Ints{0, 2, 4});
  CHECK(x.slice(0, 4, 2).numel() == 0);
  CHECK_ERROR(x.slice(0, 0, 5, 0), "slice: step must be positive, got 0; use flip() to reverse");
}

TEST_CASE("expand repeats without memory") {
  Tensor x = counting({3, 1});
  Tensor wide = x.expand({2, -1, 4});
  CHECK(wide.sizes() == IntArrayRef({2, 3, 4}));
  CHECK(wide.strides() == IntArrayRef({0, 1, 0}));
  CHECK_ERROR(x.expand({2, 4}), "expand: a tensor of sizes [3, 1] does not expand to [2, 4]: dim 0 is 3");
  CHECK_ERROR(wide.fill_(0),
              "fill: cannot write in place to a tensor of sizes [2, 3, 4] and strides [0, 1, 0], where "
              "several elements share "
              "one place; call clone() first");
}

TEST_CASE("diagonal and unfold are views") {
  Tensor x = counting({3, 4});
  CHECK(ints(x.diagonal()) == Ints{0, 5, 10});
  CHECK(ints(x.diagonal(1)) == Ints{1, 6, 11});
  CHECK(ints(x.diagonal(-1)) == Ints{4, 9});
  CHECK(x.diagonal(9).numel() == 0);
  CHECK(ints(counting({5}).unfold(0, 3, 2)) == Ints{0, 1, 2, 2, 3, 4});
}

TEST_CASE("squeeze and unsqueeze change only dims of size one") {
  Tensor x = counting({1, 3, 1});
  CHECK(x.squeeze().sizes() == IntArrayRef({3}));
  CHECK(x.squeeze(0).sizes() == IntArrayRef({3, 1}));
  CHECK(x.squeeze(1).sizes() == IntArrayRef({1, 3, 1}));
  CHECK(x.unsqueeze(-1).sizes() == IntArrayRef({1, 3, 1, 1}));
}

TEST_CASE("split and chunk give the rest in the last piece") {
  Tensor x = counting({5});
  CHECK(x.split(2).size() == 3);
  CHECK(ints(x.split(2)[2]) == Ints{4});
  CHECK(ints(x.chunk(2)[1]) == Ints{3, 4});
  CHECK(x.unbind().size() == 5);
  CHECK_ERROR(x.split(IntArrayRef({2, 2})),
              "split: sizes [2, 2] sum to 4, dim 0 of a tensor of sizes [5] is 5");
}

TEST_CASE("as_strided stays inside the storage") {
  Tensor x = counting({6});
  CHECK(ints(x.as_strided({2, 2}, {3, 1})) == Ints{0, 1, 3, 4});
  CHECK_ERROR(x.as_strided({2, 4}, {3, 1}),
              "as_strided: sizes [2, 4], strides [3, 1], offset 0 reach beyond a storage of 6 elements");
}

TEST_CASE("as_strided adds the gradient of elements it shows twice") {
  Tensor x = counting({3}).to(kDouble).requires_grad_();
  Tensor windows = x.as_strided({2, 2}, {1, 1});
  (windows * windows).sum().backward();
  CHECK(values_of(x.grad()) == std::vector<double>{0, 4, 4});
}

TEST_CASE("as_strided under grad stays inside its input") {
  Tensor part = counting({6}).to(kDouble).narrow(0, 0, 2).detach().requires_grad_();
  CHECK_ERROR(part.as_strided({4}, {1}),
              "as_strided: an input that requires grad must be contiguous, start its storage and hold every "
              "element that the result reaches, got sizes [2]; call clone() on it first");
}

TEST_CASE("clone keeps the order of dense strides, contiguous does not") {
  Tensor x = counting({2, 3}).t();
  CHECK(x.clone().strides() == IntArrayRef({1, 3}));
  CHECK(x.contiguous().strides() == IntArrayRef({2, 1}));
  CHECK(ints(x.contiguous()) == Ints{0, 3, 1, 4, 2, 5});
  Tensor image = counting({1, 2, 2, 2}).contiguous(MemoryFormat::ChannelsLast);
  CHECK(image.strides() == IntArrayRef({8, 1, 4, 2}));
  CHECK(image.is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(ints(image) == ints(counting({1, 2, 2, 2})));
}

TEST_CASE("a cast converts every pair of dtypes") {
  for (ScalarType from : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble})
    for (ScalarType to : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
      Tensor x = counting({5}).to(from).to(to);
      bool through_bool = from == kBool || to == kBool;
      CHECK(ints(x.to(kLong)) == (through_bool ? Ints{0, 1, 1, 1, 1} : Ints{0, 1, 2, 3, 4}));
    }
}

TEST_CASE("copy_ broadcasts its source and refuses what does not fit") {
  Tensor x = counting({2, 3});
  x.copy_(counting({3}));
  CHECK(ints(x) == Ints{0, 1, 2, 0, 1, 2});
  CHECK_ERROR(x.copy_(counting({2})), "copy_: shapes [2, 3] and [2] do not broadcast: dim 1 is 3 and 2");
}

TEST_CASE("copying a part of a tensor onto an overlapping part is refused") {
  Tensor x = counting({5});
  CHECK_ERROR(x.narrow(0, 1, 4).copy_(x.narrow(0, 0, 4)),
              "copy: the tensor written in place shares a part of its memory with input 1; call clone() on "
              "one of them first");
}

TEST_CASE("large transposes equal small ones") {
  Tensor x = counting({300, 257});
  Tensor y = x.t().contiguous();
  bool same = true;
  const int64_t *a = x.data_ptr<int64_t>(), *b = y.data_ptr<int64_t>();
  for (int64_t i = 0; i < 300; ++i)
    for (int64_t j = 0; j < 257; ++j) same &= a[i * 257 + j] == b[j * 300 + i];
  CHECK(same);
}

TEST_CASE("rank goes up to 16 and no further") {
  Dims ones(16, 1);
  CHECK(counting({1}).view(ones).dim() == 16);
  CHECK_ERROR(counting({1}).view(ones).unsqueeze(0), "tensor: rank 17 is above the limit of 16");
}

TEST_CASE("an undefined tensor says so") {
  CHECK_ERROR(Tensor().sizes(), "tensor: this tensor is undefined; give it a value first");
  CHECK_ERROR(Tensor().view({1}), "tensor: this tensor is undefined; give it a value first");
}
