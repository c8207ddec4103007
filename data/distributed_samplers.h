// Samplers for several ranks: each rank's sampler gives its share of the indices, equally many on every rank.
// They know nothing of processes; say which of how many they are:
//
//   data::samplers::DistributedRandomSampler sampler(size, distributed::get_world_size(),
//   distributed::get_rank());
//
// A loader sets the epoch itself. Names and arguments are libtorch's.
#pragma once

#include <tarn/data/samplers.h>

namespace tarn::inline v1::data::samplers {

// With `allow_duplicates`, indices of the first examples come twice where the size is no multiple of the
// number of replicas; without, the last ones are left out (Python's drop_last).
class TARN_API DistributedSampler : public Sampler<> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  // The next reset() begins this epoch; without a call each reset() begins the next one.
  void set_epoch(size_t epoch);
  size_t epoch() const noexcept { return epoch_; }
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  // How many of this rank's indices have been given.
  size_t index() const noexcept { return index_; }
  // Of one rank and epoch.
  size_t local_sample_count() const;

 protected:
  // This rank's indices of an epoch.
  virtual std::vector<size_t> indices_of(size_t epoch) const = 0;

  size_t size_, num_replicas_, rank_;
  bool allow_duplicates_;

 private:
  std::vector<size_t> indices_;
  size_t epoch_ = 0, index_ = 0;
  bool started_ = false;
};

// All ranks shuffle alike, and rank r takes every num_replicas-th index from the r-th on. So the ranks'
// batches of b examples are together the batch of b * num_replicas that a RandomSampler with the same seed
// would give.
class TARN_API DistributedRandomSampler : public DistributedSampler {
 public:
  using DistributedSampler::DistributedSampler;
  // 0 unless set; the same on every rank.
  void set_seed(uint64_t seed) { seed_ = seed; }

 protected:
  std::vector<size_t> indices_of(size_t epoch) const override;

 private:
  uint64_t seed_ = 0;
};

// Rank r has the r-th of num_replicas contiguous parts.
class TARN_API DistributedSequentialSampler : public DistributedSampler {
 public:
  using DistributedSampler::DistributedSampler;

 protected:
  std::vector<size_t> indices_of(size_t epoch) const override;
};

}  // namespace tarn::inline v1::data::samplers
