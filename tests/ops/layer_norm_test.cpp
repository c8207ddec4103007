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
using Sizes = std::vector<int64_t>;

namespace {

// The definition, with public ops; differentiable.
Tensor reference(const Tensor& x, const Sizes& shape, const Tensor& weight, const Tensor& bias) {
  Sizes dims;
  for (size_t d = 0; d < shape.size(); ++d) dims.push_back(-1 - int64_t(d));
  Tensor mean = x.mean(dims, true), var = square(x - mean).mean(dims, true);
  return (x - mean) / sqrt(var + 1e-5) * weight + bias;
}

struct Case {
  Sizes x, shape;
};
const Case kCases[] = {
    {{3, 5}, {5}}, {{2, 3, 70}, {70}}, {{4, 3, 7}, {3, 7}}, {{2, 5000}, {5000}}, {{300, 33}, {33}}};

// First gradients, or second: of the gradients' sums with formulas.
template <class F>
std::vector<Tensor> gradients(F f, const Case& c, ScalarType dtype, bool second) {
  Tensor x = formula_tensor(c.x, dtype).requires_grad_(), w = formula_tensor(c.shape, dtype).requires_grad_();
  Tensor b = formula_tensor(c.shape, dtype).requires_grad_();
  Tensor y = f(x, c.shape, w, b), gy = formula_tensor(c.x, dtype, testing::kUnit).requires_grad_();
  std::vector<Tensor> first = autograd::grad({y}, {x, w, b}, {gy}, true, second);
  if (!second) return first;
  Tensor loss = (first[0] * formula_tensor(c.x, dtype, testing::kPositive)).sum() +
                (first[1] * formula_tensor(c.shape, dtype, testing::kPositive)).sum() +
                (first[2] * formula_tensor(c.shape, dtype, testing::kUnit)).sum();
  return autograd::grad({loss}, {x, w, gy});
}

auto ours = [](const Tensor& x, const Sizes& shape, const Tensor& w, const Tensor& b) {
  return layer_norm(x, shape, w, b);
};

}  // namespace

TEST_CASE("layer_norm is the definition's") {
  for (const Case& c : kCases) {
    INFO(str(c.x));
    Tensor x = formula_tensor(c.x, kDouble), w = formula_tensor(c.shape, kDouble),
           b = formula_tensor(c.shape, kDouble, testing::kUnit);
    Tensor want = reference(x, c.shape, w, b);
    CHECK_CLOSE(layer_norm(x, c.shape, w, b), want, {1e-11, 1e-11});
    CHECK_CLOSE(layer_norm(x.to(kFloat), c.shape, w.to(kFloat), b.to(kFloat)), want.to(kFloat), {1e-5, 1e-5});
    CHECK_CLOSE(layer_norm(x.to(kHalf), c.shape, w.to(kHalf), b.to(kFloat)), want.to(kHalf), {2e-3, 1e-2});
    CHECK_CLOSE(layer_norm(x, c.shape),
                reference(x, c.shape, tensor_of({1}, kDouble), tensor_of({0}, kDouble)), {1e-11, 1e-11});
  }
  Tensor x = formula_tensor({5, 4, 3}).transpose(0, 2);
  CHECK_CLOSE(layer_norm(x, 5), layer_norm(x.contiguous(), 5));
}

TEST_CASE("layer_norm has the definition's gradients, first and second") {
  for (const Case& c : kCases)
    for (bool second : {false, true}) {
      INFO(str(c.x) << " second " << second);
      std::vector<Tensor> want = gradients(reference, c, kDouble, second);
      std::vector<Tensor> exact = gradients(ours, c, kDouble, second),
                          single = gradients(ours, c, kFloat, second);
      for (int i = 0; i < 3; ++i) {
        CHECK_CLOSE(exact[i], want[i], {1e-9, 1e-9});
        CHECK_CLOSE(single[i], want[i].to(kFloat), {1e-4, 1e-3});
      }
    }
}

TEST_CASE("layer_norm of large values keeps its digits") {
  CHECK_SAME(layer_norm(full({2, 40}, 12345.678), 40, {}, full({40}, 0.5)), full({2, 40}, 0.5));
  Tensor x = formula_tensor({3, 70});
  CHECK_CLOSE(layer_norm(x * 1e30f, 70), layer_norm(x, 70), {1e-4, 1e-4});
}

TEST_CASE("layer_norm has the same bits for any number of threads") {
  int before = get_num_threads();
  Case c = {{500, 96}, {96}};
  std::vector<Tensor> first;
  for (int threads : {1, 2, 8}) {
    set_num_threads(threads);
    std::vector<Tensor> got = gradients(ours, c, kFloat, false);
    if (threads == 1) first = got;
    for (int i = 0; i < 3; ++i) CHECK_SAME(got[i], first[i]);
  }
  set_num_threads(before);
}

TEST_CASE("layer_norm names what does not fit") {
  Tensor x = formula_tensor({2, 3, 4});
  CHECK_ERROR(layer_norm(x, {3}), "layer_norm: input [2, 3, 4] does not end in the normalized shape [3]");
  CHECK_ERROR(layer_norm(x, IntArrayRef()), "layer_norm: the normalized shape must have at least 1 dim");
  CHECK_ERROR(layer_norm(x, {4}, formula_tensor({3})),
              "layer_norm: weight [3] must have the normalized shape [4]");
  CHECK_ERROR(layer_norm(x, {4}, formula_tensor({4}, kDouble)),
              "layer_norm: input is Float, weight is Double; convert one with to()");
  CHECK_ERROR(layer_norm(x.to(kLong), {4}), "layer_norm: not implemented for dtype Long");
}
