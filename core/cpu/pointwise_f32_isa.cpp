#include <tarn/core/cpu/pointwise_loops.h>

namespace tarn::inline v1::TARN_ISA {

static constexpr auto kKernels = pointwise_kernels<float>();
extern const detail::PointwiseTable pointwise_f32 = {kKernels.rows, kLoad<float>, kStore<float>};

}  // namespace tarn::inline v1::TARN_ISA
