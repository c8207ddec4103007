#include <tarn/data/loader.h>

#include <algorithm>

#include <tarn/core/cpu/philox.h>
#include <tarn/core/random.h>

namespace tarn::inline v1::data::detail {

namespace {

constexpr size_t kMaxWorkers = 1024;

uint64_t drawn_seed() {
  tarn::detail::RandomStream stream = default_generator().reserve(4);
  tarn::detail::Words w = tarn::detail::philox_block(stream.seed, stream.offset / 4);
  return uint64_t(w.w[1]) << 32 | w.w[0];
}

}  // namespace

LoaderConfig loader_config(const DataLoaderOptions& options) {
  check(options.batch_size() > 0, "data loader: batch_size must be at least 1, got 0");
  check(options.workers() <= kMaxWorkers, "data loader: workers must be 0 to ", kMaxWorkers, ", got ",
        options.workers());
  size_t jobs = options.max_jobs();
  check(options.workers() == 0 || jobs > 0, "data loader: max_jobs must be at least 1, got 0");
  int64_t timeout = options.timeout_ms().value_or(0);
  check(timeout >= 0, "data loader: timeout must not be negative, got ", timeout, " ms");
  return {.workers = options.workers(),
          .max_jobs = std::max<size_t>(1, jobs),
          .timeout_ms = timeout,
          .ordered = options.enforce_ordering(),
          .seed = options.seed() ? *options.seed() : drawn_seed()};
}

}  // namespace tarn::inline v1::data::detail
