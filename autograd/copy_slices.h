// CopySlices: the history of a base after a write through one of its views. Seen from the base the write is
// base' = base with the slice replaced by op(slice, ...); so the slice's part of the gradient goes through
// the op and the rest passes unchanged.
#pragma once

#include <tarn/autograd/op_node.h>
#include <tarn/autograd/view.h>

namespace tarn::inline v1::detail {

struct CopySlices final : Node {
  // After the write. `fn` is the in-place op's node; edge 0 becomes the base's gradient edge.
  CopySlices(Ref<Node> fn, const TensorImpl& base, Ref<ViewLink> link, Edge base_edge);
  void apply(autograd::NodeCall& call) override;
  void release_saved() override { fn_->release_saved(); }
  std::string name() const override { return "CopySlices"; }

 private:
  Tensor gradient_like_base(const Tensor& grad) const;

  Ref<Node> fn_;
  Ref<ViewLink> link_;
  GradMeta base_;
  Dims base_strides_;
  int64_t base_offset_;
  uint32_t version_;  // of the storage after the write
  std::vector<Edge> edge_storage_;
};

}  // namespace tarn::inline v1::detail
