// MNIST and Fashion-MNIST: 28x28 grey images of ten classes, 60,000 to train on and 10,000 to test with.
#pragma once

#include <string>

#include <tarn/data/dataset.h>

namespace tarn::inline v1::data::datasets {

// Reads `root`'s four IDX files, gzipped or not: train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-*.
// Examples are a float image (1, 28, 28) in [0, 1] and an int64 label of rank 0.
class TARN_API MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  // All images as floats (N, 1, 28, 28) in [0, 1], and all labels (N).
  Tensor images() const;
  const Tensor& targets() const { return targets_; }
  // The bytes as they are in the file, (N, 28, 28).
  const Tensor& bytes() const { return bytes_; }

 private:
  Mode mode_;
  Tensor bytes_, targets_;
};

// Zalando's pictures of clothing in MNIST's format (Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747).
// Debian's package dataset-fashion-mnist puts them where `root` points by default.
class TARN_API FashionMNIST : public Dataset<FashionMNIST> {
 public:
  using Mode = MNIST::Mode;

  explicit FashionMNIST(const std::string& root = default_root(), Mode mode = Mode::kTrain);

  static const char* default_root() { return "/usr/share/datasets/fashion-mnist"; }
  // "T-shirt/top", "Trouser", ...; an Error for a label outside 0 ... 9.
  static const char* class_name(int64_t label);

  Example<> get(size_t index) override { return files_.get(index); }
  std::optional<size_t> size() const override { return files_.size(); }
  bool is_train() const noexcept { return files_.is_train(); }
  Tensor images() const { return files_.images(); }
  const Tensor& targets() const { return files_.targets(); }
  const Tensor& bytes() const { return files_.bytes(); }

 private:
  MNIST files_;
};

}  // namespace tarn::inline v1::data::datasets
