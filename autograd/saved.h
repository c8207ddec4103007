// SavedTensor: a tensor that a gradient reads. It holds the memory, the geometry and where the tensor's
// gradient goes, but not the tensor: a tensor that is later written in place owns a history that may lead
// back here, and a reference to it would close a cycle. Under saved_tensors_hooks it holds what pack() made
// of it instead of the memory.
#pragma once

#include <tarn/autograd/node.h>
#include <tarn/autograd/saved_tensors_hooks.h>

namespace tarn::inline v1::detail {

class SavedTensor {
 public:
  SavedTensor() = default;
  // `edge` is where the gradient of `t` goes. None for a node's own output: the node passes it to unpack().
  SavedTensor(const Tensor& t, Edge edge, const char* op);

  bool defined() const { return storage_ || packed_; }
  void reset();
  // The tensor, with its history if grad mode is on. An Error if it was written since: `op` saved it as
  // `what` (input or output) number `index`. `own` replaces the edge.
  Tensor unpack(const char* op, const char* what, int index, const Edge* own = nullptr) const;

 private:
  // What pack() returned and how it becomes a tensor again.
  struct Packed {
    std::shared_ptr<void> object;
    Function<Tensor(const std::shared_ptr<void>&)> unpack;
    Device device;
  };
  void pack(const Tensor& t, const SavedTensorsHooks& hooks, const char* op);
  void check_version(const StorageImpl& storage, const char* op, const char* what, int index) const;
  Tensor call_unpack(const char* op, const char* what, int index) const;
  Tensor make(StorageImpl* storage, IntArrayRef strides, int64_t offset, const Edge& edge) const;

  Ref<StorageImpl> storage_;  // null if packed, but for a pack() that returns an alias
  std::shared_ptr<const Packed> packed_;
  Dims sizes_, strides_;
  int64_t offset_ = 0;
  uint32_t version_ = 0;
  uint16_t flags_ = 0;
  ScalarType dtype_ = kFloat;
  Edge edge_;
};

}  // namespace tarn::inline v1::detail
