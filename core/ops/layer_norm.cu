// Layer normalisation: a block per row, sums in double; the gradients of weight and bias are sums over rows,
// a thread per column.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>

namespace tarn::inline v1::gpu {

template <class T>
__device__ double weight_at(const void* weight, int64_t i, double otherwise) {
  return weight ? double(static_cast<const T*>(weight)[i]) : otherwise;
}

template <class T>
__global__ void layer_norm_kernel(LayerNormCall call) {
  int64_t n = call.size;
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const T* x = static_cast<const T*>(call.x) + row * n;
    T* y = static_cast<T*>(call.y) + row * n;
    double sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += double(x[i]);
    double mean = block_sum(sum) / double(n);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      double d = double(x[i]) - mean;
      squares += d * d;
    }
    double inverse = 1 / sqrt(block_sum(squares) / double(n) + call.eps);
    if (threadIdx.x == 0) {
      call.mean[row] = mean;
      call.inverse[row] = inverse;
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
      y[i] = T((double(x[i]) - mean) * inverse * weight_at<T>(call.weight, i, 1) +
               weight_at<T>(call.bias, i, 0));
  }
}

// With n the normalised x and h = gy w: gx = inverse (h - mean(h) - n mean(h n)).
template <class T>
__global__ void layer_norm_gx(LayerNormGradCall call) {
  int64_t n = call.size;
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const T *x = static_cast<const T*>(call.x) + row * n, *gy = static_cast<const T*>(call.gy) + row * n;
    T* gx = static_cast<T*>(call.gx) + row * n;
    double mean = call.mean[row], inverse = call.inverse[row], plain = 0, product = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      double h = double(gy[i]) * weight_at<T>(call.weight, i, 1);
      plain += h;
      product += h * (double(x[i]) - mean) * inverse;
    }
    plain = block_sum(plain) / double(n);
    product = block_sum(product) / double(n);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      double h = double(gy[i]) * weight_at<T>(call.weight, i, 1), normal = (double(x[i]) - mean) * inverse;
      gx[i] = T(inverse * (h - plain - normal * product));
    }
  }
}

template <class T>
__global__ void layer_norm_sums(LayerNormGradCall call) {
  const T *x = static_cast<const T*>(call.x), *gy = static_cast<const T*>(call.gy);
  for (int64_t i = first_index(); i < call.size; i += index_step()) {
    double weight = 0, bias = 0;
    for (int64_t row = 0; row < call.rows; ++row) {
      double g = double(gy[row * call.size + i]);
      bias += g;
      weight += g * (double(x[row * call.size + i]) - call.mean[row]) * call.inverse[row];
    }
    static_cast<T*>(call.gweight)[i] = T(weight);
    static_cast<T*>(call.gbias)[i] = T(bias);
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t layer_norm_launch(const LayerNormCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::layer_norm_kernel<decltype(real)>, gpu::blocks_for(call.rows, 1),
                  gpu::threads_for(call.size), 0, stream, call);
  });
}

cudaError_t layer_norm_grad_launch(const LayerNormGradCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    using T = decltype(real);
    cudaError_t error = launch(gpu::layer_norm_gx<T>, gpu::blocks_for(call.rows, 1),
                               gpu::threads_for(call.size), 0, stream, call);
    if (error != cudaSuccess) return error;
    return launch(gpu::layer_norm_sums<T>, gpu::blocks_for(call.size), gpu::kBlock, 0, stream, call);
  });
}

}  // namespace tarn::inline v1::detail
