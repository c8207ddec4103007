// A step of Adam or AdamW over many parameters in one launch, as core/ops/sgd.cu.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/update.h>
#include <tarn/core/cuda/value.h>

namespace tarn::inline v1::gpu {

template <class T>
__global__ void adam_kernel(AdamCall call) {
  const UpdateParam& p = param_of_block(call.params, call.count);
  T* param = static_cast<T*>(p.param);
  const T* grads = static_cast<const T*>(p.grad);
  T *means = static_cast<T*>(p.slots[0]), *squares = static_cast<T*>(p.slots[1]);
  T* most = static_cast<T*>(p.slots[2]);
  T step_size = T(call.lr / call.bias_correction1), keep1 = T(1 - call.beta1), beta2 = T(call.beta2);
  T keep2 = T(1 - call.beta2), eps = T(call.eps), decay = T(call.weight_decay);
  T shrink = T(1 - call.lr * call.weight_decay), correction2 = T(call.bias_correction2_sqrt);
  for_block_elements(p, [&](int64_t i) {
    T grad = call.maximize ? -grads[i] : grads[i], value = param[i];
    if (decay != 0 && call.decoupled) value = value * shrink;
    if (decay != 0 && !call.decoupled) grad = grad + value * decay;
    T mean = means[i] + (grad - means[i]) * keep1;
    T square = squares[i] * beta2 + grad * grad * keep2, under = square;
    means[i] = mean;
    squares[i] = square;
    if (call.amsgrad) {
      under = most[i] != most[i] || most[i] > square ? most[i] : square;
      most[i] = under;
    }
    param[i] = value - mean / (call_sqrt(under) / correction2 + eps) * step_size;
  });
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t adam_launch(const AdamCall& call, cudaStream_t stream) {
  auto kernel = call.compute == Compute::F32 ? gpu::adam_kernel<float> : gpu::adam_kernel<double>;
  return launch(kernel, unsigned(call.blocks), gpu::kBlock, 0, stream, call);
}

}  // namespace tarn::inline v1::detail
