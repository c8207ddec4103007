#include <tarn/core/cpu/pointwise_loops.h>

namespace tarn::inline v1::TARN_ISA {

static constexpr auto kKernels = pointwise_kernels<double>();
extern const detail::PointwiseTable pointwise_f64 = {kKernels.rows, kLoad<double>, kStore<double>};

}  // namespace tarn::inline v1::TARN_ISA
