#include <tarn/core/cpu/optim.h>

#include <algorithm>
#include <vector>

#include <tarn/core/cpu/features.h>
#include <tarn/core/fault.h>
#include <tarn/core/parallel.h>

#include "tarn_config.h"

namespace tarn::inline v1::detail {

const OptimTable& optim_kernels() {
  switch (cpu_isa()) {
#if TARN_HAS_V4
    case CpuIsa::V4:
      return v4::optim_table;
#endif
#if TARN_HAS_V3
    case CpuIsa::V3:
      return v3::optim_table;
#endif
    default:
      return generic::optim_table;
  }
}

namespace {

// 16 KiB of floats: an update reads up to five such pieces, which stay in the cache between its loads and
// stores.
constexpr int64_t kChunk = 4096;
// Below this a second thread costs more than it saves.
constexpr int64_t kGrain = 8;

}  // namespace

void update_sweep(const UpdateRange* ranges, int64_t count) {
  // first[i]: the number of chunks before range i; each range starts a chunk of its own.
  std::vector<int64_t> first(count + 1);
  for (int64_t i = 0; i < count; ++i) first[i + 1] = first[i] + (ranges[i].n + kChunk - 1) / kChunk;

  parallel_for(0, first[count], kGrain, [&](int64_t begin, int64_t end) {
    int64_t range = std::upper_bound(first.begin(), first.end(), begin) - first.begin() - 1;
    for (int64_t chunk = begin; chunk < end; ++range) {
      int64_t last = std::min(end, first[range + 1]);
      if (chunk == last) continue;  // an empty parameter
      int64_t from = (chunk - first[range]) * kChunk;
      int64_t to = std::min((last - first[range]) * kChunk, ranges[range].n);
      if (fault(52) && to == ranges[range].n) --to;
      ranges[range].kernel(ranges[range], from, to);
      chunk = last;
    }
  });
}

}  // namespace tarn::inline v1::detail
