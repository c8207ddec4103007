// The one include of a kernel file. nvcc, NVRTC and, for the emulated device, g++ take the same source:
//
//   __global__ void transpose(const float* x, float* y, int rows, int cols) {
//     SHARED(float, tile, [32][33]);            // static shared memory; SHARED_DYN(float, row) is the
//     dynamic one
//     ...  __syncthreads();  ...
//   }
//   cudaError_t error = launch(transpose, grid, block, 0, stream, x, y, rows, cols);
//
// What holds for the source, so that the emulated device can check it (docs/decisions.md):
// - no plain __shared__, no <<<>>>, no __activemask, no CUB or cooperative groups, no waiting for another
// block;
// - lanes that meet in a warp operation name the same mask; every thread of a block reaches each
// __syncthreads;
// - vector access through Vec<T, N>; PTX only in small device functions with a host twin;
// - a struct argument with pointers may say how it uses them (see core/emu/kernel.h), else they count as
// written. A SHARED of a template function is one array per instantiation, as on the device.
#pragma once

#if defined(__CUDACC__)
#if !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>

#include <utility>
#endif
#if !defined(__CUDACC_RTC__) || __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#define SHARED(T, name, ...) __shared__ T name __VA_ARGS__
#define SHARED_DYN(T, name)                                            \
  extern __shared__ __align__(16) unsigned char tarn_dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(tarn_dynamic_shared)

#if !defined(__CUDACC_RTC__)
namespace tarn::inline v1::detail {

// Starts kernel<<<grid, block, smem, stream>>>(args...); the arguments are converted to the kernel's
// parameters.
template <class... Params, class... Args>
cudaError_t launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem, cudaStream_t stream,
                   Args&&... args) {
  kernel<<<grid, block, smem, stream>>>(static_cast<Params>(std::forward<Args>(args))...);
  return cudaPeekAtLastError();
}

}  // namespace tarn::inline v1::detail
#endif
#else
#include <tarn/core/emu/kernel.h>
#endif

namespace tarn::inline v1::detail {

// N values that are loaded and stored as one; N * sizeof(T) is a power of two of at most 16.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
  __device__ T& operator[](int i) { return v[i]; }
  __device__ const T& operator[](int i) const { return v[i]; }
};

}  // namespace tarn::inline v1::detail
