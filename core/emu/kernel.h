// The device language for g++: what core/cuda/dev.h includes when no CUDA compiler reads the kernel.
// The language itself (threadIdx, barriers, shuffles, atomics) is global and has CUDA's names; the rest is in
// tarn::emu. A kernel's threads are fibers (block.cpp); functions marked TARN_EMU_HIDDEN touch the emulator's
// own memory and are kept out of the access checks (check.cpp).
#pragma once

// Standard headers first: CUDA's define __noinline__, which libstdc++ uses as an attribute.
#include <math.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#undef __shared__
#define __shared__ static_assert(false, "write SHARED(type, name, [size]) instead of __shared__");
#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif

#define TARN_EMU_HIDDEN __attribute__((no_sanitize("thread")))
// Where the caller stands in the kernel's source.
#define TARN_EMU_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace tarn::inline v1::emu {

struct Fiber;

// The block that this OS thread runs.
struct Block {
  uint3 index;
  dim3 size, grid;
};

// One thread of that block.
struct Thread {
  uint3 index;
  uint32_t linear;
  Fiber* fiber;
  uint8_t state;
  int result;        // of the last barrier
  const char* file;  // of the last barrier or warp operation
  int line;
};

// A fiber never moves between OS threads while its block runs. Null: host code runs.
extern thread_local Thread* current __attribute__((tls_model("initial-exec")));
extern thread_local Block block __attribute__((tls_model("initial-exec")));

// How a launch or a library call uses a pointer.
struct Use {
  const void* pointer;
  bool write;
  bool typed;        // certainly a device pointer; words of a struct may be anything
  int argument;      // its place in the call
  size_t bytes = 0;  // from the pointer on; 0 if the call does not tell
};

// A kernel with its arguments bound: invoke(kernel, arguments) runs it for the current thread.
struct Launch {
  const void* kernel;
  void (*invoke)(const void* kernel, const char* arguments);
  dim3 grid, block;
  size_t smem;
};

cudaError_t enqueue(cudaStream_t stream, const Launch& launch, const char* arguments, size_t bytes,
                    const Use* uses, size_t use_count);

void* static_shared(const void* key, size_t bytes, size_t align);
void* dynamic_shared();
int barrier(int predicate, const char* file, int line);  // how many threads came with predicate != 0

enum class Collective : uint8_t { Sync, Shuffle, Ballot, Call };
// Waits for the lanes of `mask`. Shuffle gives the value of lane `source`, Ballot the lanes with value != 0;
// Call runs `call` once with all lanes' values, for instructions that a whole warp executes.
uint64_t collective(Collective kind, uint32_t mask, uint64_t value, int source, const char* file, int line,
                    void (*call)(uint64_t* values) = nullptr);
void check_atomic(const void* p, size_t bytes, void* pc);

// --- launch ---

// A struct argument with pointers inside may have `template <class F> void uses(F f) const` that calls
// f(pointer, write) for each; else every word of it that is a device address counts as written.
template <class T>
concept ListsUses = requires(const T& t) {
  t.uses([](const void*, bool) {});
};

template <class P>
constexpr size_t use_slots() {
  return std::is_pointer_v<P> ? 1 : sizeof(P) / 8 + 1;
}

struct Uses {
  Use* list;
  size_t room;
  size_t count = 0;
  void add(const void* pointer, bool write, bool typed, int argument) {
    if (count < room) list[count++] = {pointer, write, typed, argument};
  }
};

template <class P>
void collect_uses(Uses& uses, const P& argument, int place) {
  static_assert(std::is_trivially_copyable_v<P>, "kernel arguments are copied bytewise");
  if constexpr (std::is_pointer_v<P>) {
    uses.add(reinterpret_cast<const void*>(argument), !std::is_const_v<std::remove_pointer_t<P>>, true,
             place);
  } else if constexpr (ListsUses<P>) {
    argument.uses([&](const void* pointer, bool write) { uses.add(pointer, write, true, place); });
  } else {
    for (size_t at = 0; at + 8 <= sizeof(P); at += 8) {
      const void* word;
      std::memcpy(&word, reinterpret_cast<const char*>(&argument) + at, 8);
      uses.add(word, true, false, place);
    }
  }
}

