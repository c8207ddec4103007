// Activations as modules: each calls the function of its name in nn::functional.
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

// What activations with options share; Derived adds forward.
template <class Derived, class Options>
class ActivationImpl : public Cloneable<Derived> {
 public:
  explicit ActivationImpl(const Options& options_) : options(options_) {}
  void reset() override {}
  Options options;
};

class TARN_API ReLUImpl : public ActivationImpl<ReLUImpl, ReLUOptions> {
 public:
  explicit ReLUImpl(const ReLUOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(ReLU);

class TARN_API ReLU6Impl : public ActivationImpl<ReLU6Impl, ReLU6Options> {
 public:
  explicit ReLU6Impl(const ReLU6Options& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(ReLU6);

class TARN_API LeakyReLUImpl : public ActivationImpl<LeakyReLUImpl, LeakyReLUOptions> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(LeakyReLU);

class TARN_API ELUImpl : public ActivationImpl<ELUImpl, ELUOptions> {
 public:
  explicit ELUImpl(const ELUOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(ELU);

class TARN_API SELUImpl : public ActivationImpl<SELUImpl, SELUOptions> {
 public:
  explicit SELUImpl(const SELUOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(SELU);

class TARN_API GELUImpl : public ActivationImpl<GELUImpl, GELUOptions> {
 public:
  explicit GELUImpl(const GELUOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(GELU);

class TARN_API HardtanhImpl : public ActivationImpl<HardtanhImpl, HardtanhOptions> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Hardtanh);

class TARN_API SoftplusImpl : public ActivationImpl<SoftplusImpl, SoftplusOptions> {
 public:
  explicit SoftplusImpl(const SoftplusOptions& options = {}) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Softplus);

class TARN_API SoftmaxImpl : public ActivationImpl<SoftmaxImpl, SoftmaxOptions> {
 public:
  explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Softmax);

class TARN_API LogSoftmaxImpl : public ActivationImpl<LogSoftmaxImpl, LogSoftmaxOptions> {
 public:
  explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options) : ActivationImpl(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(LogSoftmax);

// --- without options ---

class TARN_API SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Sigmoid);

class TARN_API TanhImpl : public Cloneable<TanhImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Tanh);

class TARN_API SiLUImpl : public Cloneable<SiLUImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(SiLU);

class TARN_API MishImpl : public Cloneable<MishImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Mish);

class TARN_API HardsigmoidImpl : public Cloneable<HardsigmoidImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Hardsigmoid);

class TARN_API HardswishImpl : public Cloneable<HardswishImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(Hardswish);

class TARN_API LogSigmoidImpl : public Cloneable<LogSigmoidImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(LogSigmoid);

}  // namespace tarn::inline v1::nn
