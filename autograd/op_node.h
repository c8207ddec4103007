// OpNode: the node of an Op. It calls the op's `grad` with what the forward call left: attributes, scalars
// and the tensors that Op::saves names. One block of memory holds the node and all of these.
#pragma once

#include <tarn/autograd/saved.h>
#include <tarn/autograd/view.h>
#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

struct OpNode final : Node {
  struct Saved {
    SavedTensor tensor;
    int16_t index = 0;
    bool is_output = false;
  };

  // Edges and outputs are default-made, saved tensors empty; attributes and scalars are copied.
  static OpNode* make(const Op& op, int inputs, int outputs, int saves, Attrs attrs, Scalars scalars);
  ~OpNode() override;
  void apply(autograd::NodeCall& call) override;
  void release_saved() override;

  void save(const Tensor& t, const Edge& edge, int index, bool is_output);

  const Op* op;
  Attrs attrs;
  Scalars scalars;
  Saved* saved = nullptr;
  std::atomic_flag
      busy;  // held while saved tensors are read or freed: two threads may share a part of a graph
  uint16_t saved_count = 0;
  uint16_t saved_capacity = 0;
  bool released = false;
  bool inplace = false;        // output 0 is input 0
  bool saves_output = false;   // in place: output 0 is still to be saved
  Ref<ViewLink> link;          // the link that points to this node, see view_history()
  uint8_t differentiable = 1;  // bit i: output i has this node as its history

 private:
  explicit OpNode(const Op& op) : Node(op.name), op(&op) {}
  void call_gradient(autograd::NodeCall& call);
  void unpack(Tensor* inputs, Tensor* outputs, const Edge* output_edge);
};

}  // namespace tarn::inline v1::detail
