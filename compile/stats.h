// What compiled functions have done so far, in all threads together.
#pragma once

#include <atomic>
#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

struct CompileStats {
  int64_t calls = 0;          // of compiled functions, nested ones not counted
  int64_t nodes = 0;          // ops recorded: the sizes of all traces
  int64_t followed = 0;       // ops that were found in a trace
  int64_t mismatches = 0;     // times that a call left a known trace
  int64_t segments = 0;       // pieces between graph breaks that were run
  int64_t plans = 0;          // made
  int64_t breaks = 0;         // graph breaks
  int64_t eager_calls = 0;    // calls that ran without capture: off, busy on another thread, or given up
  int64_t dropped = 0;        // traces thrown away because they grew too large
  int64_t kernels = 0;        // eager kernels run from plans
  int64_t fused_groups = 0;   // fused groups run, on either tier
  int64_t tier0_groups = 0;   // of these, in the interpreter
  int64_t tier1_groups = 0;   // of these, as generated code
  int64_t tier1_kernels = 0;  // generated kernels that were built or loaded from the cache
};

TARN_API CompileStats compile_stats();
TARN_API void reset_compile_stats();

namespace detail {

// Those of capture; the kernels' stand in counters.h.
struct CaptureCounters {
  std::atomic<int64_t> calls{0}, nodes{0}, followed{0}, mismatches{0}, segments{0}, plans{0}, breaks{0},
      eager_calls{0}, dropped{0}, kernels{0}, fused_groups{0};
};
TARN_API CaptureCounters& capture_counters();

inline void count(std::atomic<int64_t>& counter, int64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace detail

}  // namespace tarn::inline v1
