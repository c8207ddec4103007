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
// start, start + step, ... up to and including end: floor((end - start) / step) + 1 numbers of the default
// dtype unless options give one. PyTorch advises arange instead.
TARN_API Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1,
                      const TensorOptions& options = {});
// base to the power of linspace(start, end, steps).
TARN_API Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10,
                         const TensorOptions& options = {});
// (2, count): rows and columns of the elements that tril() or triu() of a rows x columns matrix keeps, row by
// row; Long unless options say Int.
TARN_API Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0,
                             const TensorOptions& options = kLong);
TARN_API Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0,
                             const TensorOptions& options = kLong);
// (N) -> (N, n), Long for integers: the powers n-1 ... 0 of each element, 0 ... n-1 if increasing; n is N
// unless given.
TARN_API Tensor vander(const Tensor& x, std::optional<int64_t> n = {}, bool increasing = false);

// Windows of n numbers between 0 and 1, highest in the middle. A periodic one is that of n + 1 numbers
// without the last, for spectra; dtypes are floating. Kaiser's is I0(beta sqrt(1 - t^2)) / I0(beta) for t
// from -1 to 1.
TARN_API Tensor hann_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
TARN_API Tensor hamming_window(int64_t n, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                               const TensorOptions& options = {});
TARN_API Tensor blackman_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
TARN_API Tensor bartlett_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
TARN_API Tensor kaiser_window(int64_t n, bool periodic = true, double beta = 12,
                              const TensorOptions& options = {});
// n x m (m defaults to n) with ones on the main diagonal.
TARN_API Tensor eye(int64_t n, const TensorOptions& options = {});
TARN_API Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

}  // namespace tarn::inline v1
