// Pooling over (N, C, H, W) or (C, H, W).
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

class TARN_API MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options);
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
  MaxPool2dOptions options;
};
TARN_MODULE(MaxPool2d);

class TARN_API AvgPool2dImpl : public Cloneable<AvgPool2dImpl> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options);
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
  AvgPool2dOptions options;
};
TARN_MODULE(AvgPool2d);

// Averages to the given height and width, whatever the input's.
class TARN_API AdaptiveAvgPool2dImpl : public Cloneable<AdaptiveAvgPool2dImpl> {
 public:
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveAvgPool2dImpl(AdaptiveAvgPool2dOptions(output_size)) {}
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options);
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
  AdaptiveAvgPool2dOptions options;
};
TARN_MODULE(AdaptiveAvgPool2d);

}  // namespace tarn::inline v1::nn
