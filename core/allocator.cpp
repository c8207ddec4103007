#include <tarn/core/allocator.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include <tarn/core/cpu/region_heap.h>
#include <tarn/core/cpu/span_heap.h>
#include <tarn/core/error.h>
#include <tarn/core/fault.h>
#include <tarn/core/pool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TARN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TARN_SANITIZED 1
#endif
#endif
#ifndef TARN_SANITIZED
#define TARN_SANITIZED 0
#endif

namespace tarn::inline v1 {

namespace detail {
namespace {

constexpr size_t kAlignment = 64;
// What x86-64 can address; sanitizers end the process when asked for more than 2^40.
constexpr size_t kLargestRequest = size_t(1) << (TARN_SANITIZED ? 39 : 47);
constexpr int64_t kFoldBytes = 1 << 20;
constexpr size_t kMediumBytesPerThread = size_t(8) << 20;
constexpr size_t kLeastCacheCap = size_t(256) << 20;
constexpr int64_t kIdleMs = 1000;

// How many free blocks of a class a thread keeps.
constexpr int list_limit(int class_index) {
  size_t bytes = class_bytes(class_index);
  return class_index < kSmallClasses ? int(std::clamp<size_t>((64 << 10) / bytes, 8, 256))
                                     : int(std::clamp<size_t>((2 << 20) / bytes, 2, 32));
}

struct ListLimits {
  int of[kClasses];
  constexpr ListLimits() : of() {
    for (int i = 0; i < kClasses; ++i) of[i] = list_limit(i);
  }
};
constexpr ListLimits kListLimits;

struct FreeList {
  FreeBlock* head = nullptr;
  int count = 0;
};

// A thread's free lists and its share of the statistics. Only its thread writes; the counts are atomic
// because others read them.
struct ThreadHeap {
  FreeList lists[kClasses];
  size_t medium_bytes = 0;                                  // in the medium classes' lists
  std::atomic<int64_t> bytes{0}, high_bytes{0}, blocks{0};  // since the last fold into Central
  uint32_t flush_epoch = 0;
  ThreadHeap* next = nullptr;         // in Central::heaps
  ThreadHeap* next_unused = nullptr;  // in Central::unused
};

void add(std::atomic<int64_t>& counter, int64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// What all threads share. Never destroyed: tensors with static storage die after everything else.
struct Central {
  std::mutex mutex;  // guards all but the atomics
  RegionHeap regions;
  SpanHeap spans;
  ThreadHeap* heaps = nullptr;   // all there ever were
  ThreadHeap* unused = nullptr;  // those whose thread has ended
  pthread_key_t at_thread_exit = 0;
  uint32_t flush_epoch = 0;                          // raised by empty_cache()
  bool system = false;                               // each block is its own malloc
  std::atomic<int64_t> live{0}, blocks{0}, peak{0};  // without what the heaps have not folded
  std::atomic<size_t> limit{SIZE_MAX};

  Central();
  static Central& get() {
    static Central* central = new Central;
    return *central;
  }

  size_t reserved() const { return regions.reserved() + spans.reserved(); }
  void raise_peak(int64_t candidate) {
    int64_t before = peak.load(std::memory_order_relaxed);
    while (candidate > before && !peak.compare_exchange_weak(before, candidate, std::memory_order_relaxed)) {
    }
  }
  void fold(ThreadHeap& heap);
  void flush(ThreadHeap& heap, int class_index, int keep) noexcept;
  void flush_all(ThreadHeap& heap) noexcept;
  void give_back_idle() noexcept;
  void give_back_everything(ThreadHeap& heap) noexcept;
  FreeBlock* refill(ThreadHeap& heap, size_t bytes);
};

// A plain pointer without a destructor, so that memory may come and go while a thread's other thread_locals
// are destroyed; Central::at_thread_exit runs after them.
[[gnu::tls_model("initial-exec")]] thread_local ThreadHeap* t_heap = nullptr;

void end_thread(void* heap_pointer) {
  auto& heap = *static_cast<ThreadHeap*>(heap_pointer);
  Central& central = Central::get();
  std::lock_guard lock(central.mutex);
  central.flush_all(heap);
  central.fold(heap);
  heap.next_unused = central.unused;
  central.unused = &heap;
  t_heap = nullptr;
}

Central::Central() {
  const char* mode = std::getenv("TARN_ALLOC");
  system = TARN_SANITIZED || (mode && std::strcmp(mode, "system") == 0);
  pthread_key_create(&at_thread_exit, end_thread);
  pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
}

// Adds the heap's counts to the global ones.
void Central::fold(ThreadHeap& heap) {
  int64_t before = live.fetch_add(heap.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  blocks.fetch_add(heap.blocks.load(std::memory_order_relaxed), std::memory_order_relaxed);
  raise_peak(before + heap.high_bytes.load(std::memory_order_relaxed));
  for (auto* counter : {&heap.bytes, &heap.high_bytes, &heap.blocks})
    counter->store(0, std::memory_order_relaxed);
}

// Gives a list's blocks back until `keep` are left.
void Central::flush(ThreadHeap& heap, int class_index, int keep) noexcept {
  FreeList& list = heap.lists[class_index];
  for (; list.count > keep; --list.count) {
    FreeBlock* block = list.head;
    list.head = block->next;
    if (class_index < kSmallClasses) {
      spans.give_back(block);
    } else {
      heap.medium_bytes -= class_bytes(class_index);
      regions.deallocate(block);
    }
  }
}

void Central::flush_all(ThreadHeap& heap) noexcept {
  for (int i = 0; i < kClasses; ++i) flush(heap, i, 0);
  heap.flush_epoch = flush_epoch;
}

// See Note [Giving memory back].
void Central::give_back_idle() noexcept {
  int64_t before = coarse_now_ms() - kIdleMs;
  regions.unmap_idle(before);
  spans.unmap_idle(before);
  regions.lend_down_to(std::max(kLeastCacheCap, size_t(peak.load(std::memory_order_relaxed)) / 4));
}

void Central::give_back_everything(ThreadHeap& heap) noexcept {
  flush_all(heap);
  regions.unmap_all_idle();
  spans.unmap_idle(INT64_MAX);
}

// A block for `bytes`, and more of a small class into the thread's list. Null if there is no memory.
FreeBlock* Central::refill(ThreadHeap& heap, size_t bytes) {
  size_t most = limit.load(std::memory_order_relaxed);
  if (bytes > kLargestSmall) {
    size_t rounded = bytes > kLargestMedium ? bytes : class_bytes(class_of(bytes));
    size_t other = spans.reserved();
    return static_cast<FreeBlock*>(regions.allocate(rounded, most > other ? most - other : 0));
  }
  int index = class_of(bytes), count = 0;
  size_t other = regions.reserved();
  FreeBlock* chain = spans.take(index, kListLimits.of[index] / 2, most > other ? most - other : 0, count);
  if (!chain) return nullptr;
  FreeList& list = heap.lists[index];  // empty, or the block would have come from it
  list.head = chain->next;
  list.count = count - 1;
  return chain;
}

ThreadHeap& my_heap(Central& central) {
  if (t_heap) return *t_heap;
  std::lock_guard lock(central.mutex);
  ThreadHeap* heap = central.unused;
  if (heap) {
    central.unused = heap->next_unused;
  } else {
    heap = new ThreadHeap;
    heap->next = central.heaps;
    central.heaps = heap;
  }
  pthread_setspecific(central.at_thread_exit, heap);
  t_heap = heap;
  return *heap;
}

// high_bytes follows the highest value of bytes, so that one thread's peak is exact however rarely it folds.
void count(ThreadHeap& heap, int64_t bytes, int64_t blocks) {
  add(heap.bytes, bytes);
  add(heap.blocks, blocks);
  int64_t now = heap.bytes.load(std::memory_order_relaxed);
  if (now > heap.high_bytes.load(std::memory_order_relaxed))
    heap.high_bytes.store(now, std::memory_order_relaxed);
  if (now > kFoldBytes || now < -kFoldBytes) [[unlikely]] {
    Central& central = Central::get();
    std::lock_guard lock(central.mutex);
    central.fold(heap);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void fail_out_of_memory(size_t bytes) {
  Central& central = Central::get();
  cpu::MemoryStats stats = cpu::memory_stats();
  size_t largest[3] = {};
  if (!central.system) {
    std::lock_guard lock(central.mutex);
    central.regions.largest_used(largest);
  }
  std::string limit = stats.limit_bytes ? str(stats.limit_bytes) : "none";
  std::string blocks;
  for (size_t size : largest) {
    if (size) blocks += str(blocks.empty() ? "; largest blocks: " : ", ", size);
  }
  fail("allocate: out of memory: asked for ", bytes, " bytes; live ", stats.live_bytes, " in ",
       stats.live_blocks, " blocks, cached ", stats.cached_bytes, ", limit ", limit, blocks);
}

void* allocate_from_system(Central& central, size_t bytes) {
  int64_t live = central.live.fetch_add(int64_t(bytes), std::memory_order_relaxed) + int64_t(bytes);
  void* block = nullptr;
  if (size_t(live) > central.limit.load(std::memory_order_relaxed) ||
      posix_memalign(&block, kAlignment, bytes)) {
    central.live.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
    fail_out_of_memory(bytes);
  }
  central.blocks.fetch_add(1, std::memory_order_relaxed);
  central.raise_peak(live);
  return block;
}

FreeBlock* refill_or_give_back(Central& central, ThreadHeap& heap, size_t bytes) {
  std::lock_guard lock(central.mutex);
  if (heap.flush_epoch != central.flush_epoch) central.flush_all(heap);
  central.give_back_idle();
  FreeBlock* block = central.refill(heap, bytes);
  if (block) return block;
  central.give_back_everything(heap);
  return central.refill(heap, bytes);
}

[[gnu::noinline]] void* allocate_slowly(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > kLargestRequest) fail_out_of_memory(bytes);
  Central& central = Central::get();
  if (central.system) return allocate_from_system(central, bytes);
  ThreadHeap& heap = my_heap(central);
  FreeBlock* block = refill_or_give_back(central, heap, bytes);
  if (!block) fail_out_of_memory(bytes);
  count(heap, int64_t(bytes), 1);
  return block;
}

// Puts a block of a size class into its list.
inline void keep(ThreadHeap& heap, void* memory, int class_index) {
  FreeList& list = heap.lists[class_index];
  auto* block = static_cast<FreeBlock*>(memory);
  block->next = list.head;
  list.head = block;
  ++list.count;
}

[[gnu::noinline]] void deallocate_large(ThreadHeap& heap, void* block, size_t bytes) noexcept {
  Central& central = Central::get();
  count(heap, -int64_t(bytes), -1);
  std::lock_guard lock(central.mutex);
  central.regions.deallocate(block);
  central.give_back_idle();
}

// The lists were full: half of this one goes home, and of the medium ones all if together they hold too much.
[[gnu::noinline]] void shorten(ThreadHeap& heap, int class_index) noexcept {
  Central& central = Central::get();
  std::lock_guard lock(central.mutex);
  if (heap.flush_epoch != central.flush_epoch) central.flush_all(heap);
  central.flush(heap, class_index, kListLimits.of[class_index] / 2);
  if (heap.medium_bytes > kMediumBytesPerThread) {
    for (int i = kSmallClasses; i < kClasses; ++i) central.flush(heap, i, 0);
  }
  central.give_back_idle();
}

}  // namespace

void* allocate(size_t bytes) {
  ThreadHeap* heap = t_heap;
  if (bytes - 1 < kLargestMedium && heap) [[likely]] {
    int index = class_of(bytes);
    FreeList& list = heap->lists[index];
    if (FreeBlock* block = list.head) [[likely]] {
      list.head = block->next;
      --list.count;
      if (index >= kSmallClasses) heap->medium_bytes -= class_bytes(index);
      count(*heap, int64_t(bytes), 1);
      return block;
    }
  }
  return allocate_slowly(bytes);
}

void deallocate(void* block, size_t bytes) noexcept {
  if (!block) return;
  ThreadHeap* heap = t_heap;
  if (!heap) [[unlikely]] {
    Central& central = Central::get();
    if (central.system) {
      central.live.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
      central.blocks.fetch_sub(1, std::memory_order_relaxed);
      return std::free(block);
    }
    heap = &my_heap(central);
  }
  if (bytes > kLargestMedium) return deallocate_large(*heap, block, bytes);
  count(*heap, fault(20) ? 0 : -int64_t(bytes), -1);
  int index = class_of(bytes);
  keep(*heap, block, index);
  if (index >= kSmallClasses) heap->medium_bytes += class_bytes(index);
  if (heap->lists[index].count > kListLimits.of[index] || heap->medium_bytes > kMediumBytesPerThread)
      [[unlikely]] {
    shorten(*heap, index);
  }
}

void* pool_allocate(size_t bytes) {
  ThreadHeap* heap = t_heap;
  if (!heap) [[unlikely]] {
    Central& central = Central::get();
    if (central.system) return ::operator new(bytes, std::align_val_t(kAlignment));
    heap = &my_heap(central);
  }
  FreeList& list = heap->lists[class_of(bytes)];
  FreeBlock* block = list.head;
  if (block) [[likely]] {
    list.head = block->next;
    --list.count;
    // The next one may have gone to memory since it was freed.
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(reinterpret_cast<char*>(list.head) + at, 1);
    return block;
  }
  block = refill_or_give_back(Central::get(), *heap, bytes);
  if (!block) throw std::bad_alloc();
  return block;
}

void pool_deallocate(void* block, size_t bytes) noexcept {
  ThreadHeap* heap = t_heap;
  if (!heap) [[unlikely]] {
    Central& central = Central::get();
    if (central.system) return ::operator delete(block, std::align_val_t(kAlignment));
    heap = &my_heap(central);
  }
  int index = class_of(bytes);
  keep(*heap, block, index);
  if (heap->lists[index].count > kListLimits.of[index]) [[unlikely]]
    shorten(*heap, index);
}

}  // namespace detail

namespace cpu {

MemoryStats memory_stats() {
  detail::Central& central = detail::Central::get();
  std::lock_guard lock(central.mutex);
  MemoryStats stats{};
  int64_t folded = central.live.load(std::memory_order_relaxed);
  stats.live_bytes = folded;
  stats.live_blocks = central.blocks.load(std::memory_order_relaxed);
  stats.peak_bytes = central.peak.load(std::memory_order_relaxed);
  for (auto* heap = central.heaps; heap; heap = heap->next) {
    stats.live_bytes += heap->bytes.load(std::memory_order_relaxed);
    stats.live_blocks += heap->blocks.load(std::memory_order_relaxed);
    stats.peak_bytes = std::max(stats.peak_bytes, folded + heap->high_bytes.load(std::memory_order_relaxed));
  }
  stats.peak_bytes = std::max(stats.peak_bytes, stats.live_bytes);
  stats.reserved_bytes = central.system ? stats.live_bytes : int64_t(central.reserved());
  stats.cached_bytes = stats.reserved_bytes - stats.live_bytes;
  size_t limit = central.limit.load(std::memory_order_relaxed);
  stats.limit_bytes = limit == SIZE_MAX ? 0 : int64_t(limit);
  return stats;
}

void reset_peak_memory_stats() {
  detail::Central& central = detail::Central::get();
  std::lock_guard lock(central.mutex);
  int64_t live = central.live.load(std::memory_order_relaxed);
  for (auto* heap = central.heaps; heap; heap = heap->next) {
    int64_t bytes = heap->bytes.load(std::memory_order_relaxed);
    heap->high_bytes.store(bytes, std::memory_order_relaxed);
    live += bytes;
  }
  central.peak.store(live, std::memory_order_relaxed);
}

void empty_cache() {
  detail::Central& central = detail::Central::get();
  if (central.system) return;
  detail::ThreadHeap& heap = detail::my_heap(central);
  std::lock_guard lock(central.mutex);
  ++central.flush_epoch;
  central.give_back_everything(heap);
}

void set_memory_limit(int64_t bytes) {
  check(bytes >= 0, "set_memory_limit: must be 0 (none) or more, got ", bytes);
  detail::Central::get().limit.store(bytes == 0 ? SIZE_MAX : size_t(bytes), std::memory_order_relaxed);
}

}  // namespace cpu
}  // namespace tarn::inline v1
