// For kernels: element offsets of a Walk, and grids.
#pragma once

#include <tarn/core/cuda/calls.h>
#include <tarn/core/cuda/dev.h>

namespace tarn::inline v1::gpu {

using namespace detail;

constexpr int kBlock = 256;

// Blocks for `count` elements, one per thread; beyond this many, threads take several.
inline unsigned blocks_for(int64_t count, int64_t per_block = kBlock) {
  constexpr int64_t kMost = 1 << 16;
  int64_t blocks = (count + per_block - 1) / per_block;
  return unsigned(blocks < 1 ? 1 : blocks < kMost ? blocks : kMost);
}

__device__ inline int64_t first_index() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t index_step() { return int64_t(gridDim.x) * blockDim.x; }

template <class Index, int N>
__device__ inline void offsets_by(const Walk<N>& walk, Index linear, int64_t* offset) {
  for (int k = 0; k < N; ++k) offset[k] = 0;
  for (int d = 0; d < walk.rank; ++d) {
    Index size = Index(walk.size[d]), at = linear % size;
    linear /= size;
    for (int k = 0; k < N; ++k) offset[k] += int64_t(at) * walk.stride[k][d];
  }
}

// The offsets of element `linear`, 32-bit division where it suffices.
template <int N>
__device__ inline void offsets_of(const Walk<N>& walk, int64_t linear, int64_t* offset) {
  if (walk.rank == 1) {
    for (int k = 0; k < N; ++k) offset[k] = linear * walk.stride[k][0];
  } else if (walk.count <= 0x7fffffff) {
    offsets_by<uint32_t>(walk, uint32_t(linear), offset);
  } else {
    offsets_by<uint64_t>(walk, uint64_t(linear), offset);
  }
}

}  // namespace tarn::inline v1::gpu
