// AccumulateGrad: where backward ends. It adds the gradient to the leaf's .grad.
#pragma once

#include <tarn/autograd/meta.h>

namespace tarn::inline v1::detail {

struct AccumulateGrad final : Node {
  explicit AccumulateGrad(const Ref<TensorImpl>& leaf);
  ~AccumulateGrad() override;
  void apply(autograd::NodeCall& call) override;
  std::string name() const override { return "AccumulateGrad"; }

  Tensor variable;

 private:
  GradMeta meta_;
};

}  // namespace tarn::inline v1::detail
