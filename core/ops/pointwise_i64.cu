#include <tarn/core/cuda/pointwise_kernel.h>

namespace tarn::inline v1::gpu {

PointwiseKernel pointwise_i64_kernel(int row, int text) { return pointwise_kernel_of<int64_t>(row, text); }

}  // namespace tarn::inline v1::gpu
