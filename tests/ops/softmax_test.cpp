#include <tarn/core/ops/softmax.h>

#include <cmath>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/ops/differences.h>
#include <tarn/tests/support.h>

using namespace tarn;
using testing::check_gradient;
using testing::check_second_gradient;
using testing::tensor_of;

namespace {

// By the definition, in double.
Tensor slow_softmax(const Tensor& x, int64_t dim) {
  Tensor e = exp(x.to(kDouble) - x.to(kDouble).amax(dim, true));
  return e / e.sum(dim, true);
}

}  // namespace

TEST_CASE("softmax of equal logits is uniform") {
  CHECK_CLOSE(softmax(zeros({2, 4}), 1), full({2, 4}, 0.25));
  CHECK_CLOSE(log_softmax(zeros({2, 4}), 1), full({2, 4}, std::log(0.25)));
}

TEST_CASE("softmax names the bad dim and dtype") {
  CHECK_ERROR(softmax(zeros({2, 4}), 7), "softmax: dim 7 is outside of a tensor of rank 2; use -2 to 1");
  CHECK_ERROR(log_softmax(zeros({2}, kLong), 0),
              "log_softmax: needs a floating tensor, got Long; call to(kFloat) first or give a dtype");
  CHECK(softmax(zeros({2}, kLong), 0, kFloat).dtype() == kFloat);
}

TEST_CASE("softmax survives large logits") {
  CHECK_CLOSE(softmax(tensor_of({1e30, 1e30}), 0), tensor_of({0.5, 0.5}));
  CHECK_CLOSE(log_softmax(tensor_of({1e30, 1e30}), 0), full({2}, std::log(0.5)));
  CHECK_CLOSE(softmax(tensor_of({-INFINITY, 0, 0}), 0), tensor_of({0, 0.5, 0.5}));
  CHECK(std::isnan(testing::values_of(softmax(tensor_of({-INFINITY, -INFINITY}), 0))[0]));
  CHECK(std::isnan(testing::values_of(softmax(tensor_of({NAN, 1}), 0))[1]));
}

TEST_CASE("softmax along any dim of any layout is the slow one") {
  manual_seed(1);
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    Tensor x = (randn({3, 37, 4, 70}, kFloat) * 3).to(dtype);
    for (const Tensor& y :
         {x, x.contiguous(MemoryFormat::ChannelsLast), x.transpose(1, 3), x.slice(3, 0, {}, 3)}) {
      for (int64_t dim = 0; dim < 4; ++dim) {
        CHECK_CLOSE(softmax(y, dim), slow_softmax(y, dim).to(dtype));
        testing::Tolerance loose =
            dtype == kBFloat16 ? testing::Tolerance{1e-2, 1e-2} : testing::Tolerance{2e-3, 2e-3};
        if (dtype == kFloat) loose = {1e-5, 1e-5};
        CHECK_CLOSE(log_softmax(y, dim), log(slow_softmax(y, dim)).to(dtype), loose);
      }
    }
  }
  CHECK(softmax(empty({2, 3, 4, 5}, {}, MemoryFormat::ChannelsLast), 1)
            .is_contiguous(MemoryFormat::ChannelsLast));
}

TEST_CASE("softmax of tensors without dims and without elements") {
  CHECK(softmax(ones({}), 0).item<double>() == 1);
  CHECK(softmax(zeros({0, 3}), 1).numel() == 0);
  CHECK(softmax(zeros({3, 0}), 1).numel() == 0);
}

TEST_CASE("softmax and its gradients agree with differences") {
  Tensor x = randn({3, 5, 2}, Generator(3), kDouble);
  for (int64_t dim : {0, 1, 2}) {
    check_gradient([&](const Tensor& t) { return softmax(t, dim); }, x);
    check_gradient([&](const Tensor& t) { return log_softmax(t, dim); }, x);
  }
  check_second_gradient([](const Tensor& t) { return softmax(t, 1); }, x);
  check_second_gradient([](const Tensor& t) { return log_softmax(t, 1); }, x);
}

TEST_CASE("cross entropy of a known case") {
  // -log softmax([1, 2, 3])[2] = log(1 + e^-1 + e^-2)
  Tensor x = tensor_of({1, 2, 3}, kFloat, {1, 3});
  CHECK_CLOSE(cross_entropy_loss(x, tensor_of({2}, kLong)),
              full({}, std::log(1 + std::exp(-1) + std::exp(-2))));
  CHECK_CLOSE(cross_entropy_loss(x.squeeze(0), tensor_of({2}, kLong, {})),
              full({}, std::log(1 + std::exp(-1) + std::exp(-2))));
}

