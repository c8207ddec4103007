#include <tarn/core/cpu/span_heap.h>

#include <bit>
#include <new>

#include <tarn/core/cpu/region_heap.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kSpanBytes = size_t(64) << 10;
constexpr size_t kRegionBytes = size_t(2) << 20;
constexpr uint32_t kAllSpans = ~uint32_t(0);  // one bit for each of the 32 spans of a region

template <class Node>
void push(Node*& head, Node* node) {
  node->prev = nullptr;
  node->next = head;
  if (head) head->prev = node;
  head = node;
}

template <class Node>
void unlink(Node*& head, Node* node) {
  (node->prev ? node->prev->next : head) = node->next;
  if (node->next) node->next->prev = node->prev;
}

void* round_down(void* address, size_t step) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(uintptr_t(step) - 1));
}

}  // namespace

// At the start of each 64 KiB.
struct alignas(64) SpanHeap::Span {
  FreeBlock* free;  // blocks given back
  uint32_t fresh;   // offset of the first block never used; none left if a block would pass the span's end
  uint32_t used;    // blocks handed out
  uint32_t class_index;
  uint32_t block_bytes;
  Span *next, *prev;  // in open_

  bool is_full() const { return !free && fresh + block_bytes > kSpanBytes; }
};

// Behind the header of a region's first span.
struct alignas(64) SpanHeap::Region {
  uint32_t free_spans;  // a bit each
  int64_t idle_since;   // if all are free
  Region *next, *prev;  // in regions_
};

SpanHeap::Span* SpanHeap::new_span(int class_index, size_t limit) {
  Region* region = regions_;
  if (!region) {
    if (kRegionBytes > limit || reserved_ > limit - kRegionBytes) return nullptr;
    void* memory = map_region(kRegionBytes);
    if (!memory) return nullptr;
    reserved_ += kRegionBytes;
    region =
        new (static_cast<char*>(memory) + sizeof(Span)) Region{kAllSpans, coarse_now_ms(), nullptr, nullptr};
    push(regions_, region);
    ++idle_regions_;
  }
  if (region->free_spans == kAllSpans) --idle_regions_;
  int index = std::countr_zero(region->free_spans);
  region->free_spans &= region->free_spans - 1;
  if (!region->free_spans) unlink(regions_, region);
  char* start = static_cast<char*>(round_down(region, kRegionBytes)) + size_t(index) * kSpanBytes;
  uint32_t header = sizeof(Span) + (index == 0 ? sizeof(Region) : 0);
  auto* span = new (start)
      Span{nullptr, header, 0, uint32_t(class_index), uint32_t(class_bytes(class_index)), nullptr, nullptr};
  push(open_[class_index], span);
  return span;
}

void SpanHeap::free_span(Span* span) noexcept {
  auto* start = static_cast<char*>(round_down(span, kRegionBytes));
  auto* region = reinterpret_cast<Region*>(start + sizeof(Span));
  if (!region->free_spans) push(regions_, region);
  region->free_spans |= uint32_t(1) << (size_t(reinterpret_cast<char*>(span) - start) / kSpanBytes);
  if (region->free_spans != kAllSpans) return;
  region->idle_since = coarse_now_ms();
  ++idle_regions_;
}

FreeBlock* SpanHeap::take(int class_index, int most, size_t limit, int& count) {
  count = 0;
  Span* span = open_[class_index];
  if (!span) span = new_span(class_index, limit);
  if (!span) return nullptr;
  FreeBlock* chain = nullptr;
  for (; count < most && !span->is_full(); ++count) {
    FreeBlock* block = span->free;
    if (block) {
      span->free = block->next;
    } else {
      block = reinterpret_cast<FreeBlock*>(reinterpret_cast<char*>(span) + span->fresh);
      span->fresh += span->block_bytes;
    }
    block->next = chain;
    chain = block;
  }
  span->used += uint32_t(count);
  if (span->is_full()) unlink(open_[class_index], span);
  return chain;
}

void SpanHeap::give_back(FreeBlock* block) noexcept {
  auto* span = static_cast<Span*>(round_down(block, kSpanBytes));
  Span*& open = open_[span->class_index];
  if (span->is_full()) push(open, span);
  block->next = span->free;
  span->free = block;
  if (--span->used > 0) return;
  unlink(open, span);
  free_span(span);
}

void SpanHeap::unmap_idle(int64_t time) noexcept {
  if (idle_regions_ == 0) return;
  for (Region* region = regions_; region;) {
    Region* next = region->next;
    if (region->free_spans == kAllSpans && region->idle_since < time) {
      unlink(regions_, region);
      unmap_region(round_down(region, kRegionBytes), kRegionBytes);
      --idle_regions_;
      reserved_ -= kRegionBytes;
    }
    region = next;
  }
}

}  // namespace tarn::inline v1::detail
