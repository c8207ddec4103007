// The memory of CPU tensors. Small blocks come from thread-local free lists, large ones from a cache of
// huge-page regions: fresh 4 KiB pages cost 100 times what reused memory does. Zeroing, objects and types are
// the callers'.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

namespace detail {

// At least `bytes` bytes, aligned to 64, with unspecified content; null for 0. Throws tarn::Error when the
// system, or the limit of cpu::set_memory_limit, has no more, after giving back what is cached.
//
// Under sanitizers, and with TARN_ALLOC=system in the environment, each block is a malloc of its own, so that
// overflows and uses after free are seen.
TARN_API void* allocate(size_t bytes);

// Takes back a block of allocate(); `bytes` is the size it was asked for. Any thread may call it.
TARN_API void deallocate(void* block, size_t bytes) noexcept;

}  // namespace detail

namespace cpu {

struct MemoryStats {
  int64_t live_bytes;  // asked for and not returned; exact once all threads are at rest
  int64_t peak_bytes;  // highest live_bytes since reset_peak_memory_stats(); exact while one thread allocates
  int64_t cached_bytes;    // held from the system beyond live_bytes: free blocks, rounding, free lists
  int64_t reserved_bytes;  // held from the system
  int64_t live_blocks;     // number of blocks in live_bytes
  int64_t limit_bytes;     // 0: none
};

TARN_API MemoryStats memory_stats();

// Forgets the peak: it starts again at what is live now.
TARN_API void reset_peak_memory_stats();

// Gives back to the system what no block lives in. Other threads' free lists follow when they next need
// memory.
TARN_API void empty_cache();

// Lets Tarn hold at most this many bytes from the system for CPU tensors; 0 removes the limit. An allocation
// that would pass it throws tarn::Error. Setting it below what is live now only stops growth.
TARN_API void set_memory_limit(int64_t bytes);

}  // namespace cpu
}  // namespace tarn::inline v1
