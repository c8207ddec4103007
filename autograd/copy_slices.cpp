#include <tarn/autograd/copy_slices.h>

#include <tarn/autograd/engine.h>
#include <tarn/autograd/meta.h>
#include <tarn/autograd/small_array.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1::detail {

CopySlices::CopySlices(Ref<Node> fn, const TensorImpl& base, Ref<ViewLink> link, Edge base_edge)
    : Node("copy_slices"),
      fn_(std::move(fn)),
      link_(std::move(link)),
      base_strides_(base.strides),
      base_offset_(base.offset),
      version_(base.storage->version.load(std::memory_order_relaxed)) {
  base_ = {base.sizes, base.dtype, base.storage->device};
  edge_storage_.assign(fn_->edges, fn_->edges + fn_->edge_count);
  edge_storage_[0] = std::move(base_edge);
  fn_->edges[0] = Edge();
  edges = edge_storage_.data();
  edge_count = fn_->edge_count;
  outputs = &base_;
  output_count = 1;
  number();
}

// The view's chain may depend on the base's strides (view()), so the gradient gets them, gaps included.
Tensor CopySlices::gradient_like_base(const Tensor& grad) const {
  int64_t span = 1;
  for (int d = 0; d < base_.sizes.size(); ++d) {
    if (base_.sizes[d] == 0) return grad.clone();
    span += (base_.sizes[d] - 1) * base_strides_[d];
  }
  Tensor memory = make_tensor({base_offset_ + span}, grad.dtype(), grad.device());
  Tensor out = make_alias(memory, base_.sizes, base_strides_, base_offset_);
  out.copy_(grad);
  return out;
}

void CopySlices::apply(autograd::NodeCall& call) {
  Tensor whole = gradient_like_base(call.grads[0]);
  Tensor slice = replay(link_.get(), whole);
  Tensor of_slice = slice.clone();
  Edge output_edge;
  if (mode.grad) output_edge = view_history(link_.get(), {Ref<Node>::share(this), 0}, version_);
  autograd::NodeCall inner{&of_slice, call.need, call.results, call.keep_saved, &output_edge};
  fn_->apply(inner);
  if (!call.need[0]) return;
  Tensor& result = call.results[0];
  if (result.defined() && !fault(10))
    slice.copy_(fit_gradient(std::move(result), fn_->outputs[0], *fn_, 0));
  else if (!result.defined())
    slice.zero_();
  result = std::move(whole);
}

}  // namespace tarn::inline v1::detail
