// Batch normalisation (Ioffe and Szegedy, arXiv 1502.03167) and layer normalisation (Ba et al., arXiv
// 1607.06450).
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

// Normalises each channel over the batch while training, and by running statistics in eval mode.
template <class Derived>
class TARN_API BatchNormNdImpl : public Cloneable<Derived> {
 public:
  explicit BatchNormNdImpl(const BatchNormOptions& options_) : options(options_) { make(); }

  void reset() override { make(); }
  void reset_parameters();
  void reset_running_stats();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);

  BatchNormOptions options;
  Tensor weight, bias;               // (num_features); undefined unless affine
  Tensor running_mean, running_var;  // (num_features); undefined unless track_running_stats
  Tensor num_batches_tracked;        // one Long

 private:
  void make();
};

// (N, C) or (N, C, L).
class TARN_API BatchNorm1dImpl : public BatchNormNdImpl<BatchNorm1dImpl> {
 public:
  explicit BatchNorm1dImpl(const BatchNorm1dOptions& options);
};
TARN_MODULE(BatchNorm1d);

// (N, C, H, W).
class TARN_API BatchNorm2dImpl : public BatchNormNdImpl<BatchNorm2dImpl> {
 public:
  explicit BatchNorm2dImpl(const BatchNorm2dOptions& options);
};
TARN_MODULE(BatchNorm2d);

// Normalises over the last dims, whose sizes are normalized_shape.
class TARN_API LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options);

  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight, bias;  // normalized_shape; undefined unless elementwise_affine
};
TARN_MODULE(LayerNorm);

}  // namespace tarn::inline v1::nn
