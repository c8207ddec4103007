// Functions that make tensors. `options` gives dtype (default: get_default_dtype()), device, memory format
// and requires_grad. Negative sizes, sizes that do not fit in memory and more than 16 dims are Errors.
#pragma once

#include <optional>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// Memory that nobody has written.
TARN_API Tensor empty(IntArrayRef sizes, const TensorOptions& options = {},
                      std::optional<MemoryFormat> format = {});
TARN_API Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
TARN_API Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
TARN_API Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
// The dtype is that of `value`, as in full({2}, 1) and full({2}, true), unless options give one; a floating
// value makes a tensor of the default dtype.
TARN_API Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
TARN_API Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});

// Like `x` in sizes, dtype, device and the order of its dims in memory, but for what options say otherwise.
TARN_API Tensor empty_like(const Tensor& x, const TensorOptions& options = {},
                           std::optional<MemoryFormat> format = {});
TARN_API Tensor zeros_like(const Tensor& x, const TensorOptions& options = {},
                           std::optional<MemoryFormat> format = {});
TARN_API Tensor ones_like(const Tensor& x, const TensorOptions& options = {},
                          std::optional<MemoryFormat> format = {});
TARN_API Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {},
                          std::optional<MemoryFormat> format = {});

// start, start + step, ... before end: ceil((end - start) / step) numbers. Integers unless one of the three
// is floating or options give a dtype.
TARN_API Tensor arange(const Scalar& end, const TensorOptions& options = {});
TARN_API Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
TARN_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
                       const TensorOptions& options = {});
// `steps` numbers from start to end, both included, computed from both ends towards the middle.
TARN_API Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                         const TensorOptions& options = {});
// n x m (m defaults to n) with ones on the main diagonal.
TARN_API Tensor eye(int64_t n, const TensorOptions& options = {});
TARN_API Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

}  // namespace tarn::inline v1
