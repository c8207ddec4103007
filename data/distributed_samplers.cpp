#include <tarn/data/distributed_samplers.h>

#include <algorithm>

namespace tarn::inline v1::data::samplers {

DistributedSampler::DistributedSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
  check(rank < num_replicas, "DistributedSampler: rank must be from 0 to num_replicas - 1, got rank ", rank,
        " of ", num_replicas);
}

void DistributedSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  started_ = false;
}

void DistributedSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  if (started_) ++epoch_;
  started_ = true;
  index_ = 0;
  indices_ = indices_of(epoch_);
}

std::optional<std::vector<size_t>> DistributedSampler::next(size_t batch_size) {
  if (!started_) reset();
  if (index_ >= indices_.size()) return std::nullopt;
  size_t count = std::min(batch_size, indices_.size() - index_);
  auto first = indices_.begin() + std::ptrdiff_t(index_);
  index_ += count;
  return std::vector<size_t>(first, first + std::ptrdiff_t(count));
}

size_t DistributedSampler::local_sample_count() const {
  return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_;
}

std::vector<size_t> DistributedRandomSampler::indices_of(size_t epoch) const {
  RandomSampler shuffled{int64_t(size_)};
  shuffled.set_seed(seed_);
  shuffled.set_epoch(epoch);
  std::vector<size_t> order = shuffled.next(size_).value_or(std::vector<size_t>());
  std::vector<size_t> own(local_sample_count());
  // Past the end it begins again.
  for (size_t i = 0; i < own.size(); ++i) own[i] = order[(i * num_replicas_ + rank_) % size_];
  return own;
}

std::vector<size_t> DistributedSequentialSampler::indices_of(size_t) const {
  std::vector<size_t> own(local_sample_count());
  for (size_t i = 0; i < own.size(); ++i) own[i] = (rank_ * own.size() + i) % size_;
  return own;
}

}  // namespace tarn::inline v1::data::samplers
