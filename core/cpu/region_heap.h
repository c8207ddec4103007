// The allocator's large blocks: good-fit with coalescing over 2 MiB-aligned regions of huge pages, all
// bookkeeping in 64-byte headers in front of the blocks. After TLSF (Masmano, Ripoll, Crespo, Real, "TLSF: a
// new dynamic memory allocator for real-time systems", 2004), but the best fit of a block's own bin is tried
// first: training asks for the same sizes again and again.
//
// Note [Giving memory back]
// A region that is free as a whole goes back to the system by munmap when it has been idle for a second,
// noticed at the next call. A training step frees all its activations and wants them again before long, so
// what passes the cap on cached bytes meanwhile is only lent: MADV_FREE lets the kernel take the pages
// whenever anyone needs memory, and what it did not take costs nothing to use again (512 MiB of huge pages: 1
// ms to lend, 4 ms to touch again, against more than 200 ms to map and touch afresh). Lent bytes do not count
// as reserved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::inline v1::detail {

// Maps `bytes` bytes, a multiple of 4096, at a multiple of 2 MiB, with huge pages where the system has them.
// Null on failure.
void* map_region(size_t bytes);
void unmap_region(void* region, size_t bytes) noexcept;

// Milliseconds of a steady clock of coarse steps; a few nanoseconds to ask.
int64_t coarse_now_ms();

// Not thread-safe: the caller holds the allocator's lock.
class RegionHeap {
 public:
  // Null if a new region is needed and cannot be had or would take reserved() over `limit`.
  void* allocate(size_t bytes, size_t limit);
  void deallocate(void* payload) noexcept;

  // Bytes mapped and not lent; those of them that are in no block.
  size_t reserved() const { return reserved_; }
  size_t free_bytes() const { return free_bytes_; }

  // Lends free regions, those idle longest first, until at most `keep` free bytes are left or none can be
  // lent.
  void lend_down_to(size_t keep) noexcept;
  // Unmaps the free regions that have been idle since before `time`.
  void unmap_idle(int64_t time) noexcept;
  void unmap_all_idle() noexcept { unmap_idle(INT64_MAX); }

  // The sizes of the three largest used blocks, 0 where there are fewer.
  void largest_used(size_t (&sizes)[3]) const;

 private:
  struct Block;
  struct Bin {
    int log, step;
  };
  static constexpr int kFirstLog = 6, kLogs = 42, kSteps = 16;

  static Bin bin_of(size_t bytes);
  static void push(Block*& head, Block* block);
  static void unlink(Block*& head, Block* block);
  Block* find(size_t bytes);
  Block* map(size_t bytes, size_t limit);
  void use(Block* block, size_t bytes);
  void insert(Block* block);
  void remove(Block* block);
  void unmap(Block* block) noexcept;

  Block* bins_[kLogs][kSteps] = {};
  uint64_t log_bits_ = 0;
  uint32_t step_bits_[kLogs] = {};
  Block* used_ = nullptr;
  Block* oldest_idle_ = nullptr;  // free regions, by the time they became free
  Block* newest_idle_ = nullptr;
  size_t reserved_ = 0;
  size_t free_bytes_ = 0;
};

}  // namespace tarn::inline v1::detail
