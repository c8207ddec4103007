// A step of stochastic gradient descent over many parameters in one launch: blocks are dealt out to the
// parameters in their order, each takes kUpdateElements. The arithmetic is that of core/cpu/optim_isa.cpp.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/update.h>

namespace tarn::inline v1::gpu {

template <class T>
__global__ void sgd_kernel(SgdCall call) {
  const UpdateParam& p = param_of_block(call.params, call.count);
  T* param = static_cast<T*>(p.param);
  const T* grad = static_cast<const T*>(p.grad);
  T* buffer = static_cast<T*>(p.slots[0]);
  T lr = T(call.lr), momentum = T(call.momentum), keep = T(1 - call.dampening), decay = T(call.weight_decay);
  for_block_elements(p, [&](int64_t i) {
    T step = call.maximize ? -grad[i] : grad[i];
    if (decay != 0) step = step + param[i] * decay;
    if (call.momentum != 0) {
      T moved = call.first ? step : buffer[i] * momentum + step * keep;
      buffer[i] = moved;
      step = call.nesterov ? step + moved * momentum : moved;
    }
    param[i] = param[i] - step * lr;
  });
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t sgd_launch(const SgdCall& call, cudaStream_t stream) {
  if (call.compute == Compute::F32)
    return launch(gpu::sgd_kernel<float>, unsigned(call.blocks), gpu::kBlock, 0, stream, call);
  return launch(gpu::sgd_kernel<double>, unsigned(call.blocks), gpu::kBlock, 0, stream, call);
}

}  // namespace tarn::inline v1::detail
