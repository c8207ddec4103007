// The memory of the emulated devices: one range of addresses for each, far from the host's. No address is
// given out twice; what is new holds NaN (0xff in every byte), what is freed is closed for good, and between
// allocations there are closed pages. Callers hold the runtime's lock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

inline constexpr uintptr_t kSharedBase = 0x200000000000;  // shared memory of the OS threads that run blocks
inline constexpr size_t kSharedWindow = 512 << 10, kSharedBytes = 2 * kSharedWindow;
inline constexpr uintptr_t kDeviceBase = 0x210000000000;
inline constexpr size_t kDeviceBytes = size_t(128) << 30;

char* shared_window(int worker);

// The device whose range holds p, or -1.
int device_of(uintptr_t p);
bool is_device_address(uintptr_t p);  // of a device or of shared memory

// Work of a stream: an argument of operation number `sequence` of stream `stream`.
struct Access {
  int stream = -1;
  uint64_t sequence = 0;
  const char* name = nullptr;
  const void* kernel = nullptr;  // of a launch, which has no name
  int argument = 0;
};

// What is tracked as one: an allocation, or a block that an allocator handed out of one.
struct Region {
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool live = true;
  std::string ended_by;       // "cudaFree on stream 0"
  Access write;               // the last one
  std::vector<Access> reads;  // since then
  Access returned;            // where a block came back
  bool holds(uintptr_t p, size_t n) const { return p >= begin && p + n <= begin + bytes; }
};

struct Allocation {
  Region whole;
  int id = 0, device = 0;
  std::map<uintptr_t, Region> blocks;  // empty unless an allocator divides it
  Region* region(uintptr_t p);  // the block that begins at or before p, the whole if there are no blocks
};

// Null if the device's memory is used up.
Allocation* allocate(int device, size_t bytes);
void close_allocation(Allocation& allocation);  // the pages; records stay, so that late users can be told

Allocation* find_allocation(
    uintptr_t p);  // at or before p, dead ones too; null for addresses of no allocation
size_t bytes_in_use(int device);
// "4 bytes past device allocation #3 (400 bytes)".
std::string describe(uintptr_t p);

// Opens or closes all device memory, for TARN_EMU_GUARD.
void open_memory(bool open);

// Host memory that devices may read: begin and bytes of the pinned range that holds p, or null.
struct Pinned {
  uintptr_t begin;
  size_t bytes;
  bool registered;  // the user's own memory
};
const Pinned* find_pinned(uintptr_t p);
void add_pinned(const Pinned& range);
void remove_pinned(uintptr_t begin);

}  // namespace tarn::inline v1::emu
