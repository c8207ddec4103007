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

}  // namespace tarn::inline v1::detail
