// What core/cpu/copy.h and the tensors themselves need of a device: copies, fills, moves from device to
// device.
#pragma once

#include <array>

#include <tarn/core/cpu/strided.h>
#include <tarn/core/cuda/calls.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// The strides, 0 where it is broadcast, of `t` as a tensor of `sizes`.
Dims strides_over(const Tensor& t, IntArrayRef sizes);

template <int N>
Walk<N> walk_of(IntArrayRef sizes, const std::array<IntArrayRef, N>& strides) {
  StridedLoop<N> loop(sizes, strides);
  Walk<N> walk;
  walk.rank = loop.rank();
  for (int d = 0; d < walk.rank; ++d) {
    walk.size[d] = loop.size(d);
    walk.count *= loop.size(d);
    for (int k = 0; k < N; ++k) walk.stride[k][d] = loop.stride(k, d);
  }
  return walk;
}

// As copy_elements and fill_elements, with tensors on one device.
void copy_elements_cuda(const Tensor& dst, const Tensor& src);
void fill_elements_cuda(const Tensor& dst, const Scalar& value);

// Copies src to dst, of equal sizes and dtype, from one device to another. dst is new memory in the layout
// that strides_like(src) gives. Between a device and pinned memory a non_blocking copy returns at once.
void transfer(const Tensor& dst, const Tensor& src, bool non_blocking);

// A row-major tensor in pinned memory.
Tensor make_pinned(IntArrayRef sizes, ScalarType dtype);

}  // namespace tarn::inline v1::detail
