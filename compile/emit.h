// Source text of a kernel: freestanding C++ for the host compiler, and CUDA for NVRTC. Both say the same
// steps; the texts of pointwise.def stand in them as they are.
#pragma once

#include <string>

#include <tarn/compile/kernel.h>

namespace tarn::inline v1::detail {

// The kernel alone: what a person wants to read, and what the golden files keep.
TARN_API std::string emit_cpp_kernel(const Expression& e, const std::vector<Access>& accesses);
// A whole source file: everything a kernel needs, then the kernel. `vector_bytes`: of a register; 16, 32
// or 64.
TARN_API std::string with_prelude(const std::string& kernel, int vector_bytes);

// A device kernel of the same steps, one element a thread, for NVRTC (--std=c++20 --fmad=false): tarn_kernel
// takes one struct of operands, steps, jumps, numbers, rows and count, which mean what KernelFunction's do.
TARN_API std::string emit_cuda_kernel(const Expression& e);
TARN_API std::string with_device_prelude(const std::string& kernel);

// The texts before every kernel, made by the build from headers of core/cpu, core/cuda and compile.
extern const char* const kHostPrelude;
extern const char* const kDevicePrelude;

}  // namespace tarn::inline v1::detail
