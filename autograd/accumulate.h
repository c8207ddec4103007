// AccumulateGrad: where backward ends. It adds the gradient to the leaf's .grad.
#pragma once

#include <tarn/autograd/meta.h>

namespace tarn::inline v1::detail {

struct AccumulateGrad final : Node {
  explicit AccumulateGrad(const Ref<TensorImpl>& leaf);
  ~AccumulateGrad() override;
  void apply(autograd::NodeCall& call) override;
  std::string name() const override { return "AccumulateGrad"; }

  // The leaf got a history of its own (by a write in place after it was detached).
  void let_go();

  Tensor variable;  // undefined once let go

 private:
  GradMeta meta_;
};

}  // namespace tarn::inline v1::detail
