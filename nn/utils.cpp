#include <tarn/nn/utils.h>

#include <cmath>

#include <tarn/core/mode.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1::nn::utils {

namespace {

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) out.push_back(parameter.grad());
  return out;
}

// One number per gradient, then one over them all: nothing has to be read back in between.
double norm_of(const std::vector<Tensor>& gradients, double p) {
  std::vector<Tensor> parts;
  for (const Tensor& grad : gradients) {
    if (grad.numel() == 0) continue;
    Tensor x = grad.detach();
    parts.push_back(std::isinf(p) ? tarn::max(tarn::abs(x))
                                  : tarn::sum(p == 2 ? tarn::square(x) : tarn::pow(tarn::abs(x), p)));
  }
  if (parts.empty()) return 0;
  Tensor all = tarn::stack(parts);
  if (std::isinf(p)) return tarn::max(all).item<double>();
  return std::pow(tarn::sum(all).item<double>(), 1 / p);
}

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  check(max_norm >= 0, "clip_grad_norm_: max_norm must be at least 0, got ", max_norm);
  check(norm_type > 0, "clip_grad_norm_: norm_type must be above 0, got ", norm_type);
  NoGradGuard no_grad;
  std::vector<Tensor> gradients = gradients_of(parameters);
  const double norm = norm_of(gradients, norm_type);
  check(!error_if_nonfinite || std::isfinite(norm), "clip_grad_norm_: the gradients' norm is ", norm);
  const double factor = max_norm / (norm + 1e-6);
  // NaN fails the comparison and is multiplied in.
  if (factor >= 1) return norm;
  for (const Tensor& grad : gradients) grad.mul_(factor);
  return norm;
}

double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  check(clip_value >= 0, "clip_grad_value_: clip_value must be at least 0, got ", clip_value);
  NoGradGuard no_grad;
  for (const Tensor& grad : gradients_of(parameters)) grad.clamp_(Scalar(-clip_value), Scalar(clip_value));
}

void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  check(!parameters.empty(), "parameters_to_vector: got no parameters");
  std::vector<Tensor> flat;
  for (const Tensor& parameter : parameters) flat.push_back(parameter.reshape({-1}));
  return tarn::cat(flat);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  int64_t total = 0;
  for (const Tensor& parameter : parameters) total += parameter.numel();
  check(vector.dim() == 1 && vector.numel() == total, "vector_to_parameters: the vector must be (", total,
        "), got ", vector.sizes());
  NoGradGuard no_grad;
  int64_t start = 0;
  for (const Tensor& parameter : parameters) {
    parameter.copy_(vector.narrow(0, start, parameter.numel()).view(parameter.sizes()));
    start += parameter.numel();
  }
}

}  // namespace tarn::inline v1::nn::utils
