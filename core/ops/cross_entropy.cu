// cross_entropy: a block per position makes its loss, one block the result of all; the gradient is one pass
// over x. A target that is no class gives NaN: a kernel cannot throw.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/value.h>

namespace tarn::inline v1::gpu {

template <class T>
__device__ T class_weight(const void* weight, int64_t c) {
  return weight ? static_cast<const T*>(weight)[c] : T(1);
}

template <class T>
__global__ void position_losses(CrossEntropyCall call) {
  int64_t position = blockIdx.x, n = call.classes, target = call.target[position];
  const T* x = static_cast<const T*>(call.x) + position / call.inner * n * call.inner + position % call.inner;
  T most = T(-__builtin_huge_val()), sum = 0, others = 0, weight_sum = 0;
  for (int64_t c = threadIdx.x; c < n; c += blockDim.x) most = Larger()(most, x[c * call.inner]);
  most = block_combine(most, Larger());
  for (int64_t c = threadIdx.x; c < n; c += blockDim.x) {
    sum += call_exp(x[c * call.inner] - most);
    others += class_weight<T>(call.weight, c) * x[c * call.inner];
    weight_sum += class_weight<T>(call.weight, c);
  }
  T log_sum = most + call_log(block_sum(sum));
  if (call.smoothing != 0) {
    others = block_sum(others);
    weight_sum = block_sum(weight_sum);
  }
  if (threadIdx.x != 0) return;
  bool ignored = target == call.ignore_index, wrong = !ignored && (target < 0 || target >= n);
  T weight = ignored ? T(0) : wrong ? T(__builtin_nan("")) : class_weight<T>(call.weight, target);
  T smoothing = T(call.smoothing), loss = 0;
  if (wrong) loss = weight;
  if (!ignored && !wrong) {
    loss = (1 - smoothing) * weight * (log_sum - x[target * call.inner]);
    if (smoothing != 0) loss += smoothing / T(n) * (weight_sum * log_sum - others);
  }
  static_cast<T*>(call.losses)[position] = loss;
  static_cast<T*>(call.weights)[position] = weight;
  static_cast<T*>(call.log_sums)[position] = ignored ? T(0) : log_sum;
}

template <class T>
__global__ void finish_losses(CrossEntropyCall call) {
  T loss = 0, weight = 0;
  for (int64_t i = threadIdx.x; i < call.outer * call.inner; i += blockDim.x) {
    loss += static_cast<const T*>(call.losses)[i];
    weight += static_cast<const T*>(call.weights)[i];
  }
  loss = block_sum(loss);
  weight = block_sum(weight);
  if (threadIdx.x != 0) return;
  *static_cast<T*>(call.total) = weight;
  if (call.reduction != 0) *static_cast<T*>(call.loss) = call.reduction == 1 ? loss / weight : loss;
}

// dx[c] = g ((1 - e) w[t] + e / C sum(w)) softmax(x)[c] - g e / C w[c], and at t less g (1 - e) w[t].
template <class T>
__global__ void cross_entropy_grad_kernel(CrossEntropyGradCall call) {
  T weight_sum = 0;
  if (call.smoothing != 0) {
    for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x)
      weight_sum += class_weight<T>(call.weight, c);
    weight_sum = block_sum(weight_sum);
  }
  T smoothing = T(call.smoothing), spread = smoothing / T(call.classes);
  for (int64_t i = first_index(); i < call.outer * call.classes * call.inner; i += index_step()) {
    int64_t c = i / call.inner % call.classes;
    int64_t position = i / (call.classes * call.inner) * call.inner + i % call.inner;
    int64_t target = call.target[position];
    T value = 0;
    if (target != call.ignore_index) {
      bool wrong = target < 0 || target >= call.classes;
      T g = static_cast<const T*>(call.grad)[call.reduction == 0 ? position : 0];
      if (call.reduction == 1) g /= *static_cast<const T*>(call.total);
      T own = g * (1 - smoothing) * (wrong ? T(__builtin_nan("")) : class_weight<T>(call.weight, target));
      T softmax = call_exp(static_cast<const T*>(call.x)[i] - static_cast<const T*>(call.log_sums)[position]);
      value = (own + g * spread * weight_sum) * softmax - g * spread * class_weight<T>(call.weight, c);
      if (c == target) value -= own;
    }
    static_cast<T*>(call.out)[i] = value;
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t cross_entropy_launch(const CrossEntropyCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    using T = decltype(real);
    int64_t positions = call.outer * call.inner;
    if (positions > 0) {
      cudaError_t error = launch(gpu::position_losses<T>, unsigned(positions), gpu::threads_for(call.classes),
                                 0, stream, call);
      if (error != cudaSuccess) return error;
    }
    return launch(gpu::finish_losses<T>, 1, gpu::kBlock, 0, stream, call);
  });
}

cudaError_t cross_entropy_grad_launch(const CrossEntropyGradCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::cross_entropy_grad_kernel<decltype(real)>,
                  gpu::blocks_for(call.outer * call.classes * call.inner), gpu::kBlock, 0, stream, call);
  });
}

}  // namespace tarn::inline v1::detail
