// softmax, log_softmax and their gradients: a block per row, which is read up to three times and stays in the
// cache.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/value.h>

namespace tarn::inline v1::gpu {

// A row whose elements lie `step` apart.
template <class T>
struct Row {
  T* p;
  int64_t step;
  __device__ T& operator[](int64_t i) const { return p[i * step]; }
};

template <class T>
__device__ void softmax_row(Row<T> out, Row<const T> x, int64_t n, bool log) {
  T most = T(-__builtin_huge_val()), sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) most = Larger()(most, x[i]);
  most = block_combine(most, Larger());
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += call_exp(x[i] - most);
  sum = block_sum(sum);
  T log_sum = call_log(sum);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = log ? x[i] - most - log_sum : call_exp(x[i] - most) / sum;
}

// softmax: (g - sum(g y)) y; log_softmax: g - exp(y) sum(g).
template <class T>
__device__ void grad_row(Row<T> out, Row<const T> g, Row<const T> y, int64_t n, bool log) {
  T sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += log ? g[i] : g[i] * y[i];
  sum = block_sum(sum);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = log ? g[i] - call_exp(y[i]) * sum : (g[i] - sum) * y[i];
}

template <class T>
__global__ void softmax_kernel(SoftmaxCall call) {
  bool log = call.kind == SoftmaxKind::LogSoftmax || call.kind == SoftmaxKind::LogSoftmaxGrad;
  for (int64_t row = blockIdx.x; row < call.outer * call.inner; row += gridDim.x) {
    int64_t at = row / call.inner * call.n * call.inner + row % call.inner;
    Row<T> out{static_cast<T*>(call.out) + at, call.inner};
    Row<const T> a{static_cast<const T*>(call.a) + at, call.inner};
    if (call.b)
      grad_row(out, a, Row<const T>{static_cast<const T*>(call.b) + at, call.inner}, call.n, log);
    else
      softmax_row(out, a, call.n, log);
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t softmax_launch(const SoftmaxCall& call, cudaStream_t stream) {
  return gpu::with_real(call.compute, [&](auto real) {
    return launch(gpu::softmax_kernel<decltype(real)>, gpu::blocks_for(call.outer * call.inner, 1),
                  gpu::threads_for(call.n), 0, stream, call);
  });
}

}  // namespace tarn::inline v1::detail
