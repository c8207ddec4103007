// Products and convolutions of device memory, by cuBLASLt and cuDNN.
#pragma once

#include <tarn/core/cpu/conv_types.h>
#include <tarn/core/cpu/gemm.h>
#include <tarn/core/cuda/calls.h>

namespace tarn::inline v1::detail {

// As gemm(), with p.device a CUDA device. Floating dtypes only.
void gemm_cuda(const GemmProblem& p);

// One convolution of float or double memory laid out as `shape` says; of x, w and y the kind's result is
// written, or with accumulate (Forward only) added to.
void conv_cuda(ConvKind kind, const ConvShape& shape, ScalarType dtype, void* x, void* w, void* y,
               bool accumulate = false);

}  // namespace tarn::inline v1::detail
