// Rows of the dropouts, of gumbel_softmax, and of bilinear and softmin.
#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/nn_functions.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/random.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

double mean_of(const Tensor& t) { return values_of(mean(t))[0]; }

// Mean 0 and variance 1 stay, up to 5 standard errors of the 200,000 values.
void check_alpha(const Tensor& y) {
  double m = mean_of(y), v = mean_of(square(y));
  CHECK(std::abs(m) < 0.02);
  CHECK(std::abs(v - 1) < 0.05);
}

Tensor unit_normal(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i % 2 ? 1 : -1);
  return tensor_of(values).reshape(sizes);
}

void check_features() {
  manual_seed(1);
  Tensor x = tensor_of(std::vector<double>(4000, 1.0)).reshape({20, 50, 2, 2}).requires_grad_();
  Tensor y = feature_dropout(x, 0.25, true);
  // Each channel is dropped or scaled as a whole.
  CHECK_SAME(amax(y.detach(), {2, 3}), amin(y.detach(), {2, 3}));
  double kept = mean_of(y.detach());
  CHECK(std::abs(kept - 1) < 5 * std::sqrt(0.25 / 0.75 / 1000));
  y.backward(ones_like(y));
  CHECK_SAME(x.grad(), y.detach());
  CHECK_SAME(feature_dropout(x, 0.25, false), x);
  CHECK(mean_of(feature_dropout(x.detach(), 1, true)) == 0);
  manual_seed(2);
  Tensor a = feature_dropout(x.detach(), 0.5, true), b = x.detach().clone();
  manual_seed(2);
  CHECK_SAME(feature_dropout_(b, 0.5, true), a);
}

void check_alpha_dropout() {
  manual_seed(1);
  Tensor x = unit_normal({200000}), y = alpha_dropout(x, 0.3, true);
  check_alpha(y);
  CHECK_SAME(alpha_dropout(x, 0.3, false), x);
  CHECK(mean_of(abs(alpha_dropout(x, 1, true))) == 0);
  manual_seed(2);
  Tensor a = alpha_dropout(x, 0.5, true), b = x.clone();
  manual_seed(2);
  CHECK_CLOSE(alpha_dropout_(b, 0.5, true), a);
}

void check_feature_alpha_dropout() {
  manual_seed(1);
  Tensor x = unit_normal({200, 1000, 2}), y = feature_alpha_dropout(x, 0.3, true);
  check_alpha(y);
  // Dropped channels have one value where the input has two.
  Tensor spread = amax(y, {2}) - amin(y, {2});
  double dropped = mean_of((spread == 0).to(kFloat));
  CHECK(std::abs(dropped - 0.3) < 5 * std::sqrt(0.21 / 200000));
  manual_seed(2);
  Tensor a = feature_alpha_dropout(x, 0.5, true), b = x.clone();
  manual_seed(2);
  CHECK_CLOSE(feature_alpha_dropout_(b, 0.5, true), a);
}

void check_gumbel() {
  manual_seed(1);
  Tensor logits = log(tensor_of({0.2, 0.5, 0.3})).expand({50000, 3}).contiguous().requires_grad_();
  Tensor hard = detail::gumbel_softmax(logits, 1, true);
  Tensor shares = mean(hard.detach(), {0});
  const double want[] = {0.2, 0.5, 0.3};
  for (size_t i = 0; i < 3; ++i)
    CHECK(std::abs(values_of(shares)[i] - want[i]) < 5 * std::sqrt(0.25 / 50000));
  CHECK_CLOSE(amax(hard.detach(), {1}), tensor_of(std::vector<double>(50000, 1.0)));
  sum(hard.select(1, 0)).backward();
  CHECK(mean_of(abs(logits.grad())) > 0.01);
  CHECK_CLOSE(sum(detail::gumbel_softmax(logits.detach(), 0.5), {1}),
              tensor_of(std::vector<double>(50000, 1.0)));
}

