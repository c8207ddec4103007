#include <tarn/data/samplers.h>

#include <algorithm>
#include <numeric>

#include <tarn/core/cpu/philox.h>
#include <tarn/core/fault.h>
#include <tarn/core/random.h>

namespace tarn::inline v1::data::samplers {

using tarn::detail::below;
using tarn::detail::philox;
using tarn::detail::Words;

void SequentialSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (index_ >= size_) return std::nullopt;
  std::vector<size_t> indices(std::min(batch_size, size_ - index_));
  std::iota(indices.begin(), indices.end(), index_);
  index_ += indices.size();
  return indices;
}

namespace {

uint64_t drawn_seed() {
  tarn::detail::RandomStream stream = default_generator().reserve(4);
  Words w = tarn::detail::philox_block(stream.seed, stream.offset / 4);
  return uint64_t(w.w[1]) << 32 | w.w[0];
}

}  // namespace

RandomSampler::RandomSampler(int64_t size, ScalarType index_dtype) : seed_(drawn_seed()) {
  check(size >= 0, "RandomSampler: size must not be negative, got ", size);
  check(is_integral(index_dtype), "RandomSampler: indices must be integers, got ", index_dtype);
  order_.resize(size_t(size));
}

void RandomSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  shuffled_ = false;
}

void RandomSampler::set_seed(uint64_t seed) {
  seed_ = seed;
  shuffled_ = false;
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  if (new_size) order_.resize(*new_size);
  if (shuffled_) ++epoch_;
  shuffle();
}

// Fisher and Yates. Every epoch starts from the sorted order, so that an epoch can be had without those
// before it.
void RandomSampler::shuffle() {
  std::iota(order_.begin(), order_.end(), size_t(0));
  for (size_t i = order_.size(); i > 1; --i) {
    Words w = philox(
        {{uint32_t(i), uint32_t(uint64_t(i) >> 32), uint32_t(epoch_), uint32_t(uint64_t(epoch_) >> 32)}},
        tarn::detail::fault(16) ? 0 : uint32_t(seed_), uint32_t(seed_ >> 32));
    std::swap(order_[i - 1], order_[below(uint64_t(i), w)]);
  }
  index_ = 0;
  shuffled_ = true;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  if (!shuffled_) shuffle();
  if (index_ >= order_.size()) return std::nullopt;
  size_t count = std::min(batch_size, order_.size() - index_);
  auto first = order_.begin() + std::ptrdiff_t(index_);
  index_ += count;
  return std::vector<size_t>(first, first + std::ptrdiff_t(count));
}

}  // namespace tarn::inline v1::data::samplers
