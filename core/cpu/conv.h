// Convolution of dense float or double tensors, by the provider in use or by the default: im2col over its
// GEMM. No size is 0.
#pragma once

#include <tarn/core/cpu/conv_types.h>
#include <tarn/core/dtype.h>

namespace tarn::inline v1::detail {

// y = x * w + bias (null: none). Results have the same bits for any number of threads.
void conv_forward(const ConvShape& s, ScalarType dtype, const void* x, const void* w, const void* bias,
                  void* y);
// The gradient of x from that of y, and the gradient of w.
void conv_backward_input(const ConvShape& s, ScalarType dtype, const void* gy, const void* w, void* gx);
void conv_backward_weight(const ConvShape& s, ScalarType dtype, const void* x, const void* gy, void* gw);

}  // namespace tarn::inline v1::detail