#define BAD_DROPOUT(op)                                                                      \
  {                                                                                          \
    E(#op ": p must be between 0 and 1, got 1.5", op(x, 1.5, true), {2, 3}),                 \
        E(#op ": p must be between 0 and 1, got -0.5", op(x, -0.5, true), {2, 3}),           \
        E(#op ": needs a floating tensor, got Long", op(x, 0.5, true), typed(kLong, {2, 3})) \
  }

}  // namespace

std::vector<Row> dropout_rows() {
  return {
      {.name = "feature_dropout",
       .grad = true,
       .samples = {S(feature_dropout(x, 0.5, false), {2, 3, 4}), S(feature_dropout(x, 1, true), {2, 3, 4}),
                   S(feature_dropout(x, 0.5, false), {2, 3}), S(feature_dropout(x, 0.5, true), {0, 3})},
       .errors = BAD_DROPOUT(feature_dropout),
       .property = check_features,
       .no_scalar = "takes (N, C, ...)"},
      {.name = "alpha_dropout",
       .grad = true,
       .samples = {S(alpha_dropout(x, 0.5, false), {3, 5}), S(alpha_dropout(x, 1, true), {3, 5}),
                   S(alpha_dropout(x, 0.5, false), {}), S(alpha_dropout(x, 0.5, true), {0, 3})},
       .errors = BAD_DROPOUT(alpha_dropout),
       .property = check_alpha_dropout},
      {.name = "feature_alpha_dropout",
       .grad = true,
       .samples = {S(feature_alpha_dropout(x, 0.5, false), {2, 3, 4}),
                   S(feature_alpha_dropout(x, 1, true), {2, 3, 4}),
                   S(feature_alpha_dropout(x, 0.5, false), {2, 3}),
                   S(feature_alpha_dropout(x, 0.5, true), {0, 3})},
       .errors = BAD_DROPOUT(feature_alpha_dropout),
       .property = check_feature_alpha_dropout,
       .no_scalar = "takes (N, C, ...)"},
      {.name = "gumbel_softmax",
       .grad = true,
       // Of one category, whatever the noise.
       .samples = {S_PY("gumbel_softmax(x, dim=1)", detail::gumbel_softmax(x, 1, false, 1), {3, 1}),
                   S_PY("gumbel_softmax(x, 0.5, True)", detail::gumbel_softmax(x, 0.5, true), {2, 1}),
                   S_PY("gumbel_softmax(x, dim=0)", detail::gumbel_softmax(x, 1, false, 0), {}),
                   S_PY("gumbel_softmax(x, dim=1)", detail::gumbel_softmax(x, 1, false, 1), {0, 3})},
       .errors = {E("gumbel_softmax: tau must be greater than 0, got 0", detail::gumbel_softmax(x, 0),
                    {2, 3}),
                  E("gumbel_softmax: not implemented for dtype Long", detail::gumbel_softmax(x),
                    typed(kLong, {2, 3})),
                  E("softmax: dim 2 is outside of a tensor of rank 2; use -2 to 1",
                    detail::gumbel_softmax(x, 1, false, 2), {2, 3})},
       .property = check_gumbel},
      {.name = "softmin",
       .grad = true,
       .samples = {S_PY("softmin(x, 1)", detail::softmin(x, 1), {3, 5}),
                   S_PY("softmin(x, 0, dtype=torch.float64)", detail::softmin(x, 0, kDouble), {3, 5}),
                   S_PY("softmin(x, 0)", detail::softmin(x, 0), {}),
                   S_PY("softmin(x, 1)", detail::softmin(x, 1), {0, 5})},
       .errors = {E("softmax: dim 2 is outside of a tensor of rank 2; use -2 to 1", detail::softmin(x, 2),
                    {2, 3}),
                  E("softmin: not implemented for dtype Long", detail::softmin(x, 1), typed(kLong, {2, 3})),
                  E("softmax: dim -3 is outside of a tensor of rank 2; use -2 to 1", detail::softmin(x, -3),
                    {2, 3})}},
      {.name = "bilinear",
       .grad = true,
       .samples = {S(bilinear(x, y, z, w), {3, 2}, {3, 4}, {5, 2, 4}, {5}),
                   S_PY("F.bilinear(x, y, z)", bilinear(x, y, z), {2, 3, 2}, {2, 3, 3}, {2, 2, 3}),
                   S_PY("F.bilinear(x, y, z)", bilinear(x, y, z), {0, 2}, {0, 4}, {5, 2, 4})},
       .errors = {E("bilinear: weight must be (outputs, inputs 1, inputs 2), got [5, 2]", bilinear(x, y, z),
                    {3, 2}, {3, 4}, {5, 2}),
                  E("bilinear: inputs must agree in all but their last size, got [3, 2] and [2, 4]",
                    bilinear(x, y, z), {3, 2}, {2, 4}, {5, 2, 4}),
                  E("bilinear: inputs [3, 2] and [3, 3] do not fit weight [5, 2, 4]", bilinear(x, y, z),
                    {3, 2}, {3, 3}, {5, 2, 4}),
                  E("bilinear: bias must be [5], got [4]", bilinear(x, y, z, w), {3, 2}, {3, 4}, {5, 2, 4},
                    {4})},
       .f16 = {5e-3, 1e-3},
       .bf16 = {3e-2, 1e-2},
       .no_scalar = "takes (..., features)"},
  };
}

#undef BAD_DROPOUT

}  // namespace tarn::testing
