#include <tarn/data/sample.h>

#include <tarn/core/cpu/philox.h>
#include <tarn/core/random.h>

namespace tarn::inline v1::data {

using tarn::detail::philox;
using tarn::detail::philox_block;
using tarn::detail::Words;

namespace {

thread_local detail::SampleContext* current = nullptr;

uint64_t join(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }

// The key of a sample's own stream. Philox is a bijection of its counter for every key, so that two samples
// of one seed differ in all four words, of which two are kept.
uint64_t sample_seed() {
  if (!current) {
    const Generator& generator = default_generator();
    tarn::detail::RandomStream stream = generator.reserve(4);
    Words w = philox_block(stream.seed, stream.offset / 4);
    return join(w.w[0], w.w[1]);
  }
  const detail::SampleContext& c = *current;
  // The batch as a whole is named by its first sample, with a mark that no single sample has.
  uint64_t index = c.indices.empty() ? 0 : c.indices[c.position < 0 ? 0 : size_t(c.position)];
  uint64_t stage = c.position < 0 ? c.stage | 0x80000000u : c.stage;
  Words key = philox({{uint32_t(c.epoch), uint32_t(c.epoch >> 32), uint32_t(stage), 0x7461726eu}},
                     uint32_t(c.seed), uint32_t(c.seed >> 32));
  Words w = philox({{uint32_t(index), uint32_t(index >> 32), key.w[2], key.w[3]}}, key.w[0], key.w[1]);
  return join(w.w[0], w.w[1]);
}

}  // namespace

Generator sample_generator() { return Generator(sample_seed()); }

namespace detail {

SampleScope::SampleScope(uint64_t seed, uint64_t epoch, std::span<const size_t> indices)
    : context_{.seed = seed, .epoch = epoch, .indices = indices, .outer = current} {
  current = &context_;
}

SampleScope::~SampleScope() { current = context_.outer; }

StageScope::StageScope() : context_(current) {
  if (context_) ++context_->stage;
}

SampleRandom::SampleRandom() : seed_(sample_seed()) {}

float SampleRandom::uniform() { return tarn::detail::uniform_float(philox_block(seed_, block_++).w[0]); }

int64_t SampleRandom::below(int64_t range) {
  Words w = philox_block(seed_, block_++);
  return int64_t(tarn::detail::below(uint64_t(range), w.w[0], w.w[1]));
}

}  // namespace detail
}  // namespace tarn::inline v1::data
