#include <tarn/nn/modules/activation.h>

#include <ostream>

#include <tarn/core/ops/pointwise.h>
#include <tarn/nn/functional.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

namespace {

const char* inplace_text(bool inplace) { return inplace ? "inplace=true" : ""; }

}  // namespace

Tensor ReLUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::relu(input, options); });
}

void ReLUImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::ReLU(" << inplace_text(options.inplace()) << ")";
}

Tensor ReLU6Impl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::relu6(input, options); });
}

void ReLU6Impl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::ReLU6(" << inplace_text(options.inplace()) << ")";
}

Tensor LeakyReLUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::leaky_relu(input, options); });
}

void LeakyReLUImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::LeakyReLU(negative_slope=" << options.negative_slope() << (options.inplace() ? ", " : "")
      << inplace_text(options.inplace()) << ")";
}

Tensor ELUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::elu(input, options); });
}

void ELUImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::ELU(alpha=" << options.alpha() << (options.inplace() ? ", " : "")
      << inplace_text(options.inplace()) << ")";
}

Tensor SELUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::selu(input, options); });
}

void SELUImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::SELU(" << inplace_text(options.inplace()) << ")";
}

Tensor GELUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::gelu(input, options); });
}

void GELUImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::GELU(" << (options.approximate() == "none" ? "" : "approximate=" + options.approximate())
      << ")";
}

Tensor HardtanhImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::hardtanh(input, options); });
}

void HardtanhImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Hardtanh(min_val=" << options.min_val() << ", max_val=" << options.max_val()
      << (options.inplace() ? ", " : "") << inplace_text(options.inplace()) << ")";
}

Tensor SoftplusImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::softplus(input, options); });
}

void SoftplusImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Softplus(beta=" << options.beta() << ", threshold=" << options.threshold() << ")";
}

Tensor SoftmaxImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::softmax(input, options); });
}

void SoftmaxImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Softmax(dim=" << options.dim() << ")";
}

Tensor LogSoftmaxImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::log_softmax(input, options); });
}

void LogSoftmaxImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::LogSoftmax(dim=" << options.dim() << ")";
}

// --- without options ---

Tensor SigmoidImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::sigmoid(input); });
}
void SigmoidImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Sigmoid()"; }

Tensor TanhImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::tanh(input); });
}
void TanhImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Tanh()"; }

Tensor SiLUImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::silu(input); });
}
void SiLUImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::SiLU()"; }

Tensor MishImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::mish(input); });
}
void MishImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Mish()"; }

Tensor HardsigmoidImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::hardsigmoid(input); });
}
void HardsigmoidImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Hardsigmoid()"; }

Tensor HardswishImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::hardswish(input); });
}
void HardswishImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Hardswish()"; }

Tensor LogSigmoidImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return tarn::log_sigmoid(input); });
}
void LogSigmoidImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::LogSigmoid()"; }

}  // namespace tarn::inline v1::nn
