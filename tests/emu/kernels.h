// Kernels with planted faults, and their launchers. Fault::None is the right kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

enum class Fault {
  None,
  OffByOne,         // add: the tail's last index is n
  Misaligned,       // add: 16-byte loads from x + 1
  NoBarrierAfter,   // softmax: partial results are read before all are written
  NoBarrierBefore,  // softmax: partial results are overwritten while others still read them
  NarrowMask,       // softmax: the mask leaves out lanes that are read
  LeavesEarly,      // softmax: the last thread returns before a barrier
  SignedOverflow,   // softmax: row * cols in int
  UnsignedWrap,     // softmax: row * cols in unsigned
  PlainAdd,         // column_sums: += by many blocks
  Atomics,          // column_sums: atomicAdd, right but for the order of its sums
};

// y = x + b, in vectors of 16 bytes and a tail.
cudaError_t add(Fault fault, int blocks, const float* x, const float* b, float* y, long long n,
                cudaStream_t stream);
cudaError_t add(int blocks, const __half* x, const __half* b, __half* y, long long n, cudaStream_t stream);
cudaError_t add(int blocks, const __nv_bfloat16* x, const __nv_bfloat16* b, __nv_bfloat16* y, long long n,
                cudaStream_t stream);

// Each row of x (rows, cols), one block a row.
cudaError_t softmax(Fault fault, int threads, const float* x, float* y, int rows, int cols,
                    cudaStream_t stream);

// sums (cols) of x (rows, cols); `parts` holds 4 * cols.
cudaError_t column_sums(Fault fault, const float* x, float* sums, float* parts, int rows, int cols,
                        cudaStream_t stream);

// y of a struct argument that lists no uses.
struct Pair {
  const float* x;
  float* y;
};
cudaError_t copy_pair(Pair pair, int n, cudaStream_t stream);

// Small kernels of one block, each for one rule. out holds 64 values.
enum class Probe {
  Shuffles,
  Votes,
  Counts,  // __syncthreads_count and its like
  IntAtomics,
  TwoBarriers,    // half of the threads meet at another barrier
  LonelyShuffle,  // a lane shuffles with lanes that have exited
  WarpRace,       // lanes exchange through shared memory without __syncwarp
  WarpOrdered,    // the same with it
  UninitialisedShared,
  SharedOverrun,
  DynamicOverrun,  // needs 64 bytes of dynamic shared memory
  HostAddress,     // reads through a pointer that came as an integer
  DeepStack,
  HalfBytes,  // neighbouring bytes of one word by different threads: no race
  Constants,  // reads a constant table of the program
  LocalArray,
};
cudaError_t probe(Probe probe, float* out, unsigned long long number, cudaStream_t stream);
cudaError_t probe(Probe probe, int threads, size_t smem, float* out, unsigned long long number,
                  cudaStream_t stream);
