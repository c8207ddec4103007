// SavedTensor: a tensor that a gradient reads. It holds the memory, the geometry and where the tensor's
// gradient goes, but not the tensor: a tensor that is later written in place owns a history that may lead
// back here, and a reference to it would close a cycle.
#pragma once

#include <tarn/autograd/node.h>

namespace tarn::inline v1::detail {

class SavedTensor {
 public:
  SavedTensor() = default;
  // `edge` is where the gradient of `t` goes. None for a node's own output: the node passes it to unpack().
  SavedTensor(const Tensor& t, Edge edge, const char* op);

  bool defined() const { return bool(storage_); }
  void reset();
  // The tensor, with its history if grad mode is on. An Error if it was written since: `op` saved it as
  // `what` (input or output) number `index`. `own` replaces the edge.
  Tensor unpack(const char* op, const char* what, int index, const Edge* own = nullptr) const;

 private:
  Ref<StorageImpl> storage_;
  Dims sizes_, strides_;
  int64_t offset_ = 0;
  uint32_t version_ = 0;
  uint16_t flags_ = 0;
  ScalarType dtype_ = kFloat;
  Edge edge_;
};

}  // namespace tarn::inline v1::detail
