// cuBLASLt, cuDNN and NVRTC as the call table has them. Their errors become one status whose text is kept per
// thread.
#pragma once

#include <string>

#include <tarn/core/cuda/calls.h>

namespace tarn::inline v1::detail {

constexpr int kLibraryError = 1 << 20;

const char* library_error_text();
// Keeps the text; returns kLibraryError.
int library_error(std::string text);

int build_kernel(const char* text, const char* name, void** kernel);
int launch_built(const BuiltKernelCall& call, void* stream);
int gemm_workspace(const ProductCall& call, size_t* bytes);
int gemm(const ProductCall& call, void* stream);
int conv_workspace(const ConvCall& call, size_t* bytes);
int conv(const ConvCall& call, void* stream);

}  // namespace tarn::inline v1::detail
