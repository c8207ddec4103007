#include <tarn/core/emu/segfault.h>

#include <unistd.h>

#include <cstdlib>

#include <tarn/core/emu/block.h>
#include <tarn/core/emu/fiber.h>
#include <tarn/core/emu/memory.h>
#include <tarn/core/emu/report.h>

namespace tarn::inline v1::emu {

// A fault on a stack that overflowed needs another stack to be told from.
static void give_signal_stack() {
  stack_t present;
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
  static thread_local char* memory = static_cast<char*>(std::malloc(64 << 10));
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = 64 << 10;
  sigaltstack(&stack, nullptr);
}

static void on_fault(int signal, siginfo_t* info, void*) {
  if (!current) {
    // Host code: what would have happened without us, at the next try of the same instruction.
    std::signal(signal, SIG_DFL);
    return;
  }
  uintptr_t p = reinterpret_cast<uintptr_t>(info->si_addr);
  const Fiber& fiber = *current->fiber;
  bool overflow = p - (reinterpret_cast<uintptr_t>(fiber.stack) - 4096) < 4096;
  fail_kernel(cudaErrorIllegalAddress, [&] {
    std::string what = overflow ? format("the stack of a thread exceeds %zu KiB", fiber.bytes >> 10)
                       : is_device_address(p) ? "kernel touches " + describe(p)
                                              : format("kernel touches %#lx, which is no device memory", p);
    return what + " by " + thread_name(current->linear);
  });
}

static void on_host_fault(int signal, siginfo_t* info, void*) {
  uintptr_t p = reinterpret_cast<uintptr_t>(info->si_addr);
  if (is_device_address(p)) {
    std::string text = "tarn: host code touches " + describe(p) + "\n";
    if (write(2, text.data(), text.size())) _exit(42);
  }
  std::signal(signal, SIG_DFL);
}

static struct sigaction action(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction a {};
  a.sa_sigaction = handler;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  return a;
}

FaultGuard::FaultGuard() {
  give_signal_stack();
  struct sigaction ours = action(on_fault);
  sigaction(SIGSEGV, &ours, &segv_);
  sigaction(SIGBUS, &ours, &bus_);
}

FaultGuard::~FaultGuard() {
  sigaction(SIGSEGV, &segv_, nullptr);
  sigaction(SIGBUS, &bus_, nullptr);
}

void install_host_guard() {
  struct sigaction ours = action(on_host_fault);
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace tarn::inline v1::emu
