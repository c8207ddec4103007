#include <tarn/nn/functional.h>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/conv.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/loss.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1::nn::functional {

// --- activations ---

Tensor relu(const Tensor& input, const ReLUFuncOptions& options) {
  return options.inplace() ? tarn::relu_(input) : tarn::relu(input);
}

Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options) {
  return options.inplace() ? tarn::relu6_(input) : tarn::relu6(input);
}

Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options) {
  const double slope = options.negative_slope();
  return options.inplace() ? tarn::leaky_relu_(input, slope) : tarn::leaky_relu(input, slope);
}

Tensor elu(const Tensor& input, const ELUFuncOptions& options) {
  return options.inplace() ? tarn::elu_(input, options.alpha()) : tarn::elu(input, options.alpha());
}

Tensor selu(const Tensor& input, const SELUFuncOptions& options) {
  return options.inplace() ? tarn::selu_(input) : tarn::selu(input);
}

Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return tarn::gelu(input, options.approximate());
}

Tensor silu(const Tensor& input) { return tarn::silu(input); }

Tensor mish(const Tensor& input) { return tarn::mish(input); }

Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options) {
  const double low = options.min_val(), high = options.max_val();
  return options.inplace() ? tarn::hardtanh_(input, low, high) : tarn::hardtanh(input, low, high);
}

Tensor hardsigmoid(const Tensor& input) { return tarn::hardsigmoid(input); }

Tensor hardswish(const Tensor& input) { return tarn::hardswish(input); }

Tensor logsigmoid(const Tensor& input) { return tarn::log_sigmoid(input); }

Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return tarn::softplus(input, options.beta(), options.threshold());
}

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return tarn::softmax(input, options.dim());
}

Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return tarn::log_softmax(input, options.dim());
}

// --- linear, convolution, embedding ---

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tarn::linear(input, weight, bias);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& o) {
  if (o.padding().is_same())
    return tarn::conv1d(input, weight, o.bias(), o.stride(), "same", o.dilation(), o.groups());
  return tarn::conv1d(input, weight, o.bias(), o.stride(), o.padding().value(), o.dilation(), o.groups());
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& o) {
  if (o.padding().is_same())
    return tarn::conv2d(input, weight, o.bias(), o.stride(), "same", o.dilation(), o.groups());
  return tarn::conv2d(input, weight, o.bias(), o.stride(), o.padding().value(), o.dilation(), o.groups());
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  return tarn::embedding(weight, input, options.padding_idx().value_or(-1));
}

Tensor one_hot(const Tensor& indices, int64_t num_classes) { return tarn::one_hot(indices, num_classes); }

// --- normalisation ---

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  return tarn::batch_norm(input, options.weight(), options.bias(), running_mean, running_var,
                          options.training(), options.momentum(), options.eps());
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return tarn::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(), options.eps());
}

// --- pooling ---

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return tarn::max_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                          options.dilation(), options.ceil_mode());
}

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return tarn::avg_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                          options.ceil_mode(), options.count_include_pad(), options.divisor_override());
}

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  check(input.dim() >= 2, "adaptive_avg_pool2d: input must be (N, C, H, W) or (C, H, W), got ",
        input.sizes());
  ExpandingArray<2> size = 0;
  for (int d = 0; d < 2; ++d) size[d] = options.output_size()[d].value_or(input.size(d - 2));
  return tarn::adaptive_avg_pool2d(input, size);
}

// --- dropout ---

Tensor dropout(const Tensor& input, const DropoutFuncOptions& options) {
  return options.inplace() ? tarn::dropout_(input, options.p(), options.training())
                           : tarn::dropout(input, options.p(), options.training());
}

Tensor dropout2d(const Tensor& input, const Dropout2dFuncOptions& options) {
  check(input.dim() == 3 || input.dim() == 4, "dropout2d: input must be (N, C, H, W) or (C, H, W), got ",
        input.sizes());
  check(options.p() >= 0 && options.p() <= 1, "dropout2d: p must be in [0, 1], got ", options.p());
  if (!options.training() || options.p() == 0) return input;
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes[sizes.size() - 1] = sizes[sizes.size() - 2] = 1;
  Tensor kept = tarn::dropout(tarn::ones(sizes, input.options()), options.p(), true);
  return options.inplace() ? input.mul_(kept) : input * kept;
}

// --- losses ---

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return tarn::nll_loss(input, target, options.weight(), options.reduction(), options.ignore_index());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return tarn::cross_entropy_loss(input, target, options.weight(), options.reduction(),
                                  options.ignore_index(), options.label_smoothing());
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  return tarn::mse_loss(input, target, options.reduction());
}

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return tarn::l1_loss(input, target, options.reduction());
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  return tarn::binary_cross_entropy_with_logits(input, target, options.weight(), options.pos_weight(),
                                                options.reduction());
}

}  // namespace tarn::inline v1::nn::functional
