#include <tarn/data/transforms.h>

#include <set>

#include <tarn/core/random.h>
#include <tarn/data/dataset.h>

#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;
using data::Example;
using data::transforms::Normalize;
using data::transforms::RandomCrop;
using data::transforms::RandomHorizontalFlip;
using data::transforms::Stack;

TEST_CASE("Normalize subtracts the mean and divides by the deviation, per channel") {
  Tensor image = tensor_of({1, 2, 3, 4}, kFloat, {2, 1, 2});
  CHECK_CLOSE(Normalize<>(1, 2)(image), tensor_of({0, 0.5, 1, 1.5}, kFloat, {2, 1, 2}));
  CHECK_CLOSE(Normalize<>({1, 3}, {1, 2})(image), tensor_of({0, 1, 0, 0.5}, kFloat, {2, 1, 2}));
  CHECK_CLOSE(Normalize<>({1, 3}, 2)(image.to(kDouble)), tensor_of({0, 0.5, 0, 0.5}, kDouble, {2, 1, 2}));
  CHECK_SAME(image, tensor_of({1, 2, 3, 4}, kFloat, {2, 1, 2}));
}

TEST_CASE("Normalize names what does not fit") {
  Tensor image = tensor_of({1, 2, 3, 4}, kFloat, {2, 1, 2});
  CHECK_ERROR(Normalize<>({1, 2, 3}, 1)(image), "Normalize: 3 values for data of sizes [2, 1, 2]");
  CHECK_ERROR(Normalize<>(1, 0)(image), "Normalize: a std of 0 was given");
  CHECK_ERROR(Normalize<>(1, 1)(image.to(kByte)),
              "Normalize: needs floating data on the cpu, got Byte on cpu");
}

// Every window that 200 crops of a 3x4 image gave, by its values.
std::set<std::vector<double>> crops(const Tensor& image, RandomCrop<> crop) {
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 200; ++i) seen.insert(values_of(crop(image)));
  return seen;
}

TEST_CASE("RandomCrop cuts every window and no other") {
  manual_seed(1);
  Tensor image = tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, kFloat, {1, 3, 4});
  std::set<std::vector<double>> expected;
  for (int64_t top = 0; top < 2; ++top)
    for (int64_t left = 0; left < 3; ++left)
      expected.insert(values_of(image.narrow(1, top, 2).narrow(2, left, 2)));
  CHECK(crops(image, RandomCrop<>(2, 0)) == expected);
}

TEST_CASE("RandomCrop pads with zeros") {
  manual_seed(1);
  Tensor image = tensor_of({1, 2, 3, 4}, kByte, {2, 2});
  std::set<std::vector<double>> expected = {{0, 0, 0, 1}, {0, 0, 1, 2}, {0, 0, 2, 0},
                                            {0, 1, 0, 3}, {1, 2, 3, 4}, {2, 0, 4, 0},
                                            {0, 3, 0, 0}, {3, 4, 0, 0}, {4, 0, 0, 0}};
  CHECK(crops(image, RandomCrop<>(2, 1)) == expected);
  // Padding beyond the window: some crops hold nothing of the image.
  CHECK(crops(image, RandomCrop<>(1, 3)) == std::set<std::vector<double>>{{0}, {1}, {2}, {3}, {4}});
}

TEST_CASE("RandomCrop crops every channel alike, whatever the layout") {
  manual_seed(2);
  Tensor plane = formula_tensor({5, 6});
  Tensor image = detail::make_tensor({2, 5, 6}, kFloat);
  image.select(0, 0).copy_(plane);
  image.select(0, 1).copy_(plane);
  Tensor strided = detail::make_tensor({2, 6, 5}, kFloat).transpose(1, 2);
  strided.copy_(image);
  Tensor cropped = RandomCrop<>(4, 3, 1)(strided);
  CHECK(cropped.sizes() == IntArrayRef({2, 4, 3}));
  CHECK_SAME(cropped.select(0, 0), cropped.select(0, 1));
}

TEST_CASE("RandomCrop names what does not fit") {
  Tensor image = tensor_of({1, 2, 3, 4}, kFloat, {2, 2});
  CHECK_ERROR(RandomCrop<>(5, 1)(image),
              "RandomCrop: a window of 5x5 does not fit an image of sizes [2, 2] with padding 1");
  CHECK_ERROR(RandomCrop<>(1, -1)(image), "RandomCrop: padding must not be negative, got -1");
  CHECK_ERROR(RandomCrop<>(1, 0)(tensor_of({1, 2})), "RandomCrop: image must be (..., H, W), got [2]");
}

TEST_CASE("RandomHorizontalFlip mirrors the last dim, half of the time") {
  manual_seed(1);
  Tensor image = tensor_of({1, 2, 3, 4, 5, 6}, kFloat, {1, 2, 3});
  std::vector<double> mirrored = {3, 2, 1, 6, 5, 4};
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> got = values_of(RandomHorizontalFlip<>()(image));
    if (got != values_of(image)) {
      if (got != mirrored) FAIL("neither the image nor its mirror");
      ++flipped;
    }
  }
  CHECK(std::abs(flipped - 500) < 80);  // 5 standard deviations
  CHECK_SAME(RandomHorizontalFlip<>(0)(image), image);
  CHECK(values_of(RandomHorizontalFlip<>(1)(image)) == mirrored);
  CHECK_ERROR(RandomHorizontalFlip<>(1.5), "RandomHorizontalFlip: p must be in [0, 1], got 1.5");
}

TEST_CASE("Stack puts examples along a new first dim, whatever their layout") {
  Tensor a = formula_tensor({2, 3}), b = formula_tensor({3, 2}).t();
  Example<> both = Stack<>().apply_batch({{a, tensor_of({1}, kLong, {})}, {b, tensor_of({2}, kLong, {})}});
  CHECK(both.data.sizes() == IntArrayRef({2, 2, 3}));
  CHECK_SAME(both.data.select(0, 0), a);
  CHECK_SAME(both.data.select(0, 1), b);
  CHECK_SAME(both.target, tensor_of({1, 2}, kLong));
  CHECK_ERROR(Stack<>().apply_batch({}), "Stack: needs at least one example");
}

TEST_CASE("transforms are chained in the order of the map calls") {
  data::datasets::TensorDataset rows(tensor_of({1, 2, 3}));
  auto plus = data::transforms::Lambda<data::TensorExample>(
      [](data::TensorExample e) { return data::TensorExample(tensor_of({e.data.item<double>() + 1})); });
  auto square = data::transforms::Lambda<data::TensorExample, double>(
      [](data::TensorExample e) { return e.data.item<double>() * e.data.item<double>(); });
  auto total = data::transforms::Collate<double>([](std::vector<double> squares) {
    double sum = 0;
    for (double x : squares) sum += x;
    return sum;
  });
  std::vector<size_t> indices = {0, 2};
  CHECK(rows.map(plus).map(square).get_batch(indices) == std::vector<double>{4, 16});
  CHECK(rows.map(plus).map(square).map(total).get_batch(indices) == 20);
  CHECK(rows.map(plus).size() == 3u);
}

}  // namespace
}  // namespace tarn
