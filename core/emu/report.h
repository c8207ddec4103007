// Texts of the emulated device's errors: what a pointer is, which kernel a function is, which line an
// instruction came from.
#pragma once

#include <cstdint>
#include <string>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

__attribute__((format(printf, 1, 2))) std::string format(const char* text, ...);

// "softmax_rows<float>"; by the symbol table or debug information, so it is slow: for messages alone.
std::string kernel_name(const void* kernel);

// "reduce.cuh:30, inlined at softmax.cu:71" of the call that returns to `pc`.
std::string source_line(uintptr_t pc);

// "thread (3,0,0)" of the block that runs, from its linear number.
std::string thread_name(uint32_t linear);

// An address inside the image of a program or library, where constants live.
bool in_image(uintptr_t p);

}  // namespace tarn::inline v1::emu
