// Which instruction set the kernels use. Kernels are built for several (files named *_isa.cpp) and one set is
// chosen at run time, so that one build runs on every machine.
#pragma once

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

// x86-64-v3 is AVX2 with FMA (Haswell, Zen), v4 adds AVX-512 F, BW, CD, DQ and VL (Skylake-X, Zen 4).
enum class CpuIsa { Generic, V3, V4 };

// The best set that this CPU has and this build carries, or a lesser one that the environment's TARN_CPU
// names (generic, v3, v4). Throws tarn::Error if TARN_CPU is another word or asks for what is not there.
TARN_API CpuIsa cpu_isa();

// "generic", "v3", "v4".
TARN_API const char* cpu_isa_name(CpuIsa isa);

// The best set this CPU has, whatever was built or asked for.
TARN_API CpuIsa cpu_best_isa();

// cpu_isa()'s decision for a given TARN_CPU (null: unset) and CPU. Apart for tests.
TARN_API CpuIsa choose_isa(const char* asked, CpuIsa best);

}  // namespace tarn::inline v1::detail
