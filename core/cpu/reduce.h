// Reductions of strided CPU tensors over any set of dims. See Note [Reduction order] for why threads,
// instruction sets and the way the work was cut do not show in the results.
#pragma once

#include <tarn/core/cpu/reduce_kernels.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// A set of dims: bit d stands for dim d.
using DimSet = uint32_t;

template <class T>
struct ReduceSpec {
  ReduceKind kind;
  T constant = 0;            // the power of SumPowers
  const T* param = nullptr;  // one per output, in the outputs' order: the mean, the shift
};

// out[i] = the reduction of x over `dims`, computed in T, for each position i of the kept dims in row-major
// order. T is the compute type of x's dtype, or double for any floating dtype. The kind's identity where
// nothing is reduced.
template <class T>
void reduce_elements(const Tensor& x, DimSet dims, const ReduceSpec<T>& what, T* out);

// The elements of a dense tensor that is never in memory: make(context, offset, n, to) computes those at
// [offset, offset + n) of what would be its memory, each of them once, on several threads at a time.
template <class T>
struct MadeElements {
  IntArrayRef sizes, strides;
  void (*make)(const void* context, int64_t offset, int64_t n, T* to);
  const void* context;
};

// Whether a reduction of a dense tensor of these sizes and strides reads runs of neighbours only: what
// MadeElements can serve.
bool reduces_runs(IntArrayRef sizes, IntArrayRef strides, DimSet dims);

// The same bits as if the elements had been written to memory first. Needs reduces_runs().
template <class T>
void reduce_elements(const MadeElements<T>& x, DimSet dims, const ReduceSpec<T>& what, T* out);

}  // namespace tarn::inline v1::detail
