#include <tarn/core/cuda/memory.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include <tarn/core/cuda/library.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

constexpr size_t kAlign = 512;
constexpr size_t kSmall = size_t(1) << 20;  // requests up to here share segments of 2 MiB,
constexpr size_t kSmallSegment = size_t(2) << 20;
constexpr size_t kMedium = size_t(10) << 20;  // up to here of 20 MiB; larger ones have their own
constexpr size_t kMediumSegment = size_t(20) << 20;

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

bool uses_system_allocator() {
  static const bool on = [] {
    const char* value = std::getenv("TARN_ALLOC");
    return value && std::strcmp(value, "system") == 0;
  }();
  return on;
}

// A piece of a segment; pieces of a segment are linked in the order of their addresses.
struct Piece {
  char* start;
  size_t bytes;
  void* stream;
  bool small;
  bool free = false;
  size_t asked = 0;
  Piece *before = nullptr, *after = nullptr;
};

struct BySize {
  bool operator()(const Piece* a, const Piece* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->bytes != b->bytes) return a->bytes < b->bytes;
    return a->start < b->start;
  }
};

class DeviceCache {
 public:
  void* allocate(size_t bytes, void* stream) {
    std::lock_guard lock(mutex_);
    Piece* piece =
        uses_system_allocator() ? own_segment(bytes, stream) : find_piece(round_up(bytes, kAlign), stream);
    piece->asked = bytes;
    live_.emplace(piece->start, piece);
    stats_.live_bytes += int64_t(bytes);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    ++stats_.live_blocks;
    if (!uses_system_allocator()) cuda_table().block_taken(piece->start, bytes, stream);
    return piece->start;
  }

  void deallocate(void* block) {
    std::lock_guard lock(mutex_);
    auto found = live_.find(block);
    if (found == live_.end()) return;
    Piece* piece = found->second;
    live_.erase(found);
    stats_.live_bytes -= int64_t(piece->asked);
    --stats_.live_blocks;
    if (uses_system_allocator()) return drop(piece);
    cuda_table().block_returned(piece->start, piece->stream);
    piece->free = true;
    if (piece->before && piece->before->free) piece = join(piece->before, piece);
    if (piece->after && piece->after->free) join(piece, piece->after);
    free_of(piece->small).insert(piece);
  }

  void empty() {
    std::lock_guard lock(mutex_);
    release_free();
  }

  cuda::MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.live_bytes;
  }

 private:
  using Free = std::set<Piece*, BySize>;
  Free& free_of(bool small) { return free_[small]; }

  Piece* find_piece(size_t bytes, void* stream) {
    bool small = bytes <= kSmall;
    Piece key{nullptr, bytes, stream, small};
    auto found = free_of(small).lower_bound(&key);
    // A large piece is not worth cutting up for a much smaller request.
    bool fits = found != free_of(small).end() && (*found)->stream == stream &&
                (bytes <= kMedium || (*found)->bytes < 2 * bytes);
    Piece* piece = fits ? *found : nullptr;
    if (piece) {
      free_of(small).erase(found);
      piece->free = false;
    } else {
      size_t segment = small              ? kSmallSegment
                       : bytes <= kMedium ? kMediumSegment
                                          : round_up(bytes, kSmallSegment);
      piece = own_segment(segment, stream);
      piece->small = small;
    }
    size_t rest = piece->bytes - bytes;
    if (rest >= (small ? kAlign : kSmall)) split(piece, bytes);
    return piece;
  }

  void split(Piece* piece, size_t bytes) {
    Piece* rest = new Piece{piece->start + bytes, piece->bytes - bytes, piece->stream, piece->small, true};
    rest->before = piece;
    rest->after = piece->after;
    if (rest->after) rest->after->before = rest;
    piece->after = rest;
    piece->bytes = bytes;
    free_of(rest->small).insert(rest);
  }

  // Two neighbours, of which those that are in a free list leave it.
  Piece* join(Piece* a, Piece* b) {
    free_of(a->small).erase(a);
    free_of(b->small).erase(b);
    a->bytes += b->bytes;
    a->after = b->after;
    if (a->after) a->after->before = a;
    delete b;
    return a;
  }

  Piece* own_segment(size_t bytes, void* stream) {
    void* start = nullptr;
    if (cuda_table().allocate(&start, bytes) != 0) {
      release_free();
      int status = cuda_table().allocate(&start, bytes);
      if (status != 0) out_of_memory(bytes, status);
    }
    stats_.reserved_bytes += int64_t(bytes);
    return new Piece{static_cast<char*>(start), bytes, stream, false};
  }

  [[noreturn]] void out_of_memory(size_t bytes, int status) {
    size_t free = 0, total = 0;
    cuda_table().memory_info(&free, &total);
    fail("cuda: out of memory: ", bytes, " bytes were asked for, the device has ", free, " of ", total,
         " free, ", stats_.live_bytes, " are in tensors: ", cuda_table().error_text(status));
  }

  void drop(Piece* piece) {
    // The runtime's free waits for the device; an error here has nobody to go to.
    cuda_table().deallocate(piece->start);
    stats_.reserved_bytes -= int64_t(piece->bytes);
    delete piece;
  }

  void release_free() {
    for (Free& pieces : free_) {
      for (auto it = pieces.begin(); it != pieces.end();) {
        Piece* piece = *it;
        bool whole = !piece->before && !piece->after;
        it = whole ? pieces.erase(it) : std::next(it);
        if (whole) drop(piece);
      }
    }
  }

  std::mutex mutex_;
  Free free_[2];
  std::unordered_map<void*, Piece*> live_;
  cuda::MemoryStats stats_{};
};

