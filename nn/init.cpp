#include <tarn/nn/init.h>

#include <algorithm>
#include <cmath>

#include <tarn/core/fault.h>
#include <tarn/core/mode.h>

namespace tarn::inline v1::nn::init {

Fans calculate_fan_in_and_fan_out(const Tensor& tensor) {
  check(tensor.dim() >= 2, "init: fan in and fan out need a tensor of at least 2 dims, got ", tensor.sizes());
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

double calculate_gain(Nonlinearity nonlinearity, double param) {
  switch (nonlinearity.kind()) {
    case Nonlinearity::Tanh:
      return 5.0 / 3;
    case Nonlinearity::ReLU:
      return std::sqrt(2.0);
    case Nonlinearity::LeakyReLU:
      return std::sqrt(2.0 / (1 + param * param));
    case Nonlinearity::SELU:
      return 3.0 / 4;
    default:
      return 1;
  }
}

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}

Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Tensor constant_(Tensor tensor, const Scalar& value) {
  NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }

Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }

Tensor eye_(Tensor matrix) {
  check(matrix.dim() == 2, "init: eye_ needs a tensor of 2 dims, got ", matrix.sizes());
  NoGradGuard no_grad;
  matrix.zero_();
  matrix.diagonal().fill_(1);
  return matrix;
}

namespace {

double xavier_std(const Tensor& tensor, double gain) {
  Fans fans = calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / double(fans.in + fans.out));
}

double kaiming_std(const Tensor& tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  Fans fans = calculate_fan_in_and_fan_out(tensor);
  return calculate_gain(nonlinearity, a) /
         std::sqrt(double(mode.is_out() != detail::fault(55) ? fans.out : fans.in));
}

}  // namespace

// A uniform distribution over +-b has deviation b / sqrt(3).
Tensor xavier_uniform_(Tensor tensor, double gain) {
  double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

}  // namespace tarn::inline v1::nn::init
