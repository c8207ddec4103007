// Adam (Kingma and Ba, arXiv 1412.6980), with AMSGrad (Reddi et al., ICLR 2018), and AdamW, whose weight
// decay acts on the parameter instead of the gradient (Loshchilov and Hutter, arXiv 1711.05101).
#pragma once

#include <tuple>

#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::optim {

class TARN_API AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
 public:
  using betas_t = std::tuple<double, double>;
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  TARN_ARG(double, lr);
  TARN_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TARN_ARG(double, eps) = 1e-8;
  TARN_ARG(double, weight_decay) = 0;
  TARN_ARG(bool, amsgrad) = false;
  TARN_ARG(bool, maximize) = false;

 public:
  ArrayRef<OptionField> fields() const override;
  void validate(const char* optimizer) const override;
};

class TARN_API AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
 public:
  using betas_t = std::tuple<double, double>;
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  TARN_ARG(double, lr);
  TARN_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TARN_ARG(double, eps) = 1e-8;
  TARN_ARG(double, weight_decay) = 1e-2;
  TARN_ARG(bool, amsgrad) = false;
  TARN_ARG(bool, maximize) = false;

 public:
  ArrayRef<OptionField> fields() const override;
  void validate(const char* optimizer) const override;
};

class TARN_API Adam : public Optimizer {
 public:
  explicit Adam(std::vector<OptimizerParamGroup> groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {});
  Tensor step(LossClosure closure = {}) override;
};

class TARN_API AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<OptimizerParamGroup> groups, AdamWOptions defaults = {});
  explicit AdamW(std::vector<Tensor> params, AdamWOptions defaults = {});
  Tensor step(LossClosure closure = {}) override;
};

}  // namespace tarn::inline v1::optim
