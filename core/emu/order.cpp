#include <tarn/core/emu/order.h>

#include <algorithm>

#include <tarn/core/emu/blocks.h>
#include <tarn/core/emu/report.h>

namespace tarn::inline v1::emu {

uint64_t& at(Clock& clock, int stream) {
  if (clock.size() <= size_t(stream)) clock.resize(stream + 1);
  return clock[stream];
}

void merge(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

bool before(const Access& access, const Clock& clock) {
  return access.stream < 0 ||
         (size_t(access.stream) < clock.size() && clock[access.stream] >= access.sequence);
}

const Access* unordered_use(const Region& region, const Clock& clock) {
  if (!before(region.write, clock)) return &region.write;
  for (const Access& read : region.reads)
    if (!before(read, clock)) return &read;
  return nullptr;
}

static std::string without_stream(const Access& access) {
  return format("argument %d of ", access.argument) +
         (access.kernel ? kernel_name(access.kernel) : access.name);
}

std::string describe(const Access& access) {
  return without_stream(access) + " on " + name_of(*stream_of(access.stream));
}

namespace {

struct Noting {
  CUstream_st& stream;
  const Operation& operation;

  Access access(const Use& use) const {
    return {stream.id, stream.submitted, operation.name, operation.kernel, use.argument};
  }
  std::string who(const Use& use) const { return without_stream(access(use)); }

  Failure fail(const std::string& text) const { return {cudaErrorIllegalAddress, text}; }

  Failure note(const Use& use) const {
    uintptr_t p = reinterpret_cast<uintptr_t>(use.pointer);
    if (!p) return {};
    Allocation* allocation = find_allocation(p);
    Region* region = !allocation               ? nullptr
                     : !allocation->whole.live ? &allocation->whole
                                               : allocation->region(p);
    bool inside = region && p - region->begin <= region->bytes;
    if (!inside) return use.typed ? stray(use, p) : Failure{};
    if (p == region->begin + region->bytes && use.bytes == 0)
      return {};  // the end of one, or an empty tensor
    if (!region->live)
      return fail("use after free: " + who(use) + " points to " + describe(p) + "; the call is on " +
                  name_of(stream));
    if (use.bytes && !region->holds(p, use.bytes))
      return fail(who(use) + format(": %zu bytes from ", use.bytes) + describe(p) + " reach past its end");
    if (Failure failure = check_device(use, *allocation)) return failure;
    return check_order(use, *region);
  }

  // A typed pointer to no device memory. Pinned memory may be used from the device.
  Failure stray(const Use& use, uintptr_t p) const {
    if (device_of(p) >= 0) return fail(who(use) + " points to " + describe(p));
    const Pinned* pinned = find_pinned(p);
    if (!pinned)
      return fail(who(use) + format(" is the host pointer %#lx; the kernel needs device memory", p));
    if (use.bytes && p + use.bytes > pinned->begin + pinned->bytes)
      return fail(who(use) + format(": %zu bytes reach past the end of pinned memory of %zu bytes", use.bytes,
                                    pinned->bytes));
    return {};
  }

  Failure check_device(const Use& use, const Allocation& allocation) const {
    if (allocation.device == stream.device || peer_access(stream.device, allocation.device)) return {};
    if (std::string_view(operation.name).starts_with("cudaMemcpy"))
      return {};  // copies may cross without peer access
    return fail(who(use) + format(" is memory of cuda:%d, used on cuda:%d without peer access",
                                  allocation.device, stream.device));
  }

  Failure check_order(const Use& use, Region& region) const {
    const Access* other = use.write                            ? unordered_use(region, stream.clock)
                          : before(region.write, stream.clock) ? nullptr
                                                               : &region.write;
    if (other)
      return fail("stream race on " + describe(region.begin) + ": " + who(use) + " on " + name_of(stream) +
                  " is not ordered after " + describe(*other) + "; record an event there and wait for it");
    Access mine = access(use);
    if (use.write) {
      region.write = mine;
      region.reads.clear();
      return {};
    }
    auto same = std::find_if(region.reads.begin(), region.reads.end(),
                             [&](const Access& read) { return read.stream == stream.id; });
    if (same == region.reads.end())
      region.reads.push_back(mine);
    else
      *same = mine;
    return {};
  }
};

}  // namespace

Failure note_uses(CUstream_st& stream, const Operation& operation) {
  Noting noting{stream, operation};
  for (const Use& use : operation.uses)
    if (Failure failure = noting.note(use)) return failure;
  return {};
}

Failure free_on(CUstream_st& stream, uintptr_t p, const char* call) {
  Allocation* a = find_allocation(p);
  if (!a || a->whole.begin != p)
    return {cudaErrorInvalidValue, std::string(call) + format(": %#lx is no allocation", p) +
                                       (a ? ", it is " + describe(p) : std::string())};
  if (!a->whole.live) return {cudaErrorInvalidValue, std::string(call) + ": freed twice: " + describe(p)};
  refresh_clock(stream);
  std::vector<const Region*> all{&a->whole};
  for (auto& [begin, block] : a->blocks) all.push_back(&block);
  for (const Region* region : all)
    if (const Access* use = unordered_use(*region, stream.clock))
      return {cudaErrorIllegalAddress, std::string(call) + " of " + describe(region->begin) + " on " +
                                           name_of(stream) + " is not ordered after " + describe(*use)};
  a->whole.live = false;
  a->whole.ended_by = std::string(call) + " on " + name_of(stream);
  a->blocks.clear();
  return submit(stream, {.name = call, .run = [a] {
                           close_allocation(*a);
                           return Failure{};
                         }});
}

}  // namespace tarn::inline v1::emu

using namespace tarn::emu;

// Records of blocks that came back make room for the new one.
static Failure take_block(uintptr_t p, size_t bytes, CUstream_st& stream) {
  Allocation* a = find_allocation(p);
  if (!a || !a->whole.live || !a->whole.holds(p, bytes))
    return {cudaErrorInvalidValue, format("tarn_emu_block_taken: %zu bytes at ", bytes) + describe(p) +
                                       " are not inside one live allocation"};
  refresh_clock(stream);
  auto& blocks = a->blocks;
  auto it = blocks.upper_bound(p);
  if (it != blocks.begin()) --it;
  while (it != blocks.end() && it->first < p + bytes) {
    const Region& old = it->second;
    if (old.begin + old.bytes <= p) {
      ++it;
      continue;
    }
    if (old.live)
      return {cudaErrorInvalidValue,
              "tarn_emu_block_taken: it overlaps " + describe(old.begin) + ", which is in use"};
    if (!before(old.returned, stream.clock))
      return {cudaErrorIllegalAddress, describe(old.begin) + " is handed out on " + name_of(stream) +
                                           ", which is not ordered after its return on " +
                                           name_of(*stream_of(old.returned.stream))};
    it = blocks.erase(it);
  }
  blocks[p] = {
      .begin = p, .bytes = bytes, .live = true, .ended_by = {}, .write = {}, .reads = {}, .returned = {}};
  void* memory = reinterpret_cast<void*>(p);
  Operation fill{.name = "the fill of a new block", .uses = {{memory, true, true, 0, bytes}}, .run = [=] {
                   std::memset(memory, 0xff, bytes);
                   checks_forget(p, bytes);
                   return Failure{};
                 }};
  return submit(stream, std::move(fill));
}

static Failure return_block(uintptr_t p, CUstream_st& stream) {
  Allocation* a = find_allocation(p);
  auto it = a ? a->blocks.find(p) : std::map<uintptr_t, Region>::iterator();
  if (!a || it == a->blocks.end())
    return {cudaErrorInvalidValue, "tarn_emu_block_returned: no block " + describe(p)};
  Region& block = it->second;
  if (!block.live) return {cudaErrorInvalidValue, "tarn_emu_block_returned: returned twice: " + describe(p)};
  refresh_clock(stream);
  if (const Access* use = unordered_use(block, stream.clock))
    return {cudaErrorIllegalAddress, "early free: " + describe(p) + " comes back on " + name_of(stream) +
                                         ", which is not ordered after " + describe(*use)};
  block.live = false;
  block.ended_by = "its allocator on " + name_of(stream);
  block.returned = {.stream = stream.id, .sequence = stream.submitted};
  return {};
}

// The legacy stream is that of the block's device: memory is given back wherever its last handle dies.
static CUstream_st* stream_for(void* p, cudaStream_t handle) {
  int device = device_of(reinterpret_cast<uintptr_t>(p));
  return handle || device < 0 ? find_stream(handle) : legacy_stream(device);
}

extern "C" void tarn_emu_block_taken(void* p, size_t bytes, cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = stream_for(p, handle);
  Failure failure = stream ? take_block(reinterpret_cast<uintptr_t>(p), bytes, *stream)
                           : Failure{cudaErrorInvalidResourceHandle, "tarn_emu_block_taken: no such stream"};
  if (failure) defer_error(failure);
}

extern "C" void tarn_emu_block_returned(void* p, cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  Failure failure = stream
                        ? return_block(reinterpret_cast<uintptr_t>(p), *stream)
                        : Failure{cudaErrorInvalidResourceHandle, "tarn_emu_block_returned: no such stream"};
  if (failure) defer_error(failure);
}
