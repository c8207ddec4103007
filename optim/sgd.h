// Stochastic gradient descent with momentum (Sutskever et al., ICML 2013, in PyTorch's form), Nesterov's
// variant and weight decay.
#pragma once

#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::optim {

class TARN_API SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions(double lr = 1e-3) : lr_(lr) {}
  TARN_ARG(double, lr);
  TARN_ARG(double, momentum) = 0;
  TARN_ARG(double, dampening) = 0;
  TARN_ARG(double, weight_decay) = 0;
  TARN_ARG(bool, nesterov) = false;
  TARN_ARG(bool, maximize) = false;

 public:
  ArrayRef<OptionField> fields() const override;
  void validate(const char* optimizer) const override;
};

class TARN_API SGD : public Optimizer {
 public:
  explicit SGD(std::vector<OptimizerParamGroup> groups, SGDOptions defaults = {});
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults = {});
  Tensor step(LossClosure closure = {}) override;
};

}  // namespace tarn::inline v1::optim
