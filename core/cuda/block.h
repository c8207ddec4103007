// For kernels: values of all threads of a block combined, in an order that depends on the block's size alone.
#pragma once

#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

// The combination of every thread's value, for every thread: the upper half onto the lower half, again and
// again. blockDim.x is a power of two up to kBlock, and all threads come here.
template <class T, class F>
__device__ T block_combine(T value, F combine) {
  SHARED(T, cells, [kBlock]);
  unsigned i = threadIdx.x;
  __syncthreads();  // the cells may still be read from the last time
  cells[i] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (i < half) cells[i] = combine(cells[i], cells[i + half]);
    __syncthreads();
  }
  return cells[0];
}

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

// NaN wins.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};
struct Smaller {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

template <class T>
__device__ T block_sum(T value) {
  return block_combine(value, Plus());
}

// The smallest power of two of threads, at least a warp, that gives each of `n` elements one.
inline unsigned threads_for(int64_t n) {
  unsigned threads = 32;
  while (threads < kBlock && threads < n) threads *= 2;
  return threads;
}

// Calls f with a float or a double, whichever the call computes in.
template <class F>
cudaError_t with_real(Compute compute, F f) {
  if (compute == Compute::F32) return f(float());
  if (compute == Compute::F64) return f(double());
  return cudaErrorInvalidValue;
}

}  // namespace tarn::inline v1::gpu
