#include <tarn/core/ops/nn_functions.h>

#include <cmath>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/ops/widen.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

bool drops(const char* op, const Tensor& x, double p, bool train) {
  check(p >= 0 && p <= 1, op, ": p must be between 0 and 1, got ", p);
  check(is_floating(x.dtype()), op, ": needs a floating tensor, got ", x.dtype());
  return train && p > 0 && x.numel() > 0;
}

// One number per sample and channel of x (N, C, ...).
Dims feature_sizes(const char* op, const Tensor& x) {
  check(x.dim() >= 2, op, ": input must be (N, C, ...), got ", x.sizes());
  Dims sizes(x.sizes());
  for (int d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  return sizes;
}

// 1 where x stays, with probability 1 - p.
Tensor kept(IntArrayRef sizes, const Tensor& x, double p) {
  return bernoulli(empty(sizes, x.options()), 1 - p);
}

Tensor scaled_mask(IntArrayRef sizes, const Tensor& x, double p) {
  return p == 1 ? zeros(sizes, x.options()) : kept(sizes, x, p) / (1 - p);
}

// y = x * scale + shift, such that dropped elements are a * low + b.
struct AlphaMask {
  Tensor scale, shift;
};

AlphaMask alpha_mask(IntArrayRef sizes, const Tensor& x, double p) {
  constexpr double kLow = 1.7580993408473766;  // minus the lowest value of selu
  if (p == 1) return {zeros(sizes, x.options()), zeros(sizes, x.options())};
  double a = 1 / std::sqrt((kLow * kLow * p + 1) * (1 - p));
  Tensor mask = kept(sizes, x, p);
  return {mask * a, (mask - 1) * (kLow * a) + kLow * a * p};
}

Tensor& self(const Tensor& x) { return const_cast<Tensor&>(x); }

}  // namespace

Tensor feature_dropout(const Tensor& x, double p, bool train) {
  Dims sizes = feature_sizes("feature_dropout", x);
  return drops("feature_dropout", x, p, train) ? x * scaled_mask(sizes, x, p) : x;
}

Tensor& feature_dropout_(const Tensor& x, double p, bool train) {
  Dims sizes = feature_sizes("feature_dropout_", x);
  if (drops("feature_dropout_", x, p, train)) x.mul_(scaled_mask(sizes, x, p));
  return self(x);
}

Tensor alpha_dropout(const Tensor& x, double p, bool train) {
  if (!drops("alpha_dropout", x, p, train)) return x;
  AlphaMask m = alpha_mask(x.sizes(), x, p);
  return x * m.scale + m.shift;
}

Tensor& alpha_dropout_(const Tensor& x, double p, bool train) {
  if (!drops("alpha_dropout_", x, p, train)) return self(x);
  AlphaMask m = alpha_mask(x.sizes(), x, p);
  return x.mul_(m.scale).add_(m.shift), self(x);
}

Tensor feature_alpha_dropout(const Tensor& x, double p, bool train) {
  Dims sizes = feature_sizes("feature_alpha_dropout", x);
  if (!drops("feature_alpha_dropout", x, p, train)) return x;
  AlphaMask m = alpha_mask(sizes, x, p);
  return x * m.scale + m.shift;
}

Tensor& feature_alpha_dropout_(const Tensor& x, double p, bool train) {
  Dims sizes = feature_sizes("feature_alpha_dropout_", x);
  if (!drops("feature_alpha_dropout_", x, p, train)) return self(x);
  AlphaMask m = alpha_mask(sizes, x, p);
  return x.mul_(m.scale).add_(m.shift), self(x);
}

Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias) {
  const char* op = "bilinear";
  check(is_floating(x1.dtype()), op, ": not implemented for dtype ", x1.dtype());
  check(weight.dim() == 3, op, ": weight must be (outputs, inputs 1, inputs 2), got ", weight.sizes());
  check(x1.dim() >= 1 && x1.dim() == x2.dim() &&
            x1.sizes().slice(0, size_t(x1.dim() - 1)) == x2.sizes().slice(0, size_t(x2.dim() - 1)),
        op, ": inputs must agree in all but their last size, got ", x1.sizes(), " and ", x2.sizes());
  int64_t outputs = weight.size(0), rows = weight.size(1), columns = weight.size(2);
  check(x1.size(-1) == rows && x2.size(-1) == columns, op, ": inputs ", x1.sizes(), " and ", x2.sizes(),
        " do not fit weight ", weight.sizes());
  check(!bias.defined() || (bias.dim() == 1 && bias.size(0) == outputs), op, ": bias must be [", outputs,
        "], got ", bias.defined() ? bias.sizes() : IntArrayRef());
  Dims sizes(x1.sizes());
  sizes[sizes.size() - 1] = outputs;
  int64_t count = 1;
  for (int d = 0; d + 1 < sizes.size(); ++d) count *= sizes[d];
  Tensor a = widened(x1).reshape({count, rows}), b = widened(x2).reshape({count, columns});
  // (count, rows) x (rows, outputs * columns), then a product with b for each row.
  Tensor w = widened(weight).permute({1, 0, 2}).reshape({rows, outputs * columns});
  Tensor partial = mm(a, w).view({count, outputs, columns});
  Tensor y = bmm(partial, b.unsqueeze(2)).view({count, outputs});
  if (bias.defined()) y = y + widened(bias);
  return cast(y.view(sizes), x1.dtype());
}

namespace detail {

Tensor softmin(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  check(is_floating(dtype.value_or(x.dtype())), "softmin: not implemented for dtype ", x.dtype());
  return softmax(-x, dim, dtype);
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim) {
  check(is_floating(logits.dtype()), "gumbel_softmax: not implemented for dtype ", logits.dtype());
  check(tau > 0, "gumbel_softmax: tau must be greater than 0, got ", tau);
  // -log of an exponential variable, which is -log(1 - u).
  Tensor noise = -log(-log1p(-rand(logits.sizes(), TensorOptions(kDouble).device(logits.device()))));
  Tensor soft = softmax((logits + cast(noise, logits.dtype())) / tau, dim);
  if (!hard) return soft;
  Tensor chosen = scatter(zeros_like(soft.detach()), dim, argmax(soft, dim, true), 1);
  return chosen - soft.detach() + soft;
}

}  // namespace detail

}  // namespace tarn::inline v1