TEST_CASE("cross entropy is nll_loss of log_softmax") {
  manual_seed(4);
  for (Tensor x : {randn({6, 9}, kDouble), randn({2, 9, 3, 4}, kDouble),
                   randn({2, 9, 3, 4}, kDouble).contiguous(MemoryFormat::ChannelsLast)}) {
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.erase(sizes.begin() + 1);
    Tensor target = randint(0, 9, sizes);
    target.view({-1}).select(0, 1).fill_(-100);
    for (const Tensor& weight : {Tensor(), rand({9}, kDouble)}) {
      for (int64_t reduction : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
        auto fused = [&](const Tensor& t) { return cross_entropy_loss(t, target, weight, reduction); };
        auto apart = [&](const Tensor& t) { return nll_loss(log_softmax(t, 1), target, weight, reduction); };
        CHECK_CLOSE(fused(x), apart(x));
        Tensor a = x.clone().requires_grad_(), b = x.clone().requires_grad_();
        fused(a).sum().backward();
        apart(b).sum().backward();
        CHECK_CLOSE(a.grad(), b.grad());
      }
    }
  }
}

TEST_CASE("label smoothing is cross entropy with smoothed probabilities") {
  manual_seed(5);
  Tensor x = randn({5, 7}, kDouble), target = randint(0, 7, {5});
  Tensor soft = scatter(zeros({5, 7}, kDouble), 1, target.unsqueeze(1), 1.0);
  for (double e : {0.1, 1.0}) {
    CHECK_CLOSE(cross_entropy_loss(x, target, {}, Reduction::Mean, -100, e),
                cross_entropy_loss(x, soft, {}, Reduction::Mean, -100, e));
    Tensor a = x.clone().requires_grad_(), b = x.clone().requires_grad_();
    cross_entropy_loss(a, target, {}, Reduction::Sum, -100, e).backward();
    cross_entropy_loss(b, soft, {}, Reduction::Sum, -100, e).backward();
    CHECK_CLOSE(a.grad(), b.grad());
  }
}

TEST_CASE("cross entropy's gradients agree with differences") {
  manual_seed(6);
  Tensor x = randn({4, 5}, kDouble), target = tensor_of({1, -100, 4, 0}, kLong), weight = rand({5}, kDouble);
  for (double e : {0.0, 0.2}) {
    for (int64_t reduction : {Reduction::None, Reduction::Mean}) {
      auto loss = [&](const Tensor& t) { return cross_entropy_loss(t, target, weight, reduction, -100, e); };
      check_gradient(loss, x);
      check_second_gradient(loss, x);
    }
  }
  check_gradient([&](const Tensor& t) { return nll_loss(t, target, weight); }, x);
}

TEST_CASE("nll_loss picks, weighs and ignores") {
  Tensor x = tensor_of({-1, -2, -3, -4, -5, -6}, kFloat, {2, 3}), weight = tensor_of({1, 10, 100});
  CHECK_SAME(nll_loss(x, tensor_of({1, 2}, kLong), {}, Reduction::None), tensor_of({2, 6}));
  CHECK_SAME(nll_loss(x, tensor_of({1, 2}, kLong), weight, Reduction::Sum), full({}, 620.0));
  CHECK_CLOSE(nll_loss(x, tensor_of({1, 2}, kLong), weight), full({}, 620.0 / 110));
  CHECK_SAME(nll_loss(x, tensor_of({1, 7}, kLong), {}, Reduction::Mean, 7), full({}, 2.0));
  CHECK(std::isnan(nll_loss(x, tensor_of({7, 7}, kLong), {}, Reduction::Mean, 7).item<double>()));
}

TEST_CASE("the losses name what is wrong") {
  Tensor x = zeros({2, 3});
  CHECK_ERROR(cross_entropy_loss(x, tensor_of({0, 3}, kLong)),
              "cross_entropy: target 3 at position 1 of sizes [2] is not one of 3 classes");
  CHECK_ERROR(cross_entropy_loss(x, tensor_of({0}, kLong)),
              "cross_entropy: class scores [2, 3] need a target of sizes [2], got [1]");
  CHECK_ERROR(nll_loss(x, zeros({2})), "nll_loss: class numbers must be integers, got Float; call to(kLong)");
  CHECK_ERROR(nll_loss(x, zeros({2}, kLong), ones({2})),
              "nll_loss: weight must be a vector of 3 numbers, one per class, got sizes [2]");
  CHECK_ERROR(cross_entropy_loss(x, zeros({2}, kLong), {}, 5),
              "cross_entropy: reduction must be Reduction::None, Mean or Sum, got 5");
  CHECK_ERROR(cross_entropy_loss(x, zeros({2}, kLong), {}, Reduction::Mean, -100, 2),
              "cross_entropy: label_smoothing must be between 0 and 1, got 2");
  CHECK_ERROR(cross_entropy_loss(x, Tensor()), "cross_entropy: the target is undefined");
}

TEST_CASE("softmax and cross entropy are the same bits for any number of threads") {
  Tensor x = randn({3000, 101}, Generator(7)), target = randint(0, 101, {3000}, Generator(8), {});
  int before = get_num_threads();
  set_num_threads(1);
  Tensor y = softmax(x, 1), z = softmax(x, 0), loss = cross_entropy_loss(x, target);
  for (int threads : {2, 5}) {
    set_num_threads(threads);
    CHECK_SAME(softmax(x, 1), y);
    CHECK_SAME(softmax(x, 0), z);
    CHECK_SAME(cross_entropy_loss(x, target), loss);
  }
  set_num_threads(before);
}
