// Copies, casts and fills.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// A copy with memory of its own. Preserve keeps the strides of dense tensors and makes others row-major.
TARN_API Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);
// x itself if it has the layout already, else a copy that has.
TARN_API Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous);

namespace detail {
// x with another element type; x itself if it has it already.
TARN_API Tensor cast(const Tensor& x, ScalarType dtype);
// Sums the dims that broadcasting made, so that the result has `sizes`.
TARN_API Tensor sum_to(const Tensor& x, IntArrayRef sizes);
// The strides of a dense tensor of these sizes whose dims lie in memory in the order of `like`'s; empty if
// `like` is not dense.
TARN_API Dims strides_like(const Tensor& like);
}  // namespace detail

}  // namespace tarn::inline v1
