// nn::functional: the layers' computations as functions, with options where the modules have them. They call
// the ops of namespace tarn, whose declarations say shapes and errors.
#pragma once

#include <tarn/nn/options.h>

namespace tarn::inline v1::nn::functional {

// --- activations; with inplace the input itself is changed and returned ---

using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using GELUFuncOptions = GELUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SoftplusFuncOptions = SoftplusOptions;
using SoftmaxFuncOptions = SoftmaxOptions;
using LogSoftmaxFuncOptions = LogSoftmaxOptions;

TARN_API Tensor relu(const Tensor& input, const ReLUFuncOptions& options = {});
TARN_API Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options = {});
TARN_API Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options = {});
TARN_API Tensor elu(const Tensor& input, const ELUFuncOptions& options = {});
TARN_API Tensor selu(const Tensor& input, const SELUFuncOptions& options = {});
TARN_API Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
TARN_API Tensor silu(const Tensor& input);
TARN_API Tensor mish(const Tensor& input);
TARN_API Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options = {});
TARN_API Tensor hardsigmoid(const Tensor& input);
TARN_API Tensor hardswish(const Tensor& input);
TARN_API Tensor logsigmoid(const Tensor& input);
TARN_API Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
TARN_API Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
TARN_API Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);

// --- linear, convolution, embedding ---

template <size_t D>
struct ConvFuncOptions {
  TARN_ARG(Tensor, bias);
  TARN_ARG(ExpandingArray<D>, stride) = 1;
  TARN_ARG(ConvPadding<D>, padding) = 0;
  TARN_ARG(ExpandingArray<D>, dilation) = 1;
  TARN_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;

struct EmbeddingFuncOptions {
  TARN_ARG(std::optional<int64_t>, padding_idx);
};

// input (*, in), weight (out, in), bias (out) -> (*, out).
TARN_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
TARN_API Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
TARN_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
TARN_API Tensor embedding(const Tensor& input, const Tensor& weight,
                          const EmbeddingFuncOptions& options = {});
TARN_API Tensor one_hot(const Tensor& indices, int64_t num_classes = -1);

// --- normalisation ---

struct BatchNormFuncOptions {
  TARN_ARG(Tensor, weight);
  TARN_ARG(Tensor, bias);
  TARN_ARG(bool, training) = false;
  TARN_ARG(double, momentum) = 0.1;
  TARN_ARG(double, eps) = 1e-5;
};

struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  TARN_ARG(std::vector<int64_t>, normalized_shape);
  TARN_ARG(Tensor, weight);
  TARN_ARG(Tensor, bias);
  TARN_ARG(double, eps) = 1e-5;
};

TARN_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                           const BatchNormFuncOptions& options = {});
TARN_API Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);

// --- pooling ---

using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;

TARN_API Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
TARN_API Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
TARN_API Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options);

// --- dropout ---

struct DropoutFuncOptions {
  TARN_ARG(double, p) = 0.5;
  TARN_ARG(bool, training) = true;
  TARN_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;

TARN_API Tensor dropout(const Tensor& input, const DropoutFuncOptions& options = {});
// Drops whole channels of (N, C, H, W) or (C, H, W).
TARN_API Tensor dropout2d(const Tensor& input, const Dropout2dFuncOptions& options = {});

// --- losses ---

using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;

TARN_API Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
TARN_API Tensor cross_entropy(const Tensor& input, const Tensor& target,
                              const CrossEntropyFuncOptions& options = {});
TARN_API Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
TARN_API Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {});
TARN_API Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                                 const BinaryCrossEntropyWithLogitsFuncOptions& options = {});

}  // namespace tarn::inline v1::nn::functional