DeviceCache& cache_of(DeviceIndex device) {
  static auto* caches = new DeviceCache[128];
  return caches[device];
}

// --- pinned memory ---

struct PinnedBlock {
  size_t bytes;
  std::vector<void*> events;  // copies that may still be under way
};

class PinnedCache {
 public:
  void* allocate(size_t bytes) {
    std::lock_guard lock(mutex_);
    bytes = round_up(bytes, 4096);
    auto [first, last] = free_.equal_range(bytes);
    for (auto it = first; it != last; ++it) {
      if (!is_idle(blocks_[it->second])) continue;
      void* block = it->second;
      free_.erase(it);
      return block;
    }
    void* block = nullptr;
    check_cuda("pin_memory", cuda_table().allocate_pinned(&block, bytes));
    blocks_[block] = {bytes, {}};
    return block;
  }

  void deallocate(void* block) {
    std::lock_guard lock(mutex_);
    auto found = blocks_.find(block);
    if (found != blocks_.end()) free_.emplace(found->second.bytes, block);
  }

  void note_use(void* block, void* stream) {
    std::lock_guard lock(mutex_);
    auto found = blocks_.find(block);
    if (found == blocks_.end()) return;
    void* event = nullptr;
    check_cuda("copy", cuda_table().create_event(&event, false));
    check_cuda("copy", cuda_table().record_event(event, stream));
    found->second.events.push_back(event);
  }

  void empty() {
    std::lock_guard lock(mutex_);
    for (auto it = free_.begin(); it != free_.end();) {
      void* block = it->second;
      bool idle = is_idle(blocks_[block]);
      it = idle ? free_.erase(it) : std::next(it);
      if (!idle) continue;
      blocks_.erase(block);
      cuda_table().deallocate_pinned(block);
    }
  }

 private:
  static bool is_idle(PinnedBlock& block) {
    while (!block.events.empty()) {
      bool done = false;
      check_cuda("copy", cuda_table().query_event(block.events.back(), &done));
      if (!done) return false;
      cuda_table().destroy_event(block.events.back());
      block.events.pop_back();
    }
    return true;
  }

  std::mutex mutex_;
  std::multimap<size_t, void*> free_;
  std::unordered_map<void*, PinnedBlock> blocks_;
};

PinnedCache& pinned_cache() {
  static auto* cache = new PinnedCache;
  return *cache;
}

}  // namespace

void* allocate_cuda(size_t bytes, DeviceIndex device) {
  if (bytes == 0) return nullptr;
  cuda::DeviceGuard guard(device);
  return cache_of(device).allocate(bytes, current_cuda_stream());
}

void deallocate_cuda(void* block, DeviceIndex device) noexcept {
  if (block) cache_of(device).deallocate(block);
}

void* allocate_pinned(size_t bytes) { return pinned_cache().allocate(bytes); }
void deallocate_pinned(void* block) noexcept { pinned_cache().deallocate(block); }
void note_pinned_use(void* block, void* stream) { pinned_cache().note_use(block, stream); }

}  // namespace detail

namespace cuda {

using detail::cache_of;
using detail::resolve_device;

MemoryStats memory_stats(DeviceIndex device) {
  return cache_of(resolve_device("memory_stats", {kCUDA, device}).index()).stats();
}

void reset_peak_memory_stats(DeviceIndex device) {
  cache_of(resolve_device("reset_peak_memory_stats", {kCUDA, device}).index()).reset_peak();
}

void empty_cache() {
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    DeviceGuard guard(device);
    cache_of(device).empty();
  }
  if (is_available()) detail::pinned_cache().empty();
}

}  // namespace cuda

}  // namespace tarn::inline v1
