// Losses as modules: each calls the function of its name in nn::functional.
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

// Logits (N, C, ...) and class indices (N, ...), or probabilities of the logits' shape.
class TARN_API CrossEntropyLossImpl : public Cloneable<CrossEntropyLossImpl> {
 public:
  explicit CrossEntropyLossImpl(const CrossEntropyLossOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& out) const override;
  CrossEntropyLossOptions options;
  Tensor weight;
};
TARN_MODULE(CrossEntropyLoss);

// Log-probabilities (N, C, ...) and class indices (N, ...).
class TARN_API NLLLossImpl : public Cloneable<NLLLossImpl> {
 public:
  explicit NLLLossImpl(const NLLLossOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& out) const override;
  NLLLossOptions options;
  Tensor weight;
};
TARN_MODULE(NLLLoss);

class TARN_API MSELossImpl : public Cloneable<MSELossImpl> {
 public:
  explicit MSELossImpl(const MSELossOptions& options = {});
  void reset() override {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& out) const override;
  MSELossOptions options;
};
TARN_MODULE(MSELoss);

class TARN_API L1LossImpl : public Cloneable<L1LossImpl> {
 public:
  explicit L1LossImpl(const L1LossOptions& options = {});
  void reset() override {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& out) const override;
  L1LossOptions options;
};
TARN_MODULE(L1Loss);

// Binary cross entropy of logits and targets in [0, 1] of one shape.
class TARN_API BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& out) const override;
  BCEWithLogitsLossOptions options;
  Tensor weight, pos_weight;
};
TARN_MODULE(BCEWithLogitsLoss);

}  // namespace tarn::inline v1::nn
