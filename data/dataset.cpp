#include <tarn/data/dataset.h>

#include <tarn/data/collate.h>

namespace tarn::inline v1::data::datasets {

TensorDataset::TensorDataset(Tensor t) : tensor(std::move(t)) {
  check(tensor.defined() && tensor.dim() > 0, "TensorDataset: needs a tensor with at least one dim");
}

TensorDataset::TensorDataset(const std::vector<Tensor>& tensors)
    : TensorDataset(tarn::data::detail::stack_rows(tensors)) {}

TensorExample TensorDataset::get(size_t index) {
  check(index < size_t(tensor.size(0)), "TensorDataset: index ", index, " is outside of ", tensor.size(0),
        " rows");
  return tensor[int64_t(index)];
}

std::optional<size_t> TensorDataset::size() const { return size_t(tensor.size(0)); }

}  // namespace tarn::inline v1::data::datasets
