// Datasets: a source of examples by index. Derive from Dataset<Self> and write get(index) and size(); map()
// puts a transform behind it. Several loader threads call get() of one dataset at the same time.
//
//   auto train = datasets::MNIST("data").map(transforms::Normalize<>(0.13, 0.31)).map(transforms::Stack<>());
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tarn/data/example.h>
#include <tarn/data/sample.h>

namespace tarn::inline v1::data::datasets {

template <class SourceDataset, class Transform>
class MapDataset;

template <class D, class T>
MapDataset<D, T> map(D dataset, T transform) {
  return {std::move(dataset), std::move(transform)};
}

// A dataset that gives whole batches.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = false;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  // The number of examples; nothing if there is no end.
  virtual std::optional<size_t> size() const = 0;

  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

// A dataset that gives one example for one index.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    detail::StageScope stage;
    for (size_t i = 0; i < indices.size(); ++i) {
      stage.at(int64_t(i));
      batch.push_back(get(indices[i]));
    }
    stage.done();
    return batch;
  }
};

// The examples of a dataset, each batch passed through a transform.
template <class SourceDataset, class AppliedTransform>
class MapDataset : public BatchDataset<MapDataset<SourceDataset, AppliedTransform>,
                                       typename AppliedTransform::OutputBatchType,
                                       typename SourceDataset::BatchRequestType> {
 public:
  using DatasetType = SourceDataset;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename SourceDataset::BatchRequestType;
  using OutputBatchType = typename TransformType::OutputBatchType;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType indices) override {
    return transform_.apply_batch(dataset_.get_batch(std::move(indices)));
  }
  std::optional<size_t> size() const noexcept override { return dataset_.size(); }

  const SourceDataset& dataset() const noexcept { return dataset_; }
  const AppliedTransform& transform() const noexcept { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

// One dataset for several loaders or owners.
template <class UnderlyingDataset>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<UnderlyingDataset>, typename UnderlyingDataset::BatchType,
                          typename UnderlyingDataset::BatchRequestType> {
 public:
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;

  explicit SharedBatchDataset(std::shared_ptr<UnderlyingDataset> dataset) : dataset_(std::move(dataset)) {}

  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }
  UnderlyingDataset& operator*() { return *dataset_; }
  UnderlyingDataset* operator->() { return dataset_.get(); }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

template <class UnderlyingDataset, class... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return SharedBatchDataset<UnderlyingDataset>(
      std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...));
}

// The rows of a tensor, without targets.
class TARN_API TensorDataset : public Dataset<TensorDataset, TensorExample> {
 public:
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  explicit TensorDataset(Tensor tensor);
  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override;

  Tensor tensor;
};

}  // namespace tarn::inline v1::data::datasets

namespace tarn::inline v1::data {
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace tarn::inline v1::data
