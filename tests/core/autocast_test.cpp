// Which dtype ops run in under autocast, with guards nested, switched off and cached.
#include <tarn/core/autocast.h>

#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/conv.h>
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/loss.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

TEST_CASE("under autocast contractions run in bfloat16, losses in float, the rest as it comes") {
  Tensor x = formula_tensor({4, 4}), cube = formula_tensor({2, 4, 4}), v = formula_tensor({4});
  Tensor image = formula_tensor({1, 2, 5, 5}), kernel = formula_tensor({3, 2, 3, 3});
  Tensor labels = tensor_of({0, 1, 2, 3}, kLong);
  AutocastGuard autocast(kCPU);
  Tensor low = mm(x, x);
  CHECK(low.dtype() == kBFloat16);
  CHECK(addmm(x, x, x).dtype() == kBFloat16);
  CHECK(bmm(cube, cube).dtype() == kBFloat16);
  CHECK(baddbmm(cube, cube, cube).dtype() == kBFloat16);
  CHECK(matmul(x, v).dtype() == kBFloat16);
  CHECK(linear(x, x, v).dtype() == kBFloat16);
  CHECK(conv2d(image, kernel).dtype() == kBFloat16);

  CHECK(relu(low).dtype() == kBFloat16);
  CHECK((low + x).dtype() == kFloat);
  CHECK(x.exp().dtype() == kFloat);
  CHECK(sum(low).dtype() == kBFloat16);

  CHECK(prod(low).dtype() == kFloat);
  CHECK(cross_entropy_loss(low, labels).dtype() == kFloat);
  CHECK(nll_loss(low, labels).dtype() == kFloat);
  CHECK(mse_loss(low, low).dtype() == kFloat);
  CHECK(l1_loss(low, low).dtype() == kFloat);
  CHECK(binary_cross_entropy_with_logits(low, low).dtype() == kFloat);
  CHECK(dot(low.select(0, 0), v).dtype() == kFloat);
  CHECK(dot(low.select(0, 0), low.select(0, 1)).dtype() == kBFloat16);
}

TEST_CASE("autocast rounds the inputs and then computes as the same op does on bfloat16") {
  Tensor x = formula_tensor({5, 7}), w = formula_tensor({3, 7});
  Tensor want = linear(x.to(kBFloat16), w.to(kBFloat16));
  AutocastGuard autocast(kCPU);
  CHECK_SAME(linear(x, w), want);
}

TEST_CASE("autocast leaves doubles and integers alone") {
  AutocastGuard autocast(kCPU);
  Tensor wide = formula_tensor({3, 3}, kDouble), whole = formula_tensor({3, 3}, kLong);
  CHECK(mm(wide, wide).dtype() == kDouble);
  CHECK(mse_loss(wide, wide).dtype() == kDouble);
  CHECK(mm(whole, whole).dtype() == kLong);
}

TEST_CASE("autocast scopes nest, switch off and end") {
  Tensor x = formula_tensor({3, 3});
  {
    AutocastGuard outer(kCPU);
    {
      AutocastGuard off(kCPU, {}, false);
      CHECK(mm(x, x).dtype() == kFloat);
      AutocastGuard half("cpu", kHalf);
      CHECK(mm(x, x).dtype() == kHalf);
    }
    CHECK(mm(x, x).dtype() == kBFloat16);
    CHECK(autocast::is_autocast_enabled(kCPU));
    CHECK(!autocast::is_autocast_enabled(kCUDA));
    InferenceMode inference;
    CHECK(mm(x, x).dtype() == kBFloat16);
  }
  CHECK(mm(x, x).dtype() == kFloat);
  CHECK(!autocast::is_autocast_enabled(kCPU));
  AutocastGuard other(kCUDA);
  CHECK(mm(x, x).dtype() == kFloat);
}

TEST_CASE("gradients under autocast have their parameters' dtype, in and out of the scope") {
  Tensor w = formula_tensor({3, 3}).requires_grad_(), x = formula_tensor({2, 3});
  auto gradient = [&](bool backward_inside) {
    w.mutable_grad().reset();
    AutocastGuard autocast(kCPU);
    Tensor loss = mse_loss(linear(x, w), x);
    if (!backward_inside) {
      AutocastGuard off(kCPU, {}, false);
      loss.backward();
    } else {
      loss.backward();
    }
    return w.grad();
  };
  Tensor outside = gradient(false);
  CHECK(outside.dtype() == kFloat);
  CHECK_SAME(gradient(true), outside);
}

TEST_CASE("a parameter is cast once per scope, and again after it was written") {
  Tensor w = formula_tensor({3, 3}).requires_grad_(), x = formula_tensor({2, 3}).to(kBFloat16);
  Tensor first, second;
  {
    AutocastGuard autocast(kCPU);
    auto weight_seen = [&] { return linear(x, w).grad_fn()->next_edge(1).function; };
    auto node = weight_seen();
    CHECK(weight_seen() == node);
    {
      AutocastGuard inner(kCPU, {}, true, /*cache_enabled=*/false);
      CHECK(!(weight_seen() == node));
    }
    first = linear(x, w).detach();
    {
      NoGradGuard no_grad;
      w.zero_();
    }
    second = linear(x, w).detach();
  }
  CHECK(first.to(kFloat).abs().sum().item<float>() > 0);
  CHECK(second.to(kFloat).abs().sum().item<float>() == 0);
}

TEST_CASE("a cast kept from a scope without gradients does not hide the parameter's gradient") {
  Tensor w = formula_tensor({3, 3}).requires_grad_(), x = formula_tensor({2, 3});
  AutocastGuard autocast(kCPU);
  {
    NoGradGuard no_grad;
    CHECK(!linear(x, w).requires_grad());
  }
  linear(x, w).to(kFloat).sum().backward();
  CHECK(w.grad().defined());
}

TEST_CASE("autocast takes low dtypes and known devices only") {
  CHECK_ERROR(AutocastGuard(kCPU, kFloat), "autocast: dtype must be BFloat16 or Half, got Float");
  CHECK_ERROR(AutocastGuard(kMeta), "autocast: device must be cpu or cuda, got meta");
  CHECK(!autocast::is_autocast_enabled(kCPU));
}
