#include <tarn/core/cpu/region_heap.h>

#include <sys/mman.h>
#include <time.h>

#include <bit>
#include <new>
#include <utility>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kSharedRegion = size_t(32)
                                 << 20;  // blocks of less than half of it share regions of this size
constexpr size_t kOwnRegionStep = size_t(64) << 10;
constexpr size_t kSmallestRest = 4096;  // a smaller rest stays with the block it would be split from

size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

void* map_region(size_t bytes) {
  size_t span = bytes + kHugePage;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* region = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(begin), kHugePage));
  if (region > begin) munmap(begin, size_t(region - begin));
  munmap(region + bytes, size_t(begin + span - (region + bytes)));
  madvise(region, bytes, MADV_HUGEPAGE);
  return region;
}

void unmap_region(void* region, size_t bytes) noexcept { munmap(region, bytes); }

int64_t coarse_now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return int64_t(t.tv_sec) * 1000 + t.tv_nsec / 1000000;
}

// Stands in front of each block's payload. Blocks of a region lie one behind the other without gaps, and no
// two neighbours are free.
struct alignas(64) RegionHeap::Block {
  size_t size;    // of the payload, a multiple of 64
  Block* before;  // the neighbour in front; null at the region's start
  char* region_end;
  Block *next, *prev;    // in the list of used blocks, or in the bin while free
  Block *newer, *older;  // among the idle regions, while free and the only block of its region
  enum : uint32_t { Used, Free, Lent } state;
  uint32_t idle_since;  // coarse milliseconds, modulo 2^32; used in differences only

  char* payload() { return reinterpret_cast<char*>(this) + sizeof(Block); }
  Block* behind() {
    char* end = payload() + size;
    return end < region_end ? reinterpret_cast<Block*>(end) : nullptr;
  }
  bool is_whole_region() { return !before && !behind(); }
  size_t region_bytes() { return size_t(region_end - reinterpret_cast<char*>(this)); }
  // What MADV_FREE covers: the huge page with the header in it stays.
  size_t lendable_bytes() { return region_bytes() > kHugePage ? region_bytes() - kHugePage : 0; }
};

// Sizes with the same leading bit and the same four bits behind it share a bin.
RegionHeap::Bin RegionHeap::bin_of(size_t bytes) {
  int log = std::bit_width(bytes) - 1;
  return {log - kFirstLog, int(bytes >> (log - 4)) & 15};
}

void RegionHeap::push(Block*& head, Block* block) {
  block->prev = nullptr;
  block->next = head;
  if (head) head->prev = block;
  head = block;
}

void RegionHeap::unlink(Block*& head, Block* block) {
  (block->prev ? block->prev->next : head) = block->next;
  if (block->next) block->next->prev = block->prev;
}

// Makes a block that is in no list a free one.
void RegionHeap::insert(Block* block) {
  Bin bin = bin_of(block->size);
  push(bins_[bin.log][bin.step], block);
  log_bits_ |= uint64_t(1) << bin.log;
  step_bits_[bin.log] |= 1u << bin.step;
  block->state = Block::Free;
  free_bytes_ += block->size;
  if (!block->is_whole_region()) return;
  block->idle_since = uint32_t(coarse_now_ms());
  block->newer = nullptr;
  block->older = newest_idle_;
  (newest_idle_ ? newest_idle_->newer : oldest_idle_) = block;
  newest_idle_ = block;
}

// Takes a free block out of the lists.
void RegionHeap::remove(Block* block) {
  Bin bin = bin_of(block->size);
  unlink(bins_[bin.log][bin.step], block);
  if (!bins_[bin.log][bin.step]) {
    step_bits_[bin.log] &= ~(1u << bin.step);
    if (!step_bits_[bin.log]) log_bits_ &= ~(uint64_t(1) << bin.log);
  }
  if (block->is_whole_region()) {
    (block->newer ? block->newer->older : newest_idle_) = block->older;
    (block->older ? block->older->newer : oldest_idle_) = block->newer;
  }
  if (block->state == Block::Lent) {
    reserved_ += block->lendable_bytes();
    free_bytes_ += block->lendable_bytes();
  }
  free_bytes_ -= block->size;
  block->state = Block::Used;
}

