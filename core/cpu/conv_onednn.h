// Convolution by oneDNN's own direct kernels; see ConvProvider.
#pragma once

#include <tarn/core/cpu/conv_types.h>

namespace tarn::inline v1::detail::onednn {

bool conv_forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y);
bool conv_backward_input(const ConvShape& s, const float* gy, const float* w, float* gx);
bool conv_backward_weight(const ConvShape& s, const float* x, const float* gy, float* gw);

}  // namespace tarn::inline v1::detail::onednn
