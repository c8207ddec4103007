// Samplers: in which order a loader asks for the examples. next(n) gives up to n indices, nothing at the
// epoch's end.
#pragma once

#include <optional>
#include <vector>

#include <tarn/core/dtype.h>
#include <tarn/core/macros.h>

namespace tarn::inline v1::data::samplers {

template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  // Starts a new epoch, over another number of examples if one is given.
  virtual void reset(std::optional<size_t> new_size) = 0;
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
};

// 0, 1, 2, ...
class TARN_API SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t size_;
  size_t index_ = 0;
};

// Each index once, in an order that follows from the seed and the epoch. Without a seed one is drawn from
// default_generator(), so that manual_seed() decides it. A loader with a seed() sets it here too.
class TARN_API RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kLong);
  // The next reset() begins this epoch; without a call each reset() begins the next one.
  void set_epoch(size_t epoch);
  void set_seed(uint64_t seed);
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return index_; }

 private:
  void shuffle();

  std::vector<size_t> order_;
  uint64_t seed_;
  size_t epoch_ = 0;
  size_t index_ = 0;
  bool shuffled_ = false;
};

}  // namespace tarn::inline v1::data::samplers
