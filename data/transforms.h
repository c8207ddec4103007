// Transforms: what MapDataset applies to each batch. Transform works example by example, BatchTransform on
// the batch.
#pragma once

#include <vector>

#include <tarn/data/callable.h>
#include <tarn/data/example.h>
#include <tarn/data/sample.h>

namespace tarn::inline v1::data::transforms {

template <class InputBatch, class OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch input) = 0;
};

template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;

  virtual OutputType apply(InputType input) = 0;

  std::vector<Output> apply_batch(std::vector<Input> inputs) override {
    std::vector<Output> outputs;
    outputs.reserve(inputs.size());
    detail::StageScope stage;
    for (size_t i = 0; i < inputs.size(); ++i) {
      stage.at(int64_t(i));
      outputs.push_back(apply(std::move(inputs[i])));
    }
    stage.done();
    return outputs;
  }
};

// A function over a whole batch.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = detail::Callable<Output(Input)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}

  Output apply_batch(Input input) override {
    detail::StageScope stage;
    return function_(std::move(input));
  }

 private:
  FunctionType function_;
};

// A function over one example. Random numbers of its own come from sample_generator().
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = detail::Callable<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}

  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

// A collation turns the examples of a batch into one.
template <class T, class BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;
template <class T, class BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

// Stacks examples along a new first dim: N examples of data (C, H, W) and target () become (N, C, H, W) and
// (N).
template <class T = Example<>>
struct Stack;

template <>
struct TARN_API Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};

template <>
struct TARN_API Stack<TensorExample> : public Collation<Example<Tensor, example::NoTarget>> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

// A transform of an example's data that leaves its target alone.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  virtual Tensor operator()(Tensor input) = 0;

  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = detail::Callable<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}

  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

}  // namespace tarn::inline v1::data::transforms

namespace tarn::inline v1::data::detail {

// A copy of `image` with channel c of (C, H, W) as (x - mean[c]) / std[c]; one mean and std serve every
// channel.
TARN_API Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> std);
// The window (height, width) of `image` (..., H, W) with `padding` zeros on each side, at a random place.
TARN_API Tensor random_crop(const Tensor& image, int64_t height, int64_t width, int64_t padding);
TARN_API Tensor random_horizontal_flip(const Tensor& image, double p);

}  // namespace tarn::inline v1::data::detail

namespace tarn::inline v1::data::transforms {

// (x - mean) / std per channel of floating data (C, H, W), or with one number for all.
template <class Target = Tensor>
struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> std) : mean(mean.vec()), std(std.vec()) {}

  Tensor operator()(Tensor input) override { return detail::normalize(input, mean, std); }

  std::vector<double> mean, std;
};

// Pads the last two dims with zeros and cuts a window of this size at a random place.
template <class Target = Tensor>
struct RandomCrop : public TensorTransform<Target> {
  RandomCrop(int64_t size, int64_t padding) : RandomCrop(size, size, padding) {}
  RandomCrop(int64_t height, int64_t width, int64_t padding)
      : height(height), width(width), padding(padding) {}

  Tensor operator()(Tensor input) override { return detail::random_crop(input, height, width, padding); }

  int64_t height, width, padding;
};

// Mirrors the last dim with probability p.
template <class Target = Tensor>
struct RandomHorizontalFlip : public TensorTransform<Target> {
  explicit RandomHorizontalFlip(double p = 0.5) : p(p) {
    check(p >= 0 && p <= 1, "RandomHorizontalFlip: p must be in [0, 1], got ", p);
  }

  Tensor operator()(Tensor input) override { return detail::random_horizontal_flip(input, p); }

  double p;
};

}  // namespace tarn::inline v1::data::transforms
