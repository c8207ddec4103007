// The access checks. Kernels compiled with -fsanitize=thread call the functions below on every load and
// store; the sanitizer's own library is not linked. Each access is looked up: is it inside a live array, is
// it aligned, was shared memory written before, and does it race with another thread?
//
// Note [Races]: for every 4 bytes the last writer and the last reader are kept as {block, barrier count of
// the block, barrier count of the warp, thread, place}. Two accesses clash if they are by different blocks of
// one launch, or by different threads of a block with no barrier between, at least one writes, and not both
// are atomic. This does not depend on the order in which the threads happened to run. Only a full __syncwarp
// orders memory within a warp, shuffles do not. As one reader is kept, a race can be missed, never invented.
#include <sys/mman.h>

#include <cstring>
#include <string>

#include <tarn/core/emu/block.h>
#include <tarn/core/emu/config.h>
#include <tarn/core/emu/fiber.h>
#include <tarn/core/emu/memory.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/text.h>

namespace tarn::inline v1::emu {

namespace {

struct Mark {
  uint32_t block = 0;  // serial number of the block over all launches, 0: none
  uint16_t barriers = 0, warp_barriers = 0;
  uint64_t pc : 47 = 0;
  uint64_t thread : 11 = 0;
  uint64_t bytes : 4 = 0;  // of the four, a bit each
  uint64_t atomic : 1 = 0;
  uint64_t many : 1 = 0;  // several threads read
};
static_assert(sizeof(Mark) == 16);

struct Cell {
  Mark write, read;
};

constexpr uintptr_t kShadow = 0x300000000000;

// Which bytes of shared memory a block has written.
struct Written {
  uint32_t block = 0;
  uint8_t bytes = 0;
};

Cell shared_cells[kSharedWindow / 4];
Written shared_written[kSharedWindow / 4];
uint32_t serial = 0, launch_first = 0;
uint16_t barriers = 0, warp_barriers[32];
const Allocation* last_allocation = nullptr;
const Region* last_region = nullptr;

// 32 bytes of shadow for 4 of device memory, committed where touched.
Cell* device_cells() {
  static Cell* cells = [] {
    void* p = mmap(reinterpret_cast<void*>(kShadow), kDevices * kDeviceBytes / 4 * sizeof(Cell),
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                   -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<Cell*>(p);
  }();
  return cells;
}

size_t shared_index(uintptr_t p) { return (p - kSharedBase) % kSharedWindow / 4; }

Cell& cell_of(uintptr_t p, bool shared) {
  if (shared) return shared_cells[shared_index(p)];
  return device_cells()[(p - kDeviceBase) / 4];
}

struct Touch {
  uintptr_t p;
  size_t bytes;
  bool write, atomic, aligned;
  uintptr_t pc;

  std::string verb() const { return atomic ? "atomic" : write ? "write" : "read"; }
  std::string head() const { return verb() + format(" of %zu bytes", bytes); }
  std::string by() const { return " by " + thread_name(current->linear) + " at " + source_line(pc); }
};

[[noreturn, gnu::noinline, gnu::cold]] void bad_address(const Touch& a) {
  if (!is_device_address(a.p))
    fail_kernel(cudaErrorIllegalAddress,
                [&] { return a.head() + format(" at %#lx, which is no device memory,", a.p) + a.by(); });
  fail_kernel(cudaErrorIllegalAddress,
              [&] { return "out of bounds: " + a.head() + " at " + describe(a.p) + a.by(); });
}

bool inside_region(const Touch& a) {
  if (last_region && last_region->live && last_region->holds(a.p, a.bytes)) return true;
  last_allocation = find_allocation(a.p);
  if (!last_allocation || !last_allocation->whole.live) return last_region = nullptr, false;
  last_region = const_cast<Allocation*>(last_allocation)->region(a.p);
  return last_region && last_region->live && last_region->holds(a.p, a.bytes);
}

void check_address(const Touch& a, bool shared) {
  if (shared ? !in_shared_array(a.p, a.bytes) : !inside_region(a)) bad_address(a);
  if (a.aligned && (a.p & (a.bytes - 1))) [[unlikely]]
    fail_kernel(cudaErrorMisalignedAddress,
                [&] { return "misaligned " + a.head() + " at " + describe(a.p) + a.by(); });
}

[[noreturn, gnu::noinline, gnu::cold]] void race(const Touch& a, const Mark& other, bool other_writes) {
  fail_kernel(cudaErrorLaunchFailure, [&] {
    bool same_block = other.block == serial;
    std::string who = !same_block  ? "a thread of another block"
                      : other.many ? "several threads"
                                   : thread_name(uint32_t(other.thread));
    std::string verb = other.atomic ? "atomic" : other_writes ? "write" : "read";
    return "data race on " + describe(a.p) + ": " + a.verb() + a.by() + ", " + verb + " by " + who + " at " +
           source_line(other.pc) + (same_block ? ", with no barrier between" : "");
  });
}

bool clashes(const Touch& a, const Mark& other, uint8_t bytes, bool shared) {
  if (!(other.bytes & bytes) || other.block < launch_first || (a.atomic && other.atomic)) return false;
  if (other.block != serial) return !shared;
  if (other.barriers != barriers) return false;
  if (other.many) return true;
  uint32_t thread = current->linear, warp = thread >> 5;
  if (other.thread == thread) return false;
  return uint32_t(other.thread >> 5) != warp || other.warp_barriers == warp_barriers[warp];
}

// Shared memory must be written by the block before it is read.
void check_written(const Touch& a, uintptr_t at, uint8_t bytes) {
  Written& written = shared_written[shared_index(at)];
  if (written.block != serial) written = {serial, 0};
  if (a.write) written.bytes |= bytes;
  if (bytes & ~written.bytes) [[unlikely]]
    fail_kernel(cudaErrorLaunchFailure,
                [&] { return "read of uninitialised memory: " + describe(a.p) + a.by(); });
}

void check_cell(const Touch& a, uintptr_t at, bool shared) {
  uint8_t bytes = 0;
  for (uintptr_t i = 0; i < 4; ++i)
    if (at + i >= a.p && at + i < a.p + a.bytes) bytes |= 1 << i;
  if (shared) check_written(a, at, bytes);
  Cell& cell = cell_of(at, shared);
  if (clashes(a, cell.write, bytes, shared)) [[unlikely]]
    race(a, cell.write, true);
  if (a.write && clashes(a, cell.read, bytes, shared)) [[unlikely]]
    race(a, cell.read, false);

  uint32_t thread = current->linear;
  Mark mine{serial, barriers, warp_barriers[thread >> 5], a.pc, thread, bytes, a.atomic, false};
  if (a.write) {
    cell.write = mine;
    return;
  }
  const Mark& last = cell.read;
  if (last.block == serial && last.barriers == barriers && (last.many || last.thread != thread)) {
    mine.many = 1;
    mine.bytes |= last.bytes;
  }
  cell.read = mine;
}

void check_access(const Touch& a) {
  const Fiber& fiber = *current->fiber;
  if (a.p - reinterpret_cast<uintptr_t>(fiber.stack) < fiber.bytes) return;  // the thread's own variables
  bool shared = in_shared_window(a.p);
  if (!shared && device_of(a.p) < 0) {
    if (!a.write && in_image(a.p)) return;  // constants
    const Pinned* pinned = find_pinned(a.p);
    if (pinned && a.p + a.bytes <= pinned->begin + pinned->bytes) return;
    bad_address(a);
  }
  check_address(a, shared);
  if (!shared && !device_cells()) return;
  for (uintptr_t at = a.p & ~uintptr_t(3); at < a.p + a.bytes; at += 4) check_cell(a, at, shared);
}

inline void on_access(void* p, size_t bytes, bool write, void* pc, bool aligned = true) {
  if (!current) return;  // host code of a kernel file
  check_access(
      {reinterpret_cast<uintptr_t>(p), bytes, write, false, aligned, reinterpret_cast<uintptr_t>(pc)});
}

}  // namespace

void checks_begin_launch() {
  launch_first = serial + 1;
  last_region = nullptr;
}

void checks_begin_block() {
  ++serial;
  barriers = 0;
  std::memset(warp_barriers, 0, sizeof warp_barriers);
}

void checks_block_barrier() { ++barriers; }

void checks_warp_barrier(uint32_t warp, uint32_t mask) {
  uint32_t lanes = block.size.x * block.size.y * block.size.z - warp * 32;
  uint32_t full = lanes >= 32 ? ~0u : (1u << lanes) - 1;
  if (mask == full) ++warp_barriers[warp];
}

// What happened to memory that is freed says nothing about who gets these addresses next; its shadow's pages
// go back.
void checks_forget(uintptr_t begin, size_t bytes) {
  if (!checking || !device_cells()) return;
  uintptr_t first = reinterpret_cast<uintptr_t>(&cell_of(begin, false));
  uintptr_t last = reinterpret_cast<uintptr_t>(&cell_of(begin + bytes, false));
  uintptr_t first_page = (first + 4095) & ~uintptr_t(4095), last_page = last & ~uintptr_t(4095);
  if (first_page < last_page)
    madvise(reinterpret_cast<void*>(first_page), last_page - first_page, MADV_DONTNEED);
}

void check_atomic(const void* p, size_t bytes, void* pc) {
  if (!checking || !current) return;
  check_access({reinterpret_cast<uintptr_t>(p), bytes, true, true, true, reinterpret_cast<uintptr_t>(pc)});
}

void check_text_access(void* p, size_t bytes, bool write, bool aligned, void* pc) {
  on_access(p, bytes, write, pc, aligned);
}

}  // namespace tarn::inline v1::emu

#define TARN_EMU_HOOK(name, bytes, write, aligned)                                 \
  extern "C" void __tsan_##name(void* p) {                                         \
    ::tarn::emu::on_access(p, bytes, write, __builtin_return_address(0), aligned); \
  }
