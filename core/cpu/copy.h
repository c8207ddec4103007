// Element copies between strided tensors, with conversion. copy_elements and fill_elements work on every
// device.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// dst[i] = convert(src[i]); src broadcasts to dst's sizes. Knows nothing of autograd or versions. dst and src
// may be the same memory only if they are the same elements in the same order.
TARN_API void copy_elements(const Tensor& dst, const Tensor& src);

// dst[i] += src[i] in a fixed order, also where dst's elements overlap (windows). Same dtype and sizes.
void add_elements(const Tensor& dst, const Tensor& src);

// dst[i] = value.
TARN_API void fill_elements(const Tensor& dst, const Scalar& value);

}  // namespace tarn::inline v1::detail
