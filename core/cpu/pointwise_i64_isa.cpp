#include <tarn/core/cpu/pointwise_loops.h>

namespace tarn::inline v1::TARN_ISA {

static constexpr auto kKernels = pointwise_kernels<int64_t>();
extern const detail::PointwiseTable pointwise_i64 = {kKernels.rows, kLoad<int64_t>, kStore<int64_t>};

}  // namespace tarn::inline v1::TARN_ISA
