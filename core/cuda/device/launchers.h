// The launchers of the kernel files, which runtime.cpp puts into the call table.
#pragma once

#include <cuda_runtime_api.h>

#include <tarn/core/cuda/calls.h>

namespace tarn::inline v1::detail {

cudaError_t pointwise_launch(const PointwiseCall& call, cudaStream_t stream);
cudaError_t copy_launch(const CopyCall& call, cudaStream_t stream);
cudaError_t fill_launch(const FillCall& call, cudaStream_t stream);

}  // namespace tarn::inline v1::detail
