// Kernels from text on the emulated device: NVRTC's and the runtime's calls with the host's compiler behind
// them. What NVRTC would give as a GPU's code is the bytes of a shared object here.
#pragma once

#include <cstdint>
#include <string>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

// The shared object's bytes, or what the compiler said.
struct Compiled {
  std::string object, log;
};
Compiled compile_text(const std::string& text, const std::string& name);

// An access of a kernel that was compiled at run time (check.cpp).
void check_text_access(void* p, size_t bytes, bool write, bool aligned, void* pc);

}  // namespace tarn::inline v1::emu
