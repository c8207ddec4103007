#include <tarn/core/ops/from.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::tensor_of;

TEST_CASE("tensor takes numbers, lists and vectors") {
  CHECK_SAME(tensor(2.5), tensor_of({2.5}, kFloat, {}));
  CHECK_SAME(tensor({1, 2, 3}), tensor_of({1, 2, 3}, kLong));
  CHECK_SAME(tensor({{1.5, 2.0}, {3.0, 4.0}}), tensor_of({1.5, 2, 3, 4}, kFloat, {2, 2}));
  CHECK_SAME(tensor({{{1}}, {{2}}}), tensor_of({1, 2}, kLong, {2, 1, 1}));
  CHECK_SAME(tensor({1.0}), tensor_of({1}));
  CHECK_SAME(tensor({}), tensor_of({}));
  CHECK_SAME(tensor(std::vector<float>{1, 2}), tensor_of({1, 2}));
  CHECK_SAME(tensor(std::vector<bool>{true, false}), tensor_of({1, 0}, kBool));
  CHECK_SAME(tensor(std::vector<int>{1, 2}), tensor_of({1, 2}, kLong));
  CHECK(tensor(std::vector<double>()).numel() == 0);
}

TEST_CASE("tensor's dtype is Python's unless options give one") {
  CHECK(tensor(1).dtype() == kLong);
  CHECK(tensor(1.0f).dtype() == kFloat);
  CHECK(tensor(1.0).dtype() == kFloat);
  CHECK(tensor(true).dtype() == kBool);
  CHECK(tensor({true, false}).dtype() == kBool);
  CHECK(tensor({1, 2}, kHalf).dtype() == kHalf);
  CHECK(tensor({1.0, 2.0}, kDouble).dtype() == kDouble);
  CHECK(tensor(std::vector<uint8_t>{1}).dtype() == kByte);
  CHECK_SAME(tensor({1.0, 2.5}), tensor_of({1, 2.5}));
  CHECK_SAME(tensor(std::vector<double>{0.1}, kDouble), tensor_of({0.1}, kDouble));
  CHECK(tensor(3.0, TensorOptions().requires_grad(true)).requires_grad());
  CHECK_ERROR(tensor({{1, 2}, {3}}), "tensor: the rows of a nested list differ: sizes [2] and [1]");
}

TEST_CASE("from_blob shares the caller's memory") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  Tensor x = from_blob(data, {2, 3});
  CHECK(x.data_ptr() == data);
  data[4] = 40;
  CHECK_SAME(x, tensor_of({0, 1, 2, 3, 40, 5}, kFloat, {2, 3}));
  CHECK_SAME(from_blob(data, {3, 2}, {1, 3}).contiguous(), tensor_of({0, 3, 1, 40, 2, 5}, kFloat, {3, 2}));
  int64_t numbers[2] = {7, 8};
  CHECK_SAME(from_blob(numbers, {2}, kLong), tensor_of({7, 8}, kLong));
}

TEST_CASE("from_blob's deleter runs once, when the last alias dies") {
  int calls = 0;
  float data[2] = {1, 2};
  auto deleter = [&](void* memory) {
    CHECK(memory == data);
    ++calls;
  };
  {
    Tensor alias;
    {
      Tensor x = from_blob(data, {2}, deleter);
      alias = x.view({1, 2});
    }
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
  from_blob(data, {1, 2}, {2, 1}, deleter, kFloat);
  CHECK(calls == 2);
}

TEST_CASE("from_blob's deleter runs once also when the tensor is refused") {
  int calls = 0;
  int64_t data[1] = {1};
  auto deleter = [&](void*) { ++calls; };
  CHECK(testing::error_of([&] { from_blob(data, {1}, deleter, TensorOptions(kLong).requires_grad(true)); }) !=
        "no error");
  CHECK(calls == 1);
}

TEST_CASE("from_blob names what cannot be") {
  float data[2];
  CHECK_ERROR(from_blob(nullptr, {2}), "from_blob: the data is null, but sizes [2] have elements");
  CHECK_ERROR(from_blob(data, {2}, {1, 1}), "from_blob: sizes [2] and strides [1, 1] differ in number");
  CHECK_ERROR(from_blob(data, {2}, IntArrayRef{-1}), "from_blob: strides must be 0 or more, got [-1]");
  CHECK(testing::error_of([&] { from_blob(data, {-2}); }).find("from_blob: ") == 0);
}
