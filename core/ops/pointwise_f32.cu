#include <tarn/core/cuda/pointwise_kernel.h>

namespace tarn::inline v1::gpu {

PointwiseKernel pointwise_f32_kernel(int row, int text) { return pointwise_kernel_of<float>(row, text); }

}  // namespace tarn::inline v1::gpu
