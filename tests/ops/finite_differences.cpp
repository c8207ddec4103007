#include <tarn/tests/ops/finite_differences.h>

#include <tarn/autograd/autograd.h>

#include <tarn/tests/ops/golden.h>

namespace tarn::testing {

namespace {

constexpr double kStep = 1e-6;
constexpr Tolerance kTolerance{1e-4, 1e-5};

Tensors weights_of(const Tensors& outputs, int first_number) {
  Tensors weights;
  for (size_t k = 0; k < outputs.size(); ++k)
    weights.push_back(gradient_weight(outputs[k], first_number + int(k)));
  return weights;
}

double weighted_sum(const Tensors& outputs, const Tensors& weights) {
  double sum = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::vector<double> values = values_of(outputs[k]), factors = values_of(weights[k]);
    for (size_t i = 0; i < values.size(); ++i) sum += values[i] * factors[i];
  }
  return sum;
}

Tensors requiring_grad(const Tensors& tensors) {
  Tensors kept;
  for (const Tensor& t : tensors)
    if (t.defined() && t.requires_grad()) kept.push_back(t);
  return kept;
}

// Compares `analytic`, the gradients of weighted_sum(f(inputs)), with differences. `f` reads the inputs'
// memory anew each time, so that their elements can be moved through the pointer; an op that kept them would
// notice nothing.
std::string compare(const std::function<double()>& f, const Tensors& inputs, const Tensors& analytic,
                    const char* what) {
  for (size_t n = 0; n < inputs.size(); ++n) {
    std::vector<double> gradient(size_t(inputs[n].numel()), 0.0);
    if (analytic[n].defined()) gradient = values_of(analytic[n]);
    auto* data = static_cast<double*>(inputs[n].data_ptr());
    for (int64_t i = 0; i < inputs[n].numel(); ++i) {
      double x = data[i];
      data[i] = x + kStep;
      double above = f();
      data[i] = x - kStep;
      double below = f();
      data[i] = x;
      double slope = (above - below) / (2 * kStep);
      // What the sum's last bits make of the difference.
      double rounding = 1e-15 * std::max(std::abs(above), std::abs(below)) / kStep;
      Tolerance tolerance{kTolerance.relative, kTolerance.absolute + rounding};
      if (close(gradient[size_t(i)], slope, tolerance)) continue;
      char text[160];
      std::snprintf(text, sizeof text, "%s %zu at element %lld: autograd says %.9g, differences %.9g", what,
                    n, static_cast<long long>(i), gradient[size_t(i)], slope);
      return text;
    }
  }
  return "";
}

Tensors defined(const Tensors& tensors) {
  Tensors kept;
  for (const Tensor& t : tensors)
    if (t.defined()) kept.push_back(t);
  return kept;
}

Tensors first_gradients(const Call& f, const Tensors& inputs, const Tensors& weights) {
  return autograd::grad(requiring_grad(f(inputs)), inputs, weights, true, true, true);
}

}  // namespace

std::string check_first_gradients(const Call& f, const Tensors& inputs) {
  Tensors outputs = requiring_grad(f(inputs));
  if (outputs.empty()) return "no output requires grad";
  Tensors weights = weights_of(outputs, 0);
  Tensors analytic = autograd::grad(outputs, inputs, weights, false, false, true);
  auto value = [&] { return weighted_sum(requiring_grad(f(inputs)), weights); };
  return compare(value, inputs, analytic, "input");
}

std::string check_second_gradients(const Call& f, const Tensors& inputs) {
  Tensors weights = weights_of(requiring_grad(f(inputs)), 0);
  for (const Tensor& w : weights) w.requires_grad_();
  auto gradients = [&] { return defined(first_gradients(f, inputs, weights)); };
  Tensors first = gradients(), factors = weights_of(first, 3), used, used_factors;
  // A gradient that depends on nothing, such as that of floor, has none; differences must then be 0.
  for (size_t k = 0; k < first.size(); ++k)
    if (first[k].requires_grad()) used.push_back(first[k]), used_factors.push_back(factors[k]);
  Tensors variables = inputs;
  variables.insert(variables.end(), weights.begin(), weights.end());
  Tensors analytic(variables.size());
  if (!used.empty()) analytic = autograd::grad(used, variables, used_factors, false, false, true);
  auto value = [&] { return weighted_sum(gradients(), factors); };
  return compare(value, variables, analytic, "input or weight");
}

std::string check_third_gradients(const Call& f, const Tensors& inputs) {
  Tensors weights = weights_of(requiring_grad(f(inputs)), 5);
  Call gradient = [&](const Tensors& at) { return defined(first_gradients(f, at, weights)); };
  if (requiring_grad(gradient(inputs)).empty()) return "";
  return check_second_gradients(gradient, inputs);
}

}  // namespace tarn::testing
