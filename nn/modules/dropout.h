// Dropout (Srivastava et al., JMLR 2014): zeroes with probability p while training, the rest is scaled by 1 /
// (1 - p).
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

class TARN_API DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  explicit DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
  explicit DropoutImpl(const DropoutOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
  DropoutOptions options;
};
TARN_MODULE(Dropout);

// Whole channels of (N, C, H, W) or (C, H, W).
class TARN_API Dropout2dImpl : public Cloneable<Dropout2dImpl> {
 public:
  explicit Dropout2dImpl(double p) : Dropout2dImpl(Dropout2dOptions(p)) {}
  explicit Dropout2dImpl(const Dropout2dOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
  Dropout2dOptions options;
};
TARN_MODULE(Dropout2d);

}  // namespace tarn::inline v1::nn