// The smallest block that fits among the first of the size's own bin, else the first of the next bin that has
// any.
RegionHeap::Block* RegionHeap::find(size_t bytes) {
  Bin bin = bin_of(bytes);
  Block* best = nullptr;
  int left = 32;
  for (Block* block = bins_[bin.log][bin.step]; block && left > 0; block = block->next, --left) {
    if (block->size >= bytes && (!best || block->size < best->size)) best = block;
    if (best && best->size == bytes) break;
  }
  if (best) return best;
  uint32_t steps = step_bits_[bin.log] & (~uint32_t(0) << bin.step << 1);
  if (steps) return bins_[bin.log][std::countr_zero(steps)];
  uint64_t logs = log_bits_ & (~uint64_t(0) << bin.log << 1);
  if (!logs) return nullptr;
  int log = std::countr_zero(logs);
  return bins_[log][std::countr_zero(step_bits_[log])];
}

// A new region as one free block: one that others will share if `bytes` is small, else one of its own.
RegionHeap::Block* RegionHeap::map(size_t bytes, size_t limit) {
  size_t own = round_up(bytes + sizeof(Block), kOwnRegionStep);
  size_t shared = bytes < kSharedRegion / 2 ? kSharedRegion : own;
  for (size_t length : {shared, own}) {
    if (length > limit || reserved_ > limit - length) continue;
    void* region = map_region(length);
    if (!region) continue;
    auto* block = new (region) Block{};
    block->size = length - sizeof(Block);
    block->region_end = static_cast<char*>(region) + length;
    reserved_ += length;
    insert(block);
    return block;
  }
  return nullptr;
}

// Makes a free block a used one of `bytes`, and what is over a free block behind it.
void RegionHeap::use(Block* block, size_t bytes) {
  remove(block);
  push(used_, block);
  if (block->size - bytes < sizeof(Block) + kSmallestRest) return;
  auto* rest = new (block->payload() + bytes) Block{};
  rest->size = block->size - bytes - sizeof(Block);
  rest->before = block;
  rest->region_end = block->region_end;
  if (Block* behind = rest->behind()) behind->before = rest;
  block->size = bytes;
  insert(rest);
}

void* RegionHeap::allocate(size_t bytes, size_t limit) {
  bytes = round_up(bytes, sizeof(Block));
  Block* block = find(bytes);
  bool lent_over_limit = block && block->state == Block::Lent &&
                         (block->lendable_bytes() > limit || reserved_ > limit - block->lendable_bytes());
  if (!block || lent_over_limit) block = map(bytes, limit);
  if (!block) return nullptr;
  use(block, bytes);
  return block->payload();
}

void RegionHeap::deallocate(void* payload) noexcept {
  auto* block = reinterpret_cast<Block*>(static_cast<char*>(payload) - sizeof(Block));
  unlink(used_, block);
  if (Block* behind = block->behind(); behind && behind->state == Block::Free) {
    remove(behind);
    block->size += sizeof(Block) + behind->size;
  }
  if (Block* before = block->before; before && before->state == Block::Free) {
    remove(before);
    before->size += sizeof(Block) + block->size;
    block = before;
  }
  if (Block* behind = block->behind()) behind->before = block;
  insert(block);
}

void RegionHeap::unmap(Block* block) noexcept {
  remove(block);
  reserved_ -= block->region_bytes();
  unmap_region(block, block->region_bytes());
}

void RegionHeap::unmap_idle(int64_t time) noexcept {
  while (oldest_idle_ && (time == INT64_MAX || int32_t(uint32_t(time) - oldest_idle_->idle_since) > 0)) {
    unmap(oldest_idle_);
  }
}

void RegionHeap::largest_used(size_t (&sizes)[3]) const {
  for (size_t& size : sizes) size = 0;
  for (Block* block = used_; block; block = block->next) {
    size_t size = block->size;
    for (size_t& place : sizes) {
      if (size > place) std::swap(size, place);
    }
  }
}

void RegionHeap::lend_down_to(size_t keep) noexcept {
  if (free_bytes_ <= keep || !newest_idle_) return;
  Block* block = newest_idle_;  // those lent before are the oldest
  while (block->older && block->older->state != Block::Lent) block = block->older;
  for (; block && free_bytes_ > keep; block = block->newer) {
    size_t bytes = block->lendable_bytes();
    if (block->state == Block::Lent || bytes == 0) continue;
    if (madvise(reinterpret_cast<char*>(block) + kHugePage, bytes, MADV_FREE) != 0) continue;
    block->state = Block::Lent;
    reserved_ -= bytes;
    free_bytes_ -= bytes;
  }
}

}  // namespace tarn::inline v1::detail
