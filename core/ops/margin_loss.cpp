// Losses that ask for a margin between scores, distances or angles.
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/loss.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_losses.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

void check_same_sizes(const char* op, const Tensor& x, const Tensor& target) {
  check(x.sizes() == target.sizes(), op, ": target must have the sizes of the input ", x.sizes(), ", got ",
        target.sizes());
}

// Class numbers (N) of scores (N, C), for scores (C) with ().
Tensor class_numbers(const char* op, const Tensor& x, const Tensor& target) {
  check(x.dim() == 1 || x.dim() == 2, op, ": input must be (N, C) or (C), got ", x.sizes());
  check(x.size(-1) > 0, op, ": input ", x.sizes(), " has no class");
  check(target.dtype() == kLong, op, ": class numbers must be Long, got ", target.dtype());
  return target;
}

Tensor distance(const Tensor& a, const Tensor& b, double p, double eps) { return norm(a - b + eps, p, {-1}); }

}  // namespace

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& wanted, double margin, int64_t reduction) {
  const char* op = "hinge_embedding_loss";
  LossOperands o(op, input, wanted);
  Tensor far = where(o.target != 1, clamp_min(margin - o.x, 0), 0);
  return o.reduce(op, far + where(o.target != -1, o.x, 0), reduction);
}

Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                             int64_t reduction) {
  const char* op = "cosine_embedding_loss";
  constexpr double kEps = 1e-12;
  check(target.dim() <= 1 && x1.dim() == target.dim() + 1 && x2.dim() == x1.dim(), op,
        ": needs inputs (N, D) and target (N), or (D) and (), got ", x1.sizes(), ", ", x2.sizes(), ", ",
        target.sizes());
  LossOperands o(op, x1, x2);
  Tensor product = sum(o.x * o.target, {-1});
  Tensor lengths = (sum(square(o.x), {-1}) + kEps) * (sum(square(o.target), {-1}) + kEps);
  Tensor cosine = product / sqrt(lengths);
  broadcast_sizes(cosine.sizes(), target.sizes(), op);
  Tensor losses = where(target == 1, 1 - cosine, 0) + where(target == -1, clamp_min(cosine - margin, 0), 0);
  return o.reduce(op, losses, reduction);
}

Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                           int64_t reduction) {
  const char* op = "margin_ranking_loss";
  LossOperands o(op, x1, x2);
  broadcast_sizes(broadcast_sizes(x1.sizes(), x2.sizes(), op), target.sizes(), op);
  return o.reduce(op, clamp_min(margin - widened(target) * (o.x - o.target), 0), reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& wanted, int64_t reduction) {
  const char* op = "soft_margin_loss";
  check_same_sizes(op, input, wanted);
  LossOperands o(op, input, wanted);
  return o.reduce(op, -log_sigmoid(o.target * o.x), reduction);
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& wanted, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, int64_t reduction) {
  const char* op = "multi_margin_loss";
  bool squared = p.to_double() == 2;
  check(squared || p.to_double() == 1, op, ": p must be 1 or 2, got ", p);
  Tensor target = class_numbers(op, input, wanted);
  check(target.dim() == input.dim() - 1 && (input.dim() == 1 || target.size(0) == input.size(0)), op,
        ": input ", input.sizes(), " needs one class number per sample, got target ", target.sizes());
  int64_t classes = input.size(-1);
  check(!weight.defined() || (weight.dim() == 1 && weight.size(0) == classes), op,
        ": weight must be a vector of ", classes, " numbers, one per class");
  check(is_floating(input.dtype()), op, ": not implemented for dtype ", input.dtype());
  Tensor given = autocast_to_float(input), x = widened(given), places = target.unsqueeze(-1);
  Tensor gaps = clamp_min(x - gather(x, -1, places) + margin, 0);
  if (squared) gaps = square(gaps);
  if (weight.defined())
    gaps = gaps * index_select(widened(weight), 0, target.reshape({-1})).reshape(places.sizes());
  Tensor losses = sum(scatter(gaps, -1, places, 0), {-1}) / classes;
  return cast(reduce_losses(op, losses, reduction), given.dtype());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& wanted, int64_t reduction) {
  const char* op = "multilabel_margin_loss";
  Tensor target = class_numbers(op, input, wanted);
  check_same_sizes(op, input, wanted);
  check(is_floating(input.dtype()), op, ": not implemented for dtype ", input.dtype());
  Tensor given = autocast_to_float(input), x = widened(given);
  Tensor listed = cumsum(target < 0, -1) == 0;  // (N, C): whether place k names a class
  Tensor places = where(listed, target, 0);
  Tensor wanted_classes = scatter_add(zeros_like(places), -1, places, listed.to(kLong)) > 0;
  Tensor counted = listed.unsqueeze(-1) & logical_not(wanted_classes).unsqueeze(-2);
  Tensor gaps = clamp_min(1 - gather(x, -1, places).unsqueeze(-1) + x.unsqueeze(-2), 0);
  Tensor losses = sum(where(counted, gaps, 0), {-2, -1}) / input.size(-1);
  return cast(reduce_losses(op, losses, reduction), given.dtype());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  const char* op = "triplet_margin_loss";
  check(margin > 0, op, ": margin must be greater than 0, got ", margin);
  LossOperands o(op, anchor, positive);
  broadcast_sizes(anchor.sizes(), negative.sizes(), op);
  Tensor other = widened(autocast_to_float(negative));
  Tensor near = distance(o.x, o.target, p, eps), far = distance(o.x, other, p, eps);
  if (swap) far = minimum(far, distance(o.target, other, p, eps));
  return o.reduce(op, clamp_min(near - far + margin, 0), reduction);
}

namespace detail {

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& wanted, const Tensor& weight,
                                   int64_t reduction) {
  const char* op = "multilabel_soft_margin_loss";
  check_same_sizes(op, input, wanted);
  check(input.dim() > 0, op, ": input must have a dim of classes, got ", input.sizes());
  LossOperands o(op, input, wanted);
  Tensor losses = -(o.target * log_sigmoid(o.x) + (1 - o.target) * log_sigmoid(-o.x));
  if (weight.defined()) losses = losses * widened(weight);
  return o.reduce(op, mean(losses, {-1}), reduction);
}

}  // namespace detail

}  // namespace tarn::inline v1