#define TARN_EMU_HOOKS(bytes)                                        \
  TARN_EMU_HOOK(read##bytes, bytes, false, true)                     \
  TARN_EMU_HOOK(write##bytes, bytes, true, true)                     \
  TARN_EMU_HOOK(volatile_read##bytes, bytes, false, true)            \
  TARN_EMU_HOOK(volatile_write##bytes, bytes, true, true)            \
  TARN_EMU_HOOK(unaligned_read##bytes, bytes, false, false)          \
  TARN_EMU_HOOK(unaligned_write##bytes, bytes, true, false)          \
  TARN_EMU_HOOK(unaligned_volatile_read##bytes, bytes, false, false) \
  TARN_EMU_HOOK(unaligned_volatile_write##bytes, bytes, true, false)
TARN_EMU_HOOKS(1)
TARN_EMU_HOOKS(2)
TARN_EMU_HOOKS(4)
TARN_EMU_HOOKS(8)
TARN_EMU_HOOKS(16)
#undef TARN_EMU_HOOKS
#undef TARN_EMU_HOOK

extern "C" {
void __tsan_read_range(void* p, size_t bytes) {
  if (bytes) ::tarn::emu::on_access(p, bytes, false, __builtin_return_address(0), false);
}
void __tsan_write_range(void* p, size_t bytes) {
  if (bytes) ::tarn::emu::on_access(p, bytes, true, __builtin_return_address(0), false);
}
void __tsan_init() { ::tarn::emu::checking = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
