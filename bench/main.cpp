// bench NAME THREADS SECONDS: times one row for about that long and prints the best time of a step in
// seconds, the items of a step and their name. A row that measures by itself prints what it likes and does
// not look at SECONDS. bench/run.py calls it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <tarn/bench/rows.h>
#include <tarn/core/parallel.h>

namespace {

using Clock = std::chrono::steady_clock;

const tarn::bench::Row* const kRows[] = {
    &tarn::bench::async_save,      &tarn::bench::compiled_step,        &tarn::bench::demo_step,
    &tarn::bench::pointwise_chain, &tarn::bench::pointwise_chain_tile, &tarn::bench::pointwise_chain_native};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The first steps fill caches and the allocator.
constexpr int kWarmUp = 3;

double best_step(const tarn::bench::Row& row, double budget) {
  std::unique_ptr<tarn::bench::Row::Work> work(row.make());
  for (int i = 0; i < kWarmUp; ++i) work->step(), work->rest();
  double best = 1e30;
  for (auto begin = Clock::now(); seconds_since(begin) < budget;) {
    auto start = Clock::now();
    work->step();
    best = std::min(best, seconds_since(start));
    work->rest();
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench NAME THREADS SECONDS\n");
    return 2;
  }
  const int threads = std::atoi(argv[2]);
  for (const tarn::bench::Row* row : kRows) {
    if (std::strcmp(row->name, argv[1]) != 0) continue;
    if (row->measure) {
      row->measure(threads);
      return 0;
    }
    tarn::set_num_threads(threads);
    std::printf("%.9f %lld %s\n", best_step(*row, std::atof(argv[3])), static_cast<long long>(row->items),
                row->item);
    return 0;
  }
  std::fprintf(stderr, "bench: there is no row %s\n", argv[1]);
  return 2;
}
