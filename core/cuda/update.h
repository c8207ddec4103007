// For kernels of optimizers: which parameter a block works on, and where.
#pragma once

#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

// The last parameter whose first block is not after this one.
__device__ inline const UpdateParam& param_of_block(const UpdateParam* params, int count) {
  int low = 0, high = count;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    (params[middle].first_block <= int64_t(blockIdx.x) ? low : high) = middle;
  }
  return params[low];
}

template <class F>
__device__ void for_block_elements(const UpdateParam& p, F f) {
  int64_t first = (int64_t(blockIdx.x) - p.first_block) * kUpdateElements;
  for (int k = 0; k < kUpdateElements / kBlock; ++k) {
    int64_t i = first + k * kBlock + threadIdx.x;
    if (i < p.n) f(i);
  }
}

}  // namespace tarn::inline v1::gpu
