#include <tarn/core/ops/loss.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_losses.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

Tensor mse_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  broadcast_sizes(x.sizes(), target.sizes(), "mse_loss");
  return reduce_losses("mse_loss", square(autocast_to_float(x) - autocast_to_float(target)), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  broadcast_sizes(x.sizes(), target.sizes(), "l1_loss");
  return reduce_losses("l1_loss", abs(autocast_to_float(x) - autocast_to_float(target)), reduction);
}

// log(1 - sigmoid(x)) = log(sigmoid(x)) - x, so that large logits of either sign lose nothing.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  const char* op = "binary_cross_entropy_with_logits";
  check(logits.sizes() == targets.sizes(), op, ": target must have the sizes of the logits ", logits.sizes(),
        ", got ", targets.sizes());
  Tensor x = autocast_to_float(logits), target = autocast_to_float(targets);
  Tensor log_p = log_sigmoid(x);
  if (pos_weight.defined()) log_p = log_p * ((pos_weight - 1) * target + 1);
  Tensor losses = (1 - target) * x - log_p;
  if (weight.defined()) losses = losses * weight;
  return reduce_losses(op, losses, reduction);
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& wanted, const Tensor& weight,
                            int64_t reduction) {
  const char* op = "binary_cross_entropy";
  check(input.sizes() == wanted.sizes(), op, ": target must have the sizes of the input ", input.sizes(),
        ", got ", wanted.sizes());
  LossOperands o(op, input, wanted);
  // Below the smallest number, so that log is finite there and its gradient 0, not 0 / 0.
  double least = o.x.dtype() == kDouble ? std::numeric_limits<double>::denorm_min()
                                        : double(std::numeric_limits<float>::denorm_min());
  Tensor log_x = clamp_min(log(clamp_min(o.x, least)), -100);
  Tensor log_rest = clamp_min(log(clamp_min(1 - o.x, least)), -100);
  // Not a probability: NaN, which clamp_min would hide.
  Tensor outside = (o.x < 0) | (o.x > 1);
  Tensor losses = where(outside, NAN, -(o.target * log_x + (1 - o.target) * log_rest));
  if (weight.defined()) losses = losses * widened(weight);
  return o.reduce(op, losses, reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& wanted, int64_t reduction, double beta) {
  const char* op = "smooth_l1_loss";
  check(beta >= 0, op, ": beta must be 0 or more, got ", beta);
  LossOperands o(op, input, wanted);
  Tensor distance = abs(o.x - o.target);
  if (beta == 0) return o.reduce(op, distance, reduction);
  Tensor losses = where(distance < beta, square(distance) * (0.5 / beta), distance - 0.5 * beta);
  return o.reduce(op, losses, reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& wanted, int64_t reduction, double delta) {
  const char* op = "huber_loss";
  check(delta > 0, op, ": delta must be greater than 0, got ", delta);
  LossOperands o(op, input, wanted);
  Tensor distance = abs(o.x - o.target);
  Tensor losses = where(distance < delta, square(distance) * 0.5, (distance - 0.5 * delta) * delta);
  return o.reduce(op, losses, reduction);
}

Tensor kl_div(const Tensor& input, const Tensor& wanted, int64_t reduction, bool log_target) {
  const char* op = "kl_div";
  LossOperands o(op, input, wanted);
  if (log_target) return o.reduce(op, exp(o.target) * (o.target - o.x), reduction);
  // A probability of 0 adds nothing and has no gradient.
  Tensor log_t = log(where(o.target == 0, 1, o.target));
  return o.reduce(op, o.target * log_t - o.target * o.x, reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& wanted, bool log_input, bool full, double eps,
                        int64_t reduction) {
  const char* op = "poisson_nll_loss";
  LossOperands o(op, input, wanted);
  Tensor losses = log_input ? exp(o.x) - o.target * o.x : o.x - o.target * log(o.x + eps);
  if (full) {
    Tensor counts = where(o.target > 1, o.target, 1);
    Tensor stirling = counts * log(counts) - counts + 0.5 * log(counts * (2 * std::numbers::pi));
    losses = losses + where(o.target > 1, stirling, 0);
  }
  return o.reduce(op, losses, reduction);
}

namespace detail {

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& wanted, const Tensor& variance, bool full,
                         double eps, int64_t reduction) {
  const char* op = "gaussian_nll_loss";
  LossOperands o(op, input, wanted);
  check(eps > 0, op, ": eps must be greater than 0, got ", eps);
  Tensor var = widened(variance);
  if (var.dim() + 1 == o.x.dim() && var.sizes() == o.x.sizes().slice(0, size_t(var.dim())))
    var = var.unsqueeze(-1);
  bool fits = var.dim() == o.x.dim();
  for (int d = 0; fits && d < var.dim(); ++d)
    fits = var.size(d) == o.x.size(d) || (var.size(d) == 1 && d + 1 == var.dim());
  check(fits, op, ": var ", variance.sizes(), " does not fit input ", input.sizes());
  Tensor seen = var.detach();
  var = var + (clamp_min(seen, eps) - seen);
  Tensor losses = 0.5 * (log(var) + square(o.x - o.target) / var);
  if (full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
  return o.reduce(op, losses, reduction);
}

}  // namespace detail

}  // namespace tarn::inline v1
