// Convolutions (cross-correlations, as everywhere in deep learning).
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

// What convolutions of D spatial dims share. Weight and bias start uniform within 1 / sqrt(fan in).
template <size_t D, class Derived>
class TARN_API ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options_) : options(options_) { make(); }

  void reset() override { make(); }
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;

  ConvOptions<D> options;
  Tensor weight;  // (out_channels, in_channels / groups, kernel...)
  Tensor bias;    // (out_channels), or undefined

 private:
  void make();
};

// (N, C, L) or (C, L).
class TARN_API Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& options);
  Tensor forward(const Tensor& input);
};
TARN_MODULE(Conv1d);

// (N, C, H, W) or (C, H, W).
class TARN_API Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& options);
  Tensor forward(const Tensor& input);
};
TARN_MODULE(Conv2d);

}  // namespace tarn::inline v1::nn
