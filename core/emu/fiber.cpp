#include <tarn/core/emu/fiber.h>

#include <sys/mman.h>

#include <atomic>
#include <new>

// Present if the program runs under AddressSanitizer, null otherwise.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                          size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom,
                                                           size_t* bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* p, size_t bytes);

void tarn_emu_switch(void** save_sp, void* sp);
}

// The callee-saved registers go to the old stack and come from the new one; `ret` continues there.
asm(R"(
  .text
  .globl tarn_emu_switch
  .hidden tarn_emu_switch
  .type tarn_emu_switch, @function
tarn_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tarn_emu_switch, .-tarn_emu_switch
)");

namespace tarn::inline v1::emu {

static constexpr size_t kPage = 4096;

Fiber* new_fiber() {
  void* memory = mmap(nullptr, kStackBytes + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kPage, PROT_NONE);
  auto* fiber = new Fiber;
  fiber->stack = static_cast<char*>(memory) + kPage;
  fiber->bytes = kStackBytes;
  static std::atomic<size_t> made;
  fiber->colour = made++ * 320 % kPage;
  return fiber;
}

void prepare(Fiber& fiber, void (*entry)()) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(fiber.stack, fiber.bytes);
  // Six registers and the address that `ret` takes; a function expects a stack pointer of 16 n + 8 at its
  // entry.
  void** top = reinterpret_cast<void**>(fiber.stack + fiber.bytes - fiber.colour) - 2;
  *top = reinterpret_cast<void*>(entry);
  for (int i = 1; i <= 6; ++i) top[-i] = nullptr;
  fiber.saved_sp = top - 6;
}

void switch_fiber(Fiber& from, Fiber& to, bool leave_for_good) {
  void* fake_stack = nullptr;
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(leave_for_good ? nullptr : &fake_stack, to.stack, to.bytes);
  tarn_emu_switch(&from.saved_sp, to.saved_sp);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void arrived(Fiber* main) {
  if (!__sanitizer_finish_switch_fiber) return;
  const void* bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (!main) return;
  main->stack = static_cast<char*>(const_cast<void*>(bottom));
  main->bytes = bytes;
}

}  // namespace tarn::inline v1::emu