// The parameter buffer: each parameter at the next multiple of its alignment.
template <class... Params>
struct Layout {
  static constexpr size_t count = sizeof...(Params);
  size_t at[count + 1] = {}, bytes = 0;
  constexpr Layout() {
    size_t i = 0;
    ((bytes = (bytes + alignof(Params) - 1) / alignof(Params) * alignof(Params), at[i++] = bytes,
      bytes += sizeof(Params)),
     ...);
  }
};

template <class... Params>
struct Binder {
  static constexpr Layout<Params...> layout{};
  template <size_t... I>
  TARN_EMU_HIDDEN static void call(void (*kernel)(Params...), const char* arguments,
                                   std::index_sequence<I...>) {
    kernel(*reinterpret_cast<const Params*>(arguments + layout.at[I])...);
  }
  TARN_EMU_HIDDEN static void invoke(const void* kernel, const char* arguments) {
    call(reinterpret_cast<void (*)(Params...)>(const_cast<void*>(kernel)), arguments,
         std::index_sequence_for<Params...>{});
  }
};

// --- what the global functions below are made of ---

TARN_EMU_HIDDEN inline uint3 thread_index() { return current->index; }
TARN_EMU_HIDDEN inline uint3 block_index() { return block.index; }
TARN_EMU_HIDDEN inline dim3 block_size() { return block.size; }
TARN_EMU_HIDDEN inline dim3 grid_size() { return block.grid; }
TARN_EMU_HIDDEN inline int lane() { return int(current->linear & 31); }

template <class T>
T shuffle(unsigned mask, T value, int source, const char* file, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = collective(Collective::Shuffle, mask, bits, source, file, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <size_t N>
using Bits = std::conditional_t<N == 2, uint16_t, std::conditional_t<N == 4, uint32_t, uint64_t>>;

// *p = change(*p) as one step; returns what was there.
template <class T, class F>
[[gnu::always_inline]] TARN_EMU_HIDDEN inline T read_modify_write(T* p, F change) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
  using B = Bits<sizeof(T)>;
  B seen = __atomic_load_n(reinterpret_cast<B*>(p), __ATOMIC_RELAXED), next;
  T before, after;
  do {
    __builtin_memcpy(&before, &seen, sizeof before);
    after = change(before);
    __builtin_memcpy(&next, &after, sizeof next);
  } while (!__atomic_compare_exchange_n(reinterpret_cast<B*>(p), &seen, next, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return before;
}

}  // namespace tarn::inline v1::emu

namespace tarn::inline v1::detail {

template <class... Params, class... Args>
cudaError_t launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem, cudaStream_t stream,
                   Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "launch: the kernel takes another number of arguments");
  using Bound = emu::Binder<Params...>;
  static_assert(Bound::layout.bytes <= 4096, "kernel arguments are limited to 4 KiB");
  alignas(16) char buffer[Bound::layout.bytes + 1];
  constexpr size_t room = (emu::use_slots<Params>() + ... + 1);
  emu::Use list[room];
  emu::Uses uses{list, room};
  int place = 0;
  auto bind = [&]<class P>(const P& value) {
    std::memcpy(buffer + Bound::layout.at[place], &value, sizeof value);
    emu::collect_uses(uses, value, place++);
  };
  (bind.template operator()<Params>(static_cast<Params>(std::forward<Args>(args))), ...);
  emu::Launch bound{reinterpret_cast<const void*>(kernel), &Bound::invoke, grid, block, smem};
  return emu::enqueue(stream, bound, buffer, Bound::layout.bytes, list, uses.count);
}

}  // namespace tarn::inline v1::detail

#include <tarn/core/emu/device_language.h>
