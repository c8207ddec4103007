#include <tarn/core/ops/loss.h>

#include <tarn/core/autocast.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

using detail::autocast_to_float;

namespace {

Tensor reduce(const char* op, const Tensor& losses, int64_t reduction) {
  switch (reduction) {
    case Reduction::None:
      return losses;
    case Reduction::Mean:
      return mean(losses);
    case Reduction::Sum:
      return sum(losses);
    default:
      fail(op, ": reduction must be Reduction::None, Mean or Sum, got ", reduction);
  }
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  broadcast_sizes(x.sizes(), target.sizes(), "mse_loss");
  return reduce("mse_loss", square(autocast_to_float(x) - autocast_to_float(target)), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  broadcast_sizes(x.sizes(), target.sizes(), "l1_loss");
  return reduce("l1_loss", abs(autocast_to_float(x) - autocast_to_float(target)), reduction);
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
  return reduce(op, losses, reduction);
}

}  // namespace tarn::inline v1
