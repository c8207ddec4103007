// Starts the kernel of a text of pointwise.def.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/device/libraries.h>
#include <tarn/core/cuda/pointwise_kernel.h>

namespace tarn::inline v1::detail {

cudaError_t pointwise_launch(const PointwiseCall& call, cudaStream_t stream) {
  auto find = call.compute == Compute::F32   ? gpu::pointwise_f32_kernel
              : call.compute == Compute::F64 ? gpu::pointwise_f64_kernel
                                             : gpu::pointwise_i64_kernel;
  gpu::PointwiseKernel kernel = find(call.row, call.text);
  if (!kernel)
    return cudaError_t(
        library_error("this build's device library lacks the kernel; build it with TARN_CUDA_ALL_ROWS=ON"));
  return launch(kernel, gpu::blocks_for(call.walk.count), gpu::kBlock, 0, stream, call);
}

}  // namespace tarn::inline v1::detail
