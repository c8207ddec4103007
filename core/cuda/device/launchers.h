// The launchers of the kernel files, which runtime.cpp puts into the call table.
#pragma once

#include <cuda_runtime_api.h>

#include <tarn/core/cuda/calls.h>

namespace tarn::inline v1::detail {

cudaError_t pointwise_launch(const PointwiseCall& call, cudaStream_t stream);
cudaError_t copy_launch(const CopyCall& call, cudaStream_t stream);
cudaError_t fill_launch(const FillCall& call, cudaStream_t stream);
cudaError_t reduce_launch(const ReduceCall& call, cudaStream_t stream);
cudaError_t places_launch(const PlaceCall& call, cudaStream_t stream);
cudaError_t softmax_launch(const SoftmaxCall& call, cudaStream_t stream);
cudaError_t cross_entropy_launch(const CrossEntropyCall& call, cudaStream_t stream);
cudaError_t cross_entropy_grad_launch(const CrossEntropyGradCall& call, cudaStream_t stream);
cudaError_t batch_norm_launch(const BatchNormCall& call, cudaStream_t stream);
cudaError_t batch_norm_eval_launch(const BatchNormEvalCall& call, cudaStream_t stream);
cudaError_t batch_norm_grad_launch(const BatchNormGradCall& call, cudaStream_t stream);
cudaError_t running_statistics_launch(const RunningCall& call, cudaStream_t stream);
cudaError_t sgd_launch(const SgdCall& call, cudaStream_t stream);
cudaError_t pool_launch(const PoolCall& call, cudaStream_t stream);
cudaError_t random_launch(const RandomCall& call, cudaStream_t stream);
cudaError_t index_launch(const IndexCall& call, cudaStream_t stream);
cudaError_t adam_launch(const AdamCall& call, cudaStream_t stream);
cudaError_t layer_norm_launch(const LayerNormCall& call, cudaStream_t stream);
cudaError_t layer_norm_grad_launch(const LayerNormGradCall& call, cudaStream_t stream);

}  // namespace tarn::inline v1::detail
