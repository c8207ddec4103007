#include <tarn/core/emu/memory.h>

#include <sys/mman.h>

#include <cstring>
#include <new>

#include <tarn/core/emu/block.h>
#include <tarn/core/emu/config.h>
#include <tarn/core/emu/report.h>

extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(void const volatile* p, size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* p, size_t bytes);
}

namespace tarn::inline v1::emu {

namespace {

constexpr size_t kPage = 4096, kAlign = 256;
// Larger allocations are not filled, so that tests with 2^32 elements need no memory.
constexpr size_t kFillLimit = size_t(256) << 20;

struct Device {
  uintptr_t top;
  size_t in_use = 0;
};

struct Memory {
  Device devices[kDevices];
  std::map<uintptr_t, Allocation> allocations;
  std::map<uintptr_t, Pinned> pinned;
  int next_id = 0;
};

void* reserve(uintptr_t at, size_t bytes, int protection) {
  void* p = mmap(reinterpret_cast<void*>(at), bytes, protection,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != reinterpret_cast<void*>(at)) throw std::bad_alloc();
  return p;
}

Memory* make_memory() {
  auto* memory = new Memory;
  for (int i = 0; i < kDevices; ++i) {
    memory->devices[i].top = kDeviceBase + i * kDeviceBytes + (64 << 10);
    reserve(kDeviceBase + i * kDeviceBytes, kDeviceBytes, PROT_NONE);
  }
  return memory;
}

Memory& memory() {
  static Memory* instance = make_memory();
  return *instance;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void* page_of(uintptr_t p) { return reinterpret_cast<void*>(p / kPage * kPage); }
size_t pages_of(const Region& r) { return round_up(r.begin % kPage + r.bytes, kPage); }

}  // namespace

char* shared_window(int worker) {
  static char* base = static_cast<char*>(reserve(kSharedBase, kSharedBytes, PROT_READ | PROT_WRITE));
  return base + worker * kSharedWindow;
}

int device_of(uintptr_t p) {
  size_t at = p - kDeviceBase;
  return at < kDevices * kDeviceBytes ? int(at / kDeviceBytes) : -1;
}

bool is_device_address(uintptr_t p) { return device_of(p) >= 0 || in_shared_window(p); }

Region* Allocation::region(uintptr_t p) {
  if (blocks.empty()) return &whole;
  auto after = blocks.upper_bound(p);
  return after == blocks.begin() ? nullptr : &std::prev(after)->second;
}

// An allocation ends at the end of a page as nearly as its alignment lets it, so that what runs over it
// faults.
Allocation* allocate(int device, size_t bytes) {
  Device& d = memory().devices[device];
  size_t pages = round_up(std::max<size_t>(bytes, 1), kPage);
  if (d.in_use + pages > config().memory) return nullptr;
  uintptr_t limit = kDeviceBase + (device + 1) * kDeviceBytes;
  if (d.top + pages + 2 * kPage > limit) return nullptr;
  uintptr_t begin = d.top + pages - round_up(std::max<size_t>(bytes, 1), kAlign);
  void* first = reinterpret_cast<void*>(d.top);
  if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  if (bytes < kFillLimit) std::memset(reinterpret_cast<void*>(begin), 0xff, bytes);
  if (__asan_poison_memory_region && bytes < kFillLimit) {
    __asan_poison_memory_region(first, pages);
    __asan_unpoison_memory_region(reinterpret_cast<void*>(begin), bytes);
  }
  Allocation& a = memory().allocations[begin];
  a.whole.begin = begin;
  a.whole.bytes = bytes;
  a.id = memory().next_id++;
  a.device = device;
  d.top += pages + 16 * kPage;
  d.in_use += pages;
  return &a;
}

void close_allocation(Allocation& a) {
  size_t pages = pages_of(a.whole);
  if (__asan_unpoison_memory_region && a.whole.bytes < kFillLimit)
    __asan_unpoison_memory_region(page_of(a.whole.begin), pages);
  madvise(page_of(a.whole.begin), pages, MADV_DONTNEED);
  mprotect(page_of(a.whole.begin), pages, PROT_NONE);
  checks_forget(a.whole.begin, a.whole.bytes);
  memory().devices[a.device].in_use -= pages;
}

Allocation* find_allocation(uintptr_t p) {
  if (device_of(p) < 0) return nullptr;
  auto& all = memory().allocations;
  auto after = all.upper_bound(p);
  if (after == all.begin()) return nullptr;
  Allocation& a = std::prev(after)->second;
  return a.device == device_of(p) ? &a : nullptr;
}

size_t bytes_in_use(int device) { return memory().devices[device].in_use; }

static std::string describe_region(const Region& r, const std::string& name, uintptr_t p) {
  size_t past = p - r.begin;
  std::string text =
      past < r.bytes ? format("byte %zu of ", past) : format("%zu bytes past the end of ", past - r.bytes);
  text += (r.live ? "" : "freed ") + name + format(" (%zu bytes)", r.bytes);
  return r.live ? text : text + ", freed by " + r.ended_by;
}

std::string describe(uintptr_t p) {
  if (in_shared_window(p)) return describe_shared(p);
  Allocation* a = find_allocation(p);
  if (!a) return format("%#lx, which belongs to no allocation", p);
  std::string name = format("allocation #%d of cuda:%d", a->id, a->device);
  Region* region = a->whole.live ? a->region(p) : &a->whole;
  if (!region) return format("byte %zu of ", size_t(p - a->whole.begin)) + name + ", before its first block";
  if (region != &a->whole)
    name = format("block at byte %zu of ", size_t(region->begin - a->whole.begin)) + name;
  return describe_region(*region, name, p);
}

void open_memory(bool open) {
  for (auto& [begin, a] : memory().allocations)
    if (a.whole.live) mprotect(page_of(begin), pages_of(a.whole), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

const Pinned* find_pinned(uintptr_t p) {
  auto& all = memory().pinned;
  auto after = all.upper_bound(p);
  if (after == all.begin()) return nullptr;
  const Pinned& range = std::prev(after)->second;
  return p - range.begin <= range.bytes ? &range : nullptr;
}

void add_pinned(const Pinned& range) { memory().pinned[range.begin] = range; }
void remove_pinned(uintptr_t begin) { memory().pinned.erase(begin); }

}  // namespace tarn::inline v1::emu
