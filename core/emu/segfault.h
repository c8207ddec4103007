// While one lives, a wild access of a kernel ends its block with an error instead of the process. The handler
// that the program had is put back afterwards; faults of host code go to it.
#pragma once

#include <csignal>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;

 private:
  struct sigaction segv_, bus_;
};

// TARN_EMU_GUARD: says which device memory host code touched, and exits.
void install_host_guard();

}  // namespace tarn::inline v1::emu
