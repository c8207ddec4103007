#include <tarn/nn/modules/loss.h>

#include <ostream>

#include <tarn/nn/functional.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

// Weights are buffers, so that they move with the module.

CrossEntropyLossImpl::CrossEntropyLossImpl(const CrossEntropyLossOptions& options_) : options(options_) {
  reset();
}

void CrossEntropyLossImpl::reset() {
  const double smoothing = options.label_smoothing();
  check(smoothing >= 0 && smoothing <= 1, "CrossEntropyLoss: label_smoothing must be in [0, 1], got ",
        smoothing);
  weight = register_buffer("weight", options.weight());
}

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return in_module(*this, [&] {
    return functional::cross_entropy(input, target, CrossEntropyLossOptions(options).weight(weight));
  });
}

void CrossEntropyLossImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::CrossEntropyLoss()"; }

NLLLossImpl::NLLLossImpl(const NLLLossOptions& options_) : options(options_) { reset(); }

void NLLLossImpl::reset() { weight = register_buffer("weight", options.weight()); }

Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return in_module(
      *this, [&] { return functional::nll_loss(input, target, NLLLossOptions(options).weight(weight)); });
}

void NLLLossImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::NLLLoss()"; }

MSELossImpl::MSELossImpl(const MSELossOptions& options_) : options(options_) {}

Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return in_module(*this, [&] { return functional::mse_loss(input, target, options); });
}

void MSELossImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::MSELoss()"; }

L1LossImpl::L1LossImpl(const L1LossOptions& options_) : options(options_) {}

Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return in_module(*this, [&] { return functional::l1_loss(input, target, options); });
}

void L1LossImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::L1Loss()"; }

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& options_) : options(options_) {
  reset();
}

void BCEWithLogitsLossImpl::reset() {
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}

Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return in_module(*this, [&] {
    return functional::binary_cross_entropy_with_logits(
        input, target, BCEWithLogitsLossOptions(options).weight(weight).pos_weight(pos_weight));
  });
}

void BCEWithLogitsLossImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::BCEWithLogitsLoss()"; }

}  // namespace tarn::inline v1::nn
