// Kernel: an expression that the host compiler turns into machine code in the background. Kernels are shared
// by all groups of one structure: shapes do not matter, only whether an operand's elements are neighbours in
// a row.
#pragma once

#include <atomic>
#include <memory>

#include <tarn/compile/expression.h>

namespace tarn::inline v1::detail {

// How an operand's elements follow each other in a row.
enum class Access : uint8_t { Unused, Near, Same, Far };

// Computes `rows` rows of `n` elements. steps[k] is operand k's step in a row, jumps[k] that from row to row,
// in bytes; numbers lie 8 bytes apart.
using KernelFunction = void (*)(char* const* operands, const int64_t* steps, const int64_t* jumps,
                                const int64_t* numbers, int64_t rows, int64_t n);

struct Kernel {
  // Null until the compiler is done, and for good where it fails. Once set it stays: the library behind it is
  // never unloaded.
  std::atomic<KernelFunction> function{nullptr};
  std::atomic<int64_t> runs{0};  // so far without it
  bool requested = false;        // guarded by the builder
  std::string source;            // the part of it that differs from kernel to kernel
};

// The kernel of this structure.
TARN_API std::shared_ptr<Kernel> kernel_of(const Expression& e, const std::vector<Access>& accesses);

// The kernel's function if it is there. The second call for a kernel has it built in the background.
TARN_API KernelFunction ready_kernel(const std::shared_ptr<Kernel>& kernel);

// Which tiers groups may take: both; the interpreter alone (TARN_COMPILE=interpret); or a kernel is waited
// for before a group's first run (TARN_COMPILE=native), which tests and benchmarks use.
enum class TierChoice : uint8_t { Both, Interpret, Native };
TARN_API TierChoice tier_choice();
TARN_API void set_tier_choice(TierChoice choice);

// Blocks until no kernel is being built or waits for its turn.
TARN_API void wait_for_kernels();

}  // namespace tarn::inline v1::detail
