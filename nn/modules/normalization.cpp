#include <tarn/nn/modules/normalization.h>

#include <ostream>
#include <type_traits>

#include <tarn/core/ops/creation.h>
#include <tarn/nn/functional.h>
#include <tarn/nn/init.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

namespace {

template <class Derived>
constexpr const char* class_of() {
  return std::is_same_v<Derived, BatchNorm1dImpl> ? "BatchNorm1d" : "BatchNorm2d";
}

template <class Derived>
void check_input(const Tensor& input, int64_t features) {
  constexpr bool is_1d = std::is_same_v<Derived, BatchNorm1dImpl>;
  check(is_1d ? input.dim() == 2 || input.dim() == 3 : input.dim() == 4, class_of<Derived>(),
        ": input must be ", is_1d ? "(N, C) or (N, C, L)" : "(N, C, H, W)", ", got ", input.sizes());
  check(input.size(1) == features, class_of<Derived>(), ": input ", input.sizes(), " has ", input.size(1),
        " channels, expected ", features);
}

const char* yes_no(bool value) { return value ? "true" : "false"; }

}  // namespace

template <class Derived>
void BatchNormNdImpl<Derived>::make() {
  check(options.num_features() >= 0, class_of<Derived>(), ": num_features must be at least 0, got ",
        options.num_features());
  check(options.eps() >= 0, class_of<Derived>(), ": eps must be at least 0, got ", options.eps());
  const int64_t n = options.num_features();
  weight = this->register_parameter("weight", options.affine() ? tarn::empty({n}) : Tensor());
  bias = this->register_parameter("bias", options.affine() ? tarn::empty({n}) : Tensor());
  const bool tracks = options.track_running_stats();
  running_mean = this->register_buffer("running_mean", tracks ? tarn::empty({n}) : Tensor());
  running_var = this->register_buffer("running_var", tracks ? tarn::empty({n}) : Tensor());
  num_batches_tracked =
      this->register_buffer("num_batches_tracked", tracks ? tarn::empty({}, kLong) : Tensor());
  reset_parameters();
}

template <class Derived>
void BatchNormNdImpl<Derived>::reset_running_stats() {
  if (!running_mean.defined()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}

template <class Derived>
void BatchNormNdImpl<Derived>::reset_parameters() {
  reset_running_stats();
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

template <class Derived>
void BatchNormNdImpl<Derived>::pretty_print(std::ostream& out) const {
  out << "tarn::nn::" << class_of<Derived>() << "(" << options.num_features() << ", eps=" << options.eps()
      << ", momentum=";
  if (options.momentum())
    out << *options.momentum();
  else
    out << "none";
  out << ", affine=" << yes_no(options.affine())
      << ", track_running_stats=" << yes_no(options.track_running_stats()) << ")";
}

template <class Derived>
Tensor BatchNormNdImpl<Derived>::forward(const Tensor& input) {
  return in_module(*this, [&] {
    check_input<Derived>(input, options.num_features());
    double momentum = options.momentum().value_or(0);
    if (this->is_training() && num_batches_tracked.defined()) {
      NoGradGuard no_grad;
      num_batches_tracked.add_(1);
      if (!options.momentum()) momentum = 1 / num_batches_tracked.template item<double>();
    }
    return functional::batch_norm(input, running_mean, running_var,
                                  functional::BatchNormFuncOptions()
                                      .weight(weight)
                                      .bias(bias)
                                      .training(this->is_training() || !running_mean.defined())
                                      .momentum(momentum)
                                      .eps(options.eps()));
  });
}

template class BatchNormNdImpl<BatchNorm1dImpl>;
template class BatchNormNdImpl<BatchNorm2dImpl>;

BatchNorm1dImpl::BatchNorm1dImpl(const BatchNorm1dOptions& options_) : BatchNormNdImpl(options_) {}

BatchNorm2dImpl::BatchNorm2dImpl(const BatchNorm2dOptions& options_) : BatchNormNdImpl(options_) {}

// --- LayerNorm ---

LayerNormImpl::LayerNormImpl(const LayerNormOptions& options_) : options(options_) { reset(); }

void LayerNormImpl::reset() {
  check(!options.normalized_shape().empty(), "LayerNorm: normalized_shape must not be empty");
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? tarn::empty(options.normalized_shape()) : Tensor());
  bias = register_parameter("bias", affine ? tarn::empty(options.normalized_shape()) : Tensor());
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::LayerNorm(" << str(options.normalized_shape()) << ", eps=" << options.eps()
      << ", elementwise_affine=" << yes_no(options.elementwise_affine()) << ")";
}

Tensor LayerNormImpl::forward(const Tensor& input) {
  return in_module(*this, [&] {
    return functional::layer_norm(input, functional::LayerNormFuncOptions(options.normalized_shape())
                                             .weight(weight)
                                             .bias(bias)
                                             .eps(options.eps()));
  });
}

}  // namespace tarn::inline v1::nn
