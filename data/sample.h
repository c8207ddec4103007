// Which sample this thread is making, and random numbers that belong to it. A data loader says what it asks
// for; random transforms ask here. A number depends on the loader's seed, the epoch, the sample's index and
// the place of the transform in the pipeline, so that augmentations do not depend on the number of workers or
// on their luck.
#pragma once

#include <cstdint>
#include <span>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {
class Generator;
}

namespace tarn::inline v1::data {

// A generator for the sample that this thread is making; a second call gives the same numbers again. Outside
// of a loader it is seeded from default_generator().
TARN_API Generator sample_generator();

namespace detail {

struct SampleContext {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::span<const size_t> indices;
  int64_t position = -1;  // in indices; -1: the batch as a whole
  uint64_t stage = 0;     // how many steps of the pipeline this batch has begun
  SampleContext* outer = nullptr;
};

// For the thread and the scope: a loader asks for these samples. It outlives what `indices` borrows.
class TARN_API SampleScope {
 public:
  SampleScope(uint64_t seed, uint64_t epoch, std::span<const size_t> indices);
  ~SampleScope();
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;
  const SampleContext& context() const { return context_; }

 private:
  SampleContext context_;
};

// One step of the pipeline over a batch: `StageScope stage; for (i...) { stage.at(i); ... }`. After an
// exception the context still points at the sample that threw.
class TARN_API StageScope {
 public:
  StageScope();
  void at(int64_t position) {
    if (context_) context_->position = position;
  }
  void done() { at(-1); }

 private:
  SampleContext* context_;
};

// A small stream of random numbers for the current sample: what the transforms of this folder draw from.
class TARN_API SampleRandom {
 public:
  SampleRandom();
  // In [0, 1).
  float uniform();
  // In [0, range), range > 0.
  int64_t below(int64_t range);

 private:
  uint64_t seed_;
  uint64_t block_ = 0;
};

}  // namespace detail
}  // namespace tarn::inline v1::data
