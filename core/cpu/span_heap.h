// The allocator's small blocks (64 bytes to 8 KiB): spans of 64 KiB hold blocks of one size class each and
// are cut from 2 MiB regions. A span's header lies at its start, so a block's span is found from its address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::inline v1::detail {

// Note [Size classes]
// Multiples of 64 up to 512, then eight classes a doubling, so that rounding wastes at most an eighth.
constexpr int kSmallClasses = 40;  // up to 8 KiB: from spans
constexpr int kClasses = 96;       // up to 1 MiB: the medium ones come from the region heap
constexpr size_t kLargestSmall = size_t(8) << 10;
constexpr size_t kLargestMedium = size_t(1) << 20;

constexpr int class_of(size_t bytes) {
  size_t n = (bytes - 1) >> 6;
  if (n < 8) return int(n);
  int shift = 60 - __builtin_clzll(n);
  return shift * 8 + int(n >> shift);
}

constexpr size_t class_bytes(int index) {
  if (index < 8) return size_t(index + 1) * 64;
  int shift = (index - 8) / 8;
  return size_t(index - shift * 8 + 1) << (shift + 6);
}

static_assert(class_of(kLargestSmall) == kSmallClasses - 1 && class_of(kLargestMedium) == kClasses - 1);
static_assert(class_bytes(kSmallClasses - 1) == kLargestSmall && class_bytes(kClasses - 1) == kLargestMedium);

struct FreeBlock {
  FreeBlock* next;
};

// Not thread-safe: the caller holds the allocator's lock.
class SpanHeap {
 public:
  // A chain of 1 to `most` blocks of a small class; sets `count`. Null if a region is needed and cannot be
  // had or would take reserved() over `limit`.
  FreeBlock* take(int class_index, int most, size_t limit, int& count);
  void give_back(FreeBlock* block) noexcept;

  size_t reserved() const { return reserved_; }

  // Unmaps the regions without blocks that have been idle since before `time`.
  void unmap_idle(int64_t time) noexcept;

 private:
  struct Span;
  struct Region;

  Span* new_span(int class_index, size_t limit);
  void free_span(Span* span) noexcept;

  Span* open_[kSmallClasses] = {};  // the spans that have free blocks
  Region* regions_ = nullptr;       // the regions that have free spans
  int idle_regions_ = 0;            // those of them without a used span
  size_t reserved_ = 0;
};

}  // namespace tarn::inline v1::detail
