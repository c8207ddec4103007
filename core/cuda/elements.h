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

// The dtype that kernels compute in, and its name in a call.
constexpr ScalarType compute_dtype_of(ScalarType dtype) {
  return dtype == kDouble ? kDouble : is_floating(dtype) ? kFloat : kLong;
}
constexpr Compute compute_of(ScalarType dtype) {
  return dtype == kDouble ? Compute::F64 : is_floating(dtype) ? Compute::F32 : Compute::I64;
}

// x, or a copy of this dtype; row-major too. For kernels: autograd does not see it.
Tensor converted(const Tensor& x, ScalarType dtype);
Tensor row_major(const Tensor& x, ScalarType dtype);
// Memory for an output as kernels write it, the output itself where it is row-major and of this dtype.
Tensor row_major_output(const Tensor& out, ScalarType dtype);
void finish_output(const Tensor& out, const Tensor& computed);
// Null for an undefined tensor.
inline void* address_of(const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }

// out, row-major, = the reduction of x over the dims (bit d: dim d), then divided by `divide` if it is not 0.
void reduce_cuda(const char* op, const Tensor& x, uint32_t dims, Reducer reducer, const Tensor& out,
                 double divide = 0);

// Between rows of `table` (V, D) and `rows` (N, D), both row-major, by N indices; one equal to `padding` does
// nothing.
void index_rows_cuda(const char* op, IndexKind kind, const Tensor& table, const Tensor& indices,
                     const Tensor& rows, int64_t padding);

// As copy_elements and fill_elements, with tensors on one device.
void copy_elements_cuda(const Tensor& dst, const Tensor& src);
void fill_elements_cuda(const Tensor& dst, const Scalar& value);

// Copies src to dst, of equal sizes and dtype, from one device to another. dst is new memory in the layout
// that strides_like(src) gives. Between a device and pinned memory a non_blocking copy returns at once.
void transfer(const Tensor& dst, const Tensor& src, bool non_blocking);

// A row-major tensor in pinned memory.
Tensor make_pinned(IntArrayRef sizes, ScalarType dtype);

}  // namespace tarn::inline v1::detail
