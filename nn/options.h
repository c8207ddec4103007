// Options of the modules, with libtorch's names and defaults; nn::functional takes the same ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tarn/core/arg.h>
#include <tarn/core/tensor.h>
#include <tarn/nn/enum.h>
#include <tarn/nn/expanding_array.h>

namespace tarn::inline v1::nn {

// --- linear ---

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TARN_ARG(int64_t, in_features);
  TARN_ARG(int64_t, out_features);
  TARN_ARG(bool, bias) = true;
};

struct FlattenOptions {
  TARN_ARG(int64_t, start_dim) = 1;
  TARN_ARG(int64_t, end_dim) = -1;
};

struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TARN_ARG(int64_t, dim);
  TARN_ARG(std::vector<int64_t>, sizes);
};

// rows of `num_embeddings`, each of `embedding_dim` numbers; the row padding_idx starts as zero and gets no
// gradient.
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TARN_ARG(int64_t, num_embeddings);
  TARN_ARG(int64_t, embedding_dim);
  TARN_ARG(std::optional<int64_t>, padding_idx);
  TARN_ARG(Tensor, _weight);
};

// --- convolution ---

// Zeros around the input: D numbers, kValid (none) or kSame (as many as keep the size; for stride 1).
template <size_t D>
class ConvPadding {
 public:
  template <class N>
  requires std::is_integral_v<N> ConvPadding(N value) : value_(value) {}
  ConvPadding(std::initializer_list<int64_t> list) : value_(list) {}
  ConvPadding(const std::vector<int64_t>& list) : value_(list) {}
  ConvPadding(const ExpandingArray<D>& value) : value_(value) {}
  ConvPadding(enumtype::kValid) : value_(0) {}
  ConvPadding(enumtype::kSame) : value_(0), same_(true) {}
  const ExpandingArray<D>& value() const { return value_; }
  bool is_same() const { return same_; }

 private:
  ExpandingArray<D> value_;
  bool same_ = false;
};

template <size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TARN_ARG(int64_t, in_channels);
  TARN_ARG(int64_t, out_channels);
  TARN_ARG(ExpandingArray<D>, kernel_size);
  TARN_ARG(ExpandingArray<D>, stride) = 1;
  TARN_ARG(ConvPadding<D>, padding) = 0;
  TARN_ARG(ExpandingArray<D>, dilation) = 1;
  TARN_ARG(int64_t, groups) = 1;
  TARN_ARG(bool, bias) = true;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;

// --- normalisation ---

// Without `momentum` the running statistics are the plain mean over all batches.
struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TARN_ARG(int64_t, num_features);
  TARN_ARG(double, eps) = 1e-5;
  TARN_ARG(std::optional<double>, momentum) = 0.1;
  TARN_ARG(bool, affine) = true;
  TARN_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TARN_ARG(std::vector<int64_t>, normalized_shape);
  TARN_ARG(double, eps) = 1e-5;
  TARN_ARG(bool, elementwise_affine) = true;
};

// --- pooling; a stride that is not given is the kernel's size ---

struct MaxPool2dOptions {
  MaxPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TARN_ARG(ExpandingArray<2>, kernel_size);
  TARN_ARG(ExpandingArray<2>, stride);
  TARN_ARG(ExpandingArray<2>, padding) = 0;
  TARN_ARG(ExpandingArray<2>, dilation) = 1;
  TARN_ARG(bool, ceil_mode) = false;
};

struct AvgPool2dOptions {
  AvgPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TARN_ARG(ExpandingArray<2>, kernel_size);
  TARN_ARG(ExpandingArray<2>, stride);
  TARN_ARG(ExpandingArray<2>, padding) = 0;
  TARN_ARG(bool, ceil_mode) = false;
  TARN_ARG(bool, count_include_pad) = true;
  TARN_ARG(std::optional<int64_t>, divisor_override);
};

// An output size that is left out is the input's.
struct AdaptiveAvgPool2dOptions {
  AdaptiveAvgPool2dOptions(ExpandingArrayWithOptionalElem<2> output_size) : output_size_(output_size) {}
  TARN_ARG(ExpandingArrayWithOptionalElem<2>, output_size);
};

// --- dropout ---

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TARN_ARG(double, p);
  TARN_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;

// --- activations ---

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TARN_ARG(bool, inplace);
};
using ReLU6Options = ReLUOptions;
using SELUOptions = ReLUOptions;

struct LeakyReLUOptions {
  TARN_ARG(double, negative_slope) = 1e-2;
  TARN_ARG(bool, inplace) = false;
};

struct ELUOptions {
  TARN_ARG(double, alpha) = 1.0;
  TARN_ARG(bool, inplace) = false;
};

// approximate: "none" or "tanh".
struct GELUOptions {
  TARN_ARG(std::string, approximate) = "none";
};

struct HardtanhOptions {
  TARN_ARG(double, min_val) = -1.0;
  TARN_ARG(double, max_val) = 1.0;
  TARN_ARG(bool, inplace) = false;
};

struct SoftplusOptions {
  TARN_ARG(double, beta) = 1.0;
  TARN_ARG(double, threshold) = 20.0;
};

struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TARN_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;

// --- losses ---

struct NLLLossOptions {
  TARN_ARG(Tensor, weight);
  TARN_ARG(int64_t, ignore_index) = -100;
  TARN_ARG(LossReduction, reduction) = kMean;
};

struct CrossEntropyLossOptions {
  TARN_ARG(Tensor, weight);
  TARN_ARG(int64_t, ignore_index) = -100;
  TARN_ARG(LossReduction, reduction) = kMean;
  TARN_ARG(double, label_smoothing) = 0.0;
};

struct MSELossOptions {
  MSELossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TARN_ARG(LossReduction, reduction);
};
using L1LossOptions = MSELossOptions;

struct BCEWithLogitsLossOptions {
  TARN_ARG(Tensor, weight);
  TARN_ARG(LossReduction, reduction) = kMean;
  TARN_ARG(Tensor, pos_weight);
};

}  // namespace tarn::inline v1::nn
