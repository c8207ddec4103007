// Indexing, joining and Adam against the CPU.
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

TEST_CASE("gather, scatter and scatter_add along any dim") {
  for (ScalarType dtype : {kFloat, kDouble, kLong, kHalf}) {
    Tensor x = formula_tensor({4, 5, 3}, dtype), src = formula_tensor({2, 5, 3}, dtype, kPositive);
    Tensor index = (formula_tensor({2, 5, 3}, kLong).abs() % 4);
    CHECK_DEVICE(on(x).gather(0, on(index)));
    CHECK_DEVICE(on(x).transpose(0, 2).gather(2, on(index).transpose(0, 2)));
    CHECK_DEVICE(on(x).clone().scatter_(0, on(index), on(src)));
    CHECK_DEVICE(on(x).clone().scatter_(0, on(index), 2));
    CHECK_DEVICE(on(x).scatter_add(0, on(index), on(src)));
  }
  Tensor outside = tensor({1.0f, 2.0f}).to(kGpu).gather(0, tensor({5}).to(kGpu));
  CHECK(std::isnan(outside.item<float>()));
}

TEST_CASE("embedding and its gradient, with a padding row") {
  for (ScalarType dtype : {kFloat, kDouble}) {
    Tensor weight = formula_tensor({6, 5}, dtype), indices = tensor({{0, 3, 3}, {5, 2, 3}});
    CHECK_DEVICE(embedding(on(weight), on(indices)));
    auto gradient = [&](auto on) {
      Tensor leaf = on(weight).detach().requires_grad_();
      embedding(leaf, on(indices), 2).backward(on(formula_tensor({2, 3, 5}, dtype)));
      return leaf.grad();
    };
    CHECK_DEVICE(gradient(on));
  }
}

TEST_CASE("cat and stack on the device") {
  Tensor a = formula_tensor({2, 3}), b = formula_tensor({4, 3}, kDouble);
  CHECK_DEVICE(cat({on(a), on(b)}, 0));
  CHECK_DEVICE(stack({on(a), on(a) * 2}, 1));
}

TEST_CASE("an Adam step over all parameters is one launch") {
  for (ScalarType dtype : {kFloat, kDouble}) {
    for (bool amsgrad : {false, true}) {
      auto trained = [&](auto on, int which) {
        std::vector<Tensor> params;
        for (int64_t n : {3, 1100}) params.push_back(on(formula_tensor({n}, dtype)).clone().requires_grad_());
        optim::AdamW adam(params, optim::AdamWOptions(0.01).weight_decay(0.1).amsgrad(amsgrad));
        for (int step = 0; step < 3; ++step) {
          for (Tensor& p : params) p.mutable_grad() = p.detach() * (step - 1.5);
          int64_t made = launches_of([&] { adam.step(); }, "adam");
          CHECK(made == (params[0].is_cuda() ? 1 : 0));
        }
        return params[size_t(which)].detach();
      };
      for (int i = 0; i < 2; ++i) CHECK_DEVICE(trained(on, i));
    }
  }
}

TEST_CASE("index and index_put_ by tensors, negative indices too") {
  using namespace tarn::indexing;
  Tensor x = formula_tensor({5, 4, 3}), i = tensor({0, -1, 2}), j = tensor({1, 3, -2});
  CHECK_DEVICE(on(x).index({on(i)}));
  CHECK_DEVICE(on(x).index({on(i), on(j)}));
  CHECK_DEVICE(on(x).index({Slice(), on(j)}));
  CHECK_DEVICE(on(x).clone().index_put_({on(i), on(j)}, on(ones({3, 3}))));
  CHECK_DEVICE(on(x).index_select(1, on(tensor({3, 0}))));
  auto gradient = [&](auto on) {
    Tensor leaf = on(x).detach().requires_grad_();
    leaf.index({on(tensor({1, 1, 4}))}).square().sum().backward();
    return leaf.grad();
  };
  CHECK_DEVICE(gradient(on));
}
