#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::formula_tensor;
using testing::tensor_of;
using testing::values_of;
using Sizes = std::vector<int64_t>;

namespace {

struct Normalised {
  Tensor y, mean, var;
};

// The definition, with public ops in double; differentiable.
Normalised reference(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5) {
  Sizes dims = {0}, shape(size_t(x.dim()), 1);
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  shape[1] = x.size(1);
  Tensor mean = x.mean(dims, true), var = square(x - mean).mean(dims, true);
  Tensor y = (x - mean) / sqrt(var + eps);
  if (weight.defined()) y = y * weight.view(shape);
  if (bias.defined()) y = y + bias.view(shape);
  return {y, mean.flatten(), var.flatten()};
}

Tensor train(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}) {
  return batch_norm(x, weight, bias, {}, {}, true);
}

struct Gradients {
  Tensor x, weight, bias;
};

// Of sum(y * g), and if second, of the sum of those gradients times formulas.
template <class F>
Gradients gradients(F f, const Tensor& x0, ScalarType dtype, MemoryFormat format, bool second) {
  Tensor x = x0.to(dtype).contiguous(format).clone().requires_grad_();
  Tensor weight = formula_tensor({x.size(1)}, dtype).requires_grad_(),
         bias = formula_tensor({x.size(1)}, dtype).requires_grad_();
  Tensor y = f(x, weight, bias), gy = formula_tensor(y.sizes(), dtype, testing::kUnit).requires_grad_();
  if (!second) {
    y.backward(gy);
    return {x.grad(), weight.grad(), bias.grad()};
  }
  std::vector<Tensor> first = autograd::grad({y}, {x, weight, bias}, {gy}, true, true);
  Tensor loss = (first[0] * formula_tensor(x.sizes(), dtype, testing::kPositive)).sum() +
                (first[1] * formula_tensor(weight.sizes(), dtype, testing::kPositive)).sum() +
                (first[2] * formula_tensor(bias.sizes(), dtype, testing::kUnit)).sum();
  loss.backward();
  return {x.grad(), weight.grad(), gy.grad()};
}

}  // namespace

TEST_CASE("batch_norm in training is the definition's, in each layout") {
  Sizes shapes[] = {{8, 5}, {4, 3, 7}, {3, 20, 5, 6}, {2, 3, 50, 50}, {2, 3, 4, 3, 2}, {130, 4, 3, 3}};
  for (const Sizes& sizes : shapes) {
    INFO(str(sizes));
    Tensor x = formula_tensor(sizes), w = formula_tensor({sizes[1]}),
           b = formula_tensor({sizes[1]}, kFloat, testing::kUnit);
    Tensor want = reference(x.to(kDouble), w.to(kDouble), b.to(kDouble)).y;
    CHECK_CLOSE(train(x, w, b), want.to(kFloat), {1e-5, 1e-5});
    CHECK_CLOSE(train(x.to(kDouble), w.to(kDouble), b.to(kDouble)), want, {1e-12, 1e-12});
    CHECK_CLOSE(train(x), reference(x.to(kDouble), {}, {}).y.to(kFloat), {1e-5, 1e-5});
    if (sizes.size() != 4) continue;
    Tensor last = train(x.contiguous(MemoryFormat::ChannelsLast), w, b);
    CHECK(last.is_contiguous(MemoryFormat::ChannelsLast));
    CHECK_CLOSE(last, want.to(kFloat), {1e-5, 1e-5});
    CHECK_CLOSE(train(x.transpose(2, 3), w, b), want.transpose(2, 3).to(kFloat), {1e-5, 1e-5});
  }
}

TEST_CASE("batch_norm has the definition's gradients, first and second") {
  auto ours = [](auto&... args) { return train(args...); };
  auto defined = [](auto&... args) { return reference(args...).y; };
  for (const Sizes& sizes : {Sizes{8, 5}, Sizes{4, 3, 7}, Sizes{3, 20, 5, 6}}) {
    Tensor x = formula_tensor(sizes);
    for (bool second : {false, true}) {
      INFO(str(sizes) << " second " << second);
      Gradients want = gradients(defined, x, kDouble, MemoryFormat::Contiguous, second);
      for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
        if (format == MemoryFormat::ChannelsLast && sizes.size() != 4) continue;
        Gradients exact = gradients(ours, x, kDouble, format, second);
        CHECK_CLOSE(exact.x, want.x, {1e-9, 1e-9});
        CHECK_CLOSE(exact.weight, want.weight, {1e-9, 1e-9});
        CHECK_CLOSE(exact.bias, want.bias, {1e-9, 1e-9});
        Gradients single = gradients(ours, x, kFloat, format, second);
        CHECK_CLOSE(single.x, want.x.to(kFloat), {1e-4, 1e-4});
        CHECK_CLOSE(single.weight, want.weight.to(kFloat), {1e-4, 1e-3});
        CHECK_CLOSE(single.bias, want.bias.to(kFloat), {1e-4, 1e-3});
      }
    }
  }
}

TEST_CASE("batch_norm with given statistics, and its gradients") {
  Tensor x = formula_tensor({3, 4, 5, 5}, kDouble).requires_grad_(),
         w = formula_tensor({4}, kDouble).requires_grad_();
  Tensor b = formula_tensor({4}, kDouble).requires_grad_();
  Tensor mean = formula_tensor({4}, kDouble, testing::kUnit),
         var = formula_tensor({4}, kDouble, testing::kPositive);
  Sizes shape = {1, 4, 1, 1};
  auto defined = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
    return (x - mean.view(shape)) / sqrt(var.view(shape) + 1e-5) * w.view(shape) + b.view(shape);
  };
  Tensor y = batch_norm(x, w, b, mean, var, false), want = defined(x, w, b),
         g = formula_tensor({3, 4, 5, 5}, kDouble);
  CHECK_CLOSE(y, want);
  std::vector<Tensor> ours = autograd::grad({y}, {x, w, b}, {g}),
                      theirs = autograd::grad({want}, {x, w, b}, {g});
  for (int i = 0; i < 3; ++i) CHECK_CLOSE(ours[i], theirs[i]);
  Tensor last = batch_norm(x.detach().to(kFloat).contiguous(MemoryFormat::ChannelsLast), {}, {},
                           mean.to(kFloat), var.to(kFloat), false);
  CHECK_CLOSE(last, batch_norm(x.detach().to(kFloat), {}, {}, mean.to(kFloat), var.to(kFloat), false));
}

