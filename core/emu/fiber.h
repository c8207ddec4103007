// Stacks for a kernel's threads and the switch between them (x86-64). AddressSanitizer is told of each switch
// if it is there.
#pragma once

#include <cstddef>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

inline constexpr size_t kStackBytes = 256 << 10;  // address space; only touched pages cost memory

struct Fiber {
  void* saved_sp = nullptr;
  char* stack = nullptr;  // lowest byte; null for the stack that the OS thread came with
  size_t bytes = 0;
  size_t colour = 0;  // bytes at the top that stay unused, so that the stacks' tops do not share cache sets
};

// A stack with a guard page below. Never unmapped: the pool keeps it.
Fiber* new_fiber();

// The next switch to `fiber` calls entry(), which must never return and starts with arrived(from).
void prepare(Fiber& fiber, void (*entry)());

// Runs `to` until something switches back to `from`. `leave_for_good`: `from` is not resumed before
// prepare().
void switch_fiber(Fiber& from, Fiber& to, bool leave_for_good = false);

// First statement of an entry function; `main` (or null) learns the bounds of the stack that was left.
void arrived(Fiber* main);

}  // namespace tarn::inline v1::emu
