// What the compile room has done so far in this process, for tests and for compile_stats().
#pragma once

#include <atomic>
#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

struct CompileCounters {
  std::atomic<int64_t> tier0_runs{0};          // fused groups run by the tile interpreter
  std::atomic<int64_t> tier1_runs{0};          // by a kernel of the host compiler
  std::atomic<int64_t> kernels_built{0};       // by the host compiler in this process
  std::atomic<int64_t> kernels_from_cache{0};  // found on disk
  std::atomic<int64_t> kernels_failed{0};      // left to tier 0 for good
  std::atomic<int64_t> groups_made{0};         // by the fusion pass
};

// Lives as long as the process.
TARN_API CompileCounters& compile_counters();

}  // namespace tarn::inline v1::detail
