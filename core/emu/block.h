// Runs a launch: blocks one after another (or on two OS threads), the threads of a block as fibers.
//
// Note [Fibers]: a fiber takes the next thread that can run. A thread that ends lets its fiber start the next
// one on the same stack, without a switch; only a thread that waits keeps a stack. A kernel without barriers
// thus makes one switch a block. The last thread to arrive at a barrier, and the last lane at a warp
// operation, does the work for all and wakes them. If nothing can run and not all are done, the block's
// threads disagree about a barrier.
#pragma once

#include <cstdint>
#include <string>

#include <tarn/core/emu/kernel.h>

namespace tarn::inline v1::emu {

struct Failure {
  cudaError_t code = cudaSuccess;
  std::string text;
  explicit operator bool() const { return code != cudaSuccess; }
};

// Runs every block, or until the first failure. One launch at a time.
Failure run_grid(const Launch& launch, const char* arguments);

// Ends the running block with the text that f makes, to which kernel and block are appended. Its fibers are
// abandoned: a kernel's threads own nothing, and the text is made in a function so that nothing is owned here
// either.
void record_failure(cudaError_t code, const std::string& text);
[[noreturn]] void leave_kernel();
template <class F>
[[noreturn, gnu::noinline, gnu::cold]] void fail_kernel(cudaError_t code, F text) {
  record_failure(code, text());
  leave_kernel();
}

// "the bytes at +12 of shared memory" or empty, and whether [p, p + bytes) is inside one array of shared
// memory.
bool in_shared_window(uintptr_t p);
bool in_shared_array(uintptr_t p, size_t bytes);
std::string describe_shared(uintptr_t p);

uint64_t switches();  // of fibers so far, for measurements and tests
uint64_t launches();

// --- what the access checks follow (check.cpp) ---
extern bool checking;  // set by the first kernel file that was compiled with the hooks
void checks_begin_launch();
void checks_begin_block();
void checks_block_barrier();
void checks_warp_barrier(uint32_t warp, uint32_t mask);
void checks_forget(uintptr_t begin, size_t bytes);

}  // namespace tarn::inline v1::emu