TEST_CASE("batch_norm moves the running statistics by momentum, the variance unbiased") {
  Tensor x = tensor_of({1, 3, 5, 7}, kFloat, {4, 1}), mean = tensor_of({10}), var = tensor_of({2});
  batch_norm(x, {}, {}, mean, var, true, 0.25);
  CHECK_CLOSE(mean, tensor_of({0.75 * 10 + 0.25 * 4}));
  CHECK_CLOSE(var, tensor_of({0.75 * 2 + 0.25 * 20.0 / 3}));
  CHECK(mean._version() > 0);
}

TEST_CASE("a channel of one large value comes out as its bias") {
  for (double value : {0.1, 1e6, 3e30, -12345.678}) {
    Tensor x = full({4, 2, 30, 30}, value), bias = tensor_of({0.5, -2});
    for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
      Tensor y = train(x.contiguous(format), {}, bias);
      CHECK_SAME(y, bias.view({1, 2, 1, 1}).expand({4, 2, 30, 30}));
    }
  }
}

TEST_CASE("batch_norm keeps its digits where the mean is large") {
  Tensor small = formula_tensor({4, 2, 16, 16}, kDouble), x = (small + 4096.0).to(kFloat);
  Tensor want = reference(x.to(kDouble), {}, {}).y.to(kFloat);
  CHECK_CLOSE(train(x), want, {1e-5, 1e-5});
  CHECK_CLOSE(train(x.contiguous(MemoryFormat::ChannelsLast)), want, {1e-5, 1e-5});
}

TEST_CASE("batch_norm of huge values does not overflow") {
  Tensor x = formula_tensor({4, 2, 9, 9}), huge = x * 1e30f;
  for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast})
    CHECK_CLOSE(train(huge.contiguous(format)), train(x.contiguous(format)), {1e-4, 1e-4});
}

TEST_CASE("batch_norm of halves computes in float") {
  Tensor x = formula_tensor({4, 3, 5, 5}, kHalf), w = formula_tensor({3});
  Tensor y = train(x, w);
  CHECK(y.dtype() == kHalf);
  CHECK_CLOSE(y, train(x.to(kFloat), w).to(kHalf), {1e-3, 1e-3});
}

TEST_CASE("batch_norm has the same bits for any number of threads") {
  int before = get_num_threads();
  for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
    Tensor y, gx, gw;
    for (int threads : {1, 2, 3, 8}) {
      set_num_threads(threads);
      Tensor x = formula_tensor({33, 20, 13, 13}).contiguous(format).requires_grad_();
      Tensor w = formula_tensor({20}).requires_grad_();
      Tensor got = train(x, w);
      got.backward(formula_tensor(got.sizes()));
      if (threads == 1) {
        y = got, gx = x.grad(), gw = w.grad();
        continue;
      }
      CHECK_SAME(got, y);
      CHECK_SAME(x.grad(), gx);
      CHECK_SAME(w.grad(), gw);
    }
    set_num_threads(before);
  }
}

TEST_CASE("batch_norm of nothing") {
  Tensor mean = tensor_of({1, 1}), var = tensor_of({1, 1});
  Tensor x = formula_tensor({0, 2, 4, 4}).requires_grad_();
  Tensor y = batch_norm(x, {}, {}, mean, var, true);
  CHECK(y.sizes() == Sizes{0, 2, 4, 4});
  CHECK_SAME(mean, tensor_of({1, 1}));
  y.backward(y.detach());
  CHECK(x.grad().sizes() == Sizes{0, 2, 4, 4});
}

TEST_CASE("batch_norm names what does not fit") {
  Tensor x = formula_tensor({2, 4, 8, 8}), c3 = formula_tensor({3}), c4 = formula_tensor({4});
  CHECK_ERROR(train(x, c3), "batch_norm: weight [3] does not fit input [2, 4, 8, 8], which has 4 channels");
  CHECK_ERROR(train(x, c4, c3), "batch_norm: bias [3] does not fit input [2, 4, 8, 8], which has 4 channels");
  CHECK_ERROR(batch_norm(x, {}, {}, c3, c4, false),
              "batch_norm: running_mean [3] does not fit input [2, 4, 8, 8], which has 4 channels");
  CHECK_ERROR(train(c3), "batch_norm: input must be (N, C, ...), got [3]");
  CHECK_ERROR(train(x, c4.to(kDouble)),
              "batch_norm: input is Float, weight is Double; convert one with to()");
  CHECK_ERROR(train(x.to(kLong)), "batch_norm: not implemented for dtype Long");
  CHECK_ERROR(train(formula_tensor({1, 4, 1, 1})),
              "batch_norm: training needs more than one value per channel, got input [1, 4, 1, 1]");
  CHECK_ERROR(batch_norm(x, {}, {}, c4, {}, true),
              "batch_norm: running_mean and running_var must be given together");
  CHECK_ERROR(batch_norm(x, {}, {}, {}, {}, false),
              "batch_norm: running_mean and running_var are needed outside of training");
}
