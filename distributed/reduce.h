// Elementwise reductions over the ranks' values. Sums of 16-bit floats are taken in float and rounded once.
#pragma once
#include <stdint.h>

namespace tarn::inline v1 {
namespace detail {

// out[i] = in[0][i] op in[1][i] op ... for i < n, from left to right. `out` may be one of `in`.
using RankReduction = void (*)(void* out, const void* const* in, int ranks, int64_t n);

// Indexed by ReduceOp. AVG divides the sum by `ranks`.
struct RankReductions {
  RankReduction ops[8];  // null where the op does not take the dtype
};

struct RankReductionTable {
  RankReductions u8, i8, i16, i32, i64, boolean, f16, bf16, f32, f64;
};

}  // namespace detail

namespace generic {
extern const detail::RankReductionTable rank_reductions;
}
namespace v3 {
extern const detail::RankReductionTable rank_reductions;
}
namespace v4 {
extern const detail::RankReductionTable rank_reductions;
}

}  // namespace tarn::inline v1
