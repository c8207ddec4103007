// Batch normalisation: a block per channel reads it twice for its statistics (the mean, then the distances
// from it) and once to apply them; likewise the gradient. Sums are in double, in a fixed order.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>

namespace tarn::inline v1::gpu {

// Element i of channel c in a tensor (N, C, size).
struct Channel {
  int64_t first, size, step;
  __device__ Channel(int64_t c, int64_t channels, int64_t size)
      : first(c * size), size(size), step(channels * size) {}
  __device__ int64_t at(int64_t i) const { return first + i / size * step + i % size; }
};

template <class T>
__device__ double number(const void* p, int64_t c, double otherwise) {
  return p ? double(static_cast<const T*>(p)[c]) : otherwise;
}

template <class T>
__global__ void batch_norm_kernel(BatchNormCall call) {
  int64_t c = blockIdx.x, count = call.batch * call.size;
  Channel channel(c, call.channels, call.size);
  const T* x = static_cast<const T*>(call.x);
  T* y = static_cast<T*>(call.y);
  double sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += double(x[channel.at(i)]);
  double mean = block_sum(sum) / double(count);
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    double d = double(x[channel.at(i)]) - mean;
    squares += d * d;
  }
  double variance = block_sum(squares) / double(count), inverse = 1 / sqrt(variance + call.eps);
  if (threadIdx.x == 0) {
    call.mean[c] = mean;
    call.variance[c] = variance;
    call.inverse[c] = inverse;
  }
  T high = T(mean), low = T(mean - double(high));
  T scale = T(number<T>(call.weight, c, 1) * inverse), shift = T(number<T>(call.bias, c, 0));
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    int64_t at = channel.at(i);
    y[at] = ((x[at] - high) - low) * scale + shift;
  }
}

template <class T>
__global__ void batch_norm_eval_kernel(BatchNormEvalCall call) {
  const T* x = static_cast<const T*>(call.x);
  for (int64_t i = first_index(); i < call.batch * call.channels * call.size; i += index_step()) {
    int64_t c = i / call.size % call.channels;
    double mean = number<T>(call.mean, c, 0), inverse = 1 / sqrt(number<T>(call.variance, c, 1) + call.eps);
    T high = T(mean), low = T(mean - double(high));
    T scale = T(number<T>(call.weight, c, 1) * inverse), shift = T(number<T>(call.bias, c, 0));
    static_cast<T*>(call.y)[i] = ((x[i] - high) - low) * scale + shift;
  }
}

// gx = ((gy - mean of gy) - (x - mean) * slope) * scale.
template <class T>
__global__ void batch_norm_grad_kernel(BatchNormGradCall call) {
  int64_t c = blockIdx.x, count = call.batch * call.size;
  Channel channel(c, call.channels, call.size);
  const T *x = static_cast<const T*>(call.x), *gy = static_cast<const T*>(call.gy);
  double mean = call.mean[c], inverse = call.inverse[c], plain = 0, product = 0;
  T high = T(mean), low = T(mean - double(high));
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    int64_t at = channel.at(i);
    double g = double(gy[at]);
    plain += g;
    product += g * double((x[at] - high) - low);
  }
  plain = block_sum(plain);
  product = block_sum(product);
  if (threadIdx.x == 0) {
    static_cast<T*>(call.gweight)[c] = T(product * inverse);
    static_cast<T*>(call.gbias)[c] = T(plain);
  }
  T shift = T(plain / double(count)), slope = T(inverse * inverse * product / double(count));
  T scale = T(number<T>(call.weight, c, 1) * inverse);
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    int64_t at = channel.at(i);
    static_cast<T*>(call.gx)[at] = ((gy[at] - shift) - ((x[at] - high) - low) * slope) * scale;
  }
}

template <class T>
__global__ void running_kernel(RunningCall call) {
  int64_t c = first_index();
  if (c >= call.channels) return;
  for (int k = 0; k < 2; ++k) {
    T& r = static_cast<T*>(call.running[k])[c * call.stride[k]];
    r = T(double(T(r * T(call.keep))) + call.batch[k][c] * call.weight[k]);
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t batch_norm_launch(const BatchNormCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::batch_norm_kernel<decltype(real)>, unsigned(call.channels),
                  gpu::threads_for(call.batch * call.size), 0, stream, call);
  });
}

cudaError_t batch_norm_eval_launch(const BatchNormEvalCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::batch_norm_eval_kernel<decltype(real)>,
                  gpu::blocks_for(call.batch * call.channels * call.size), gpu::kBlock, 0, stream, call);
  });
}

cudaError_t batch_norm_grad_launch(const BatchNormGradCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::batch_norm_grad_kernel<decltype(real)>, unsigned(call.channels),
                  gpu::threads_for(call.batch * call.size), 0, stream, call);
  });
}

cudaError_t running_statistics_launch(const RunningCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::running_kernel<decltype(real)>, gpu::blocks_for(call.channels), gpu::kBlock, 0, stream,
                  call);
  });
}

}  // namespace tarn::inline v1::detail
