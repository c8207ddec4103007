#include <tarn/core/emu/block.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include <tarn/core/emu/config.h>
#include <tarn/core/emu/fiber.h>
#include <tarn/core/emu/helper.h>
#include <tarn/core/emu/memory.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/segfault.h>

namespace tarn::inline v1::emu {

thread_local Thread* current;
thread_local Block block;
bool checking = false;

namespace {

enum State : uint8_t { kReady, kAtBarrier, kInWarpOperation, kDone };

// What a lane leaves when it arrives at a warp operation.
struct Slot {
  Collective kind;
  uint32_t mask;
  int source, line;
  uint64_t value, result;
};

struct Warp {
  uint32_t arrived = 0, exited = 0;
  Slot slots[32];
};

struct SharedArray {
  const void* key;
  size_t begin, bytes;
};

// The state of one OS thread that runs blocks.
struct Worker {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<uint32_t> ready;  // from ready_head on
  size_t ready_head = 0;
  std::vector<Fiber*> free_fibers;
  Fiber main;
  Fiber* running = nullptr;  // the fiber that runs, &main outside of kernels
  uint32_t at_barrier = 0, done = 0, votes = 0;
  uint64_t random = 0, switches = 0;
  const Launch* launch = nullptr;
  const char* arguments = nullptr;
  bool failed = false;
  std::vector<SharedArray> shared;
  size_t shared_top = 0;
  char* window = nullptr;  // this worker's shared memory
};

thread_local Worker* self __attribute__((tls_model("initial-exec")));

Worker* workers() {
  static Worker* all = new Worker[2];
  return all;
}
std::atomic<bool> any_failed;
Failure first_failure;  // written once, by who sets any_failed
uint64_t switch_count = 0, launch_count = 0;

bool can_run(const Worker& w) { return w.ready_head < w.ready.size(); }

uint64_t next_random(uint64_t& state) {  // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

uint32_t pick(Worker& w) {
  uint64_t order = config().order;
  if (order == 1) {
    uint32_t last = w.ready.back();
    w.ready.pop_back();
    return last;
  }
  if (order > 1) {
    size_t left = w.ready.size() - w.ready_head;
    std::swap(w.ready[w.ready_head], w.ready[w.ready_head + next_random(w.random) % left]);
  }
  return w.ready[w.ready_head++];
}

void wake(Worker& w, uint32_t linear) {
  if (w.ready_head == w.ready.size()) {
    w.ready.clear();
    w.ready_head = 0;
  }
  w.threads[linear].state = kReady;
  w.ready.push_back(linear);
}

void switch_to(Worker& w, Fiber* to, bool for_good = false) {
  Fiber* from = w.running;
  ++w.switches;
  w.running = to;
  switch_fiber(*from, *to, for_good);
}

void fiber_entry();

Fiber* take_fiber(Worker& w) {
  if (w.free_fibers.empty()) w.free_fibers.push_back(new_fiber());
  Fiber* fiber = w.free_fibers.back();
  w.free_fibers.pop_back();
  prepare(*fiber, fiber_entry);
  return fiber;
}

// Runs threads on this stack until one that already has a stack is next, or none.
void fiber_entry() {
  arrived(self->main.stack ? nullptr : &self->main);
  for (;;) {
    Worker& w = *self;
    w.launch->invoke(w.launch->kernel, w.arguments);
    Thread& thread = *current;
    thread.state = kDone;
    ++w.done;
    w.warps[thread.linear >> 5].exited |= 1u << (thread.linear & 31);
    Fiber* mine = w.running;
    Thread* next = can_run(w) ? &w.threads[pick(w)] : nullptr;
    if (next && !next->fiber) {
      next->fiber = mine;
      current = next;
      continue;
    }
    w.free_fibers.push_back(mine);
    current = next;
    switch_to(w, next ? next->fiber : &w.main, true);
  }
}

// The current thread waits: something else runs until it is woken and picked.
void run_others(Worker& w) {
  if (!can_run(w)) {
    switch_to(w, &w.main);
    return;
  }
  Thread* waiting = current;
  Thread& next = w.threads[pick(w)];
  if (&next == waiting) return;
  if (!next.fiber) next.fiber = take_fiber(w);
  current = &next;
  switch_to(w, next.fiber);
}

std::string place(const Thread& thread) {
  const char* file = thread.file ? thread.file : "?";
  const char* slash = std::strrchr(file, '/');
  return format("%s at %s:%d", thread_name(thread.linear).c_str(), slash ? slash + 1 : file, thread.line);
}

void record(Worker& w, cudaError_t code, const std::string& text) {
  w.failed = true;
  if (any_failed.exchange(true)) return;
  first_failure.code = code;
  first_failure.text = text + format(" [kernel %s, block (%u,%u,%u)]", kernel_name(w.launch->kernel).c_str(),
                                     block.index.x, block.index.y, block.index.z);
}

const char* name_of(Collective kind) {
  switch (kind) {
    case Collective::Sync:
      return "__syncwarp";
    case Collective::Shuffle:
      return "__shfl_sync";
    case Collective::Ballot:
      return "a warp vote";
    default:
      return "a warp instruction";
  }
}

// Nothing can run, and not all threads are done.
void report_divergence(Worker& w) {
  uint32_t counts[4] = {};
  const Thread* first[4] = {};
  for (const Thread& thread : w.threads) {
    if (counts[thread.state]++ == 0) first[thread.state] = &thread;
  }
  std::string text = "barrier divergence:";
  if (counts[kAtBarrier])
    text += format(" %u threads wait in __syncthreads, the first is %s;", counts[kAtBarrier],
                   place(*first[kAtBarrier]).c_str());
  if (counts[kInWarpOperation])
    text += format(" %u wait in a warp operation, the first is %s;", counts[kInWarpOperation],
                   place(*first[kInWarpOperation]).c_str());
  if (counts[kDone])
    text +=
        format(" %u have exited, the first is %s;", counts[kDone], thread_name(first[kDone]->linear).c_str());
  text.pop_back();
  record(w, cudaErrorLaunchFailure, text);
}

void number_threads(Worker& w, dim3 size) {
  uint32_t linear = 0;
  w.threads.resize(size_t(size.x) * size.y * size.z);
  for (uint32_t z = 0; z < size.z; ++z)
    for (uint32_t y = 0; y < size.y; ++y)
      for (uint32_t x = 0; x < size.x; ++x, ++linear) {
        w.threads[linear].index = {x, y, z};
        w.threads[linear].linear = linear;
      }
}

void run_block(Worker& w, uint64_t index) {
  const dim3 grid = w.launch->grid;
  block.index = {uint32_t(index % grid.x), uint32_t(index / grid.x % grid.y),
                 uint32_t(index / grid.x / grid.y)};
  uint32_t count = uint32_t(w.threads.size());
  for (Thread& thread : w.threads) thread.fiber = nullptr, thread.state = kReady;
  for (Warp& warp : w.warps) warp.arrived = warp.exited = 0;
  if (count % 32) w.warps.back().exited = ~0u << (count % 32);
  w.ready.resize(count);
  std::iota(w.ready.begin(), w.ready.end(), 0);
  w.ready_head = w.at_barrier = w.done = w.votes = 0;
  w.random = (index + 1) * 0x9e3779b97f4a7c15u ^ config().order << 20;
  w.shared.clear();
  w.shared_top = 0;
  w.failed = false;
  checks_begin_block();

  Thread& first = w.threads[pick(w)];
  first.fiber = take_fiber(w);
  current = &first;
  switch_to(w, first.fiber);
  current = nullptr;
  if (!w.failed && w.done < count) report_divergence(w);
  if (!w.failed) return;
  for (Thread& thread :
       w.threads)  // abandoned stacks are free again; a fiber may have served a thread that is done
    if (thread.fiber && thread.state != kDone) w.free_fibers.push_back(thread.fiber);
}

// Blocks of the launch from a common counter, on this OS thread.
void run_blocks(Worker& w, const Launch& launch, const char* arguments, std::atomic<uint64_t>& next) {
  self = &w;
  w.launch = &launch;
  w.arguments = arguments;
  w.main = {};
  w.running = &w.main;
  block.size = launch.block;
  block.grid = launch.grid;
  number_threads(w, launch.block);
  w.warps.resize((w.threads.size() + 31) / 32);
  if (!w.window) w.window = shared_window(int(&w - workers()));
  uint64_t count = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  const Config& c = config();
  uint64_t last = count - std::min(count, c.only_last);
  uint64_t rotate = c.order > 1 ? c.order * 2654435761u : 0;
  for (uint64_t i; !any_failed && (i = next++) < count;) {
    if (i < c.only_first || i >= last) run_block(w, (i + rotate) % count);
  }
  self = nullptr;
}

}  // namespace

Failure run_grid(const Launch& launch, const char* arguments) {
  any_failed = false;
  first_failure = {};
  ++launch_count;
  checks_begin_launch();
  std::atomic<uint64_t> next{0};
  bool two =
      config().threads > 1 && !checking && (launch.grid.x > 1 || launch.grid.y > 1 || launch.grid.z > 1);
  FaultGuard guard;
  if (two) helper().start([&] { run_blocks(workers()[1], launch, arguments, next); });
  run_blocks(workers()[0], launch, arguments, next);
  if (two) helper().wait();
  for (int i = 0; i < 2; ++i) switch_count += std::exchange(workers()[i].switches, 0);
  return first_failure;
}

void record_failure(cudaError_t code, const std::string& text) { record(*self, code, text); }

void leave_kernel() {
  Worker& w = *self;
  switch_to(w, &w.main, true);
  __builtin_unreachable();
}

int barrier(int predicate, const char* file, int line) {
  Worker& w = *self;
  Thread& thread = *current;
  thread.file = file;
  thread.line = line;
  thread.state = kAtBarrier;
  w.votes += predicate != 0;
  if (++w.at_barrier < w.threads.size()) {
    run_others(w);
    return thread.result;
  }
  for (const Thread& other : w.threads)
    if (other.line != line || other.file != file)
      fail_kernel(cudaErrorLaunchFailure, [&] {
        return "barrier divergence: the threads of a block meet at different barriers: " + place(thread) +
               ", " + place(other);
      });
  checks_block_barrier();
  int votes = int(w.votes);
  w.at_barrier = w.votes = 0;
  thread.state = kReady;
  bool stay = config().order == 0;
  for (Thread& other : w.threads) {
    other.result = votes;
    if (!stay || &other != &thread) wake(w, other.linear);
  }
  if (!stay) run_others(w);
  return votes;
}

static void check_lane(const Warp& warp, Collective kind, uint32_t mask, uint32_t lane) {
  if (!(mask >> lane & 1))
    fail_kernel(cudaErrorLaunchFailure, [&] {
      return format("%s: mask %#x leaves out the calling lane %u, %s", name_of(kind), mask, lane,
                    place(*current).c_str());
    });
  if (uint32_t gone = mask & warp.exited)
    fail_kernel(cudaErrorLaunchFailure, [&] {
      return format("%s: mask %#x names lanes %#x, which have exited or do not exist, %s", name_of(kind),
                    mask, gone, place(*current).c_str());
    });
}

// Every lane of the mask must have come to the same operation with the same mask.
static void check_slots(Worker& w, const Warp& warp, const Slot& mine, uint32_t lane) {
  for (uint32_t i = 0; i < 32; ++i) {
    if (!(mine.mask >> i & 1)) continue;
    const Slot& slot = warp.slots[i];
    const Thread& thread = w.threads[(current->linear & ~31u) + i];
    if (slot.mask != mine.mask || slot.kind != mine.kind || slot.line != mine.line)
      fail_kernel(cudaErrorLaunchFailure, [&] {
        return format(
            "lanes of a warp meet in different operations: lane %u in %s with mask %#x, %s; lane %u in %s "
            "with mask %#x, %s",
            lane, name_of(mine.kind), mine.mask, place(*current).c_str(), i, name_of(slot.kind), slot.mask,
            place(thread).c_str());
      });
    if (slot.kind == Collective::Shuffle && !(mine.mask >> slot.source & 1))
      fail_kernel(cudaErrorLaunchFailure, [&] {
        return format("__shfl_sync: lane %u reads lane %d, which mask %#x leaves out, %s", i, slot.source,
                      mine.mask, place(thread).c_str());
      });
  }
}

static void compute(Warp& warp, Collective kind, uint32_t mask, void (*call)(uint64_t*)) {
  uint64_t ballot = 0, values[32];
  for (uint32_t i = 0; i < 32; ++i) {
    values[i] = warp.slots[i].value;
    if (mask >> i & 1) ballot |= (values[i] & 1) << i;
  }
  if (kind == Collective::Call) call(values);
  for (uint32_t i = 0; i < 32; ++i) {
    Slot& slot = warp.slots[i];
    if (mask >> i & 1) slot.result = kind == Collective::Shuffle ? values[slot.source] : ballot;
  }
}

uint64_t collective(Collective kind, uint32_t mask, uint64_t value, int source, const char* file, int line,
                    void (*call)(uint64_t*)) {
  Worker& w = *self;
  Thread& thread = *current;
  uint32_t lane = thread.linear & 31, first = thread.linear & ~31u;
  Warp& warp = w.warps[first >> 5];
  thread.file = file;
  thread.line = line;
  check_lane(warp, kind, mask, lane);
  warp.slots[lane] = {kind, mask, source & 31, line, value, 0};
  warp.arrived |= 1u << lane;
  if (mask & ~warp.arrived) {
    thread.state = kInWarpOperation;
    run_others(w);
    return warp.slots[lane].result;
  }
  check_slots(w, warp, warp.slots[lane], lane);
  compute(warp, kind, mask, call);
  warp.arrived &= ~mask;
  if (kind == Collective::Sync) checks_warp_barrier(first >> 5, mask);  // shuffles order no memory
  bool stay = config().order == 0;
  for (uint32_t i = 0; i < 32; ++i)
    if ((mask >> i & 1) && (!stay || i != lane)) wake(w, first + i);
  if (!stay) run_others(w);
  return warp.slots[lane].result;
}

// --- shared memory: arrays appear at their first use in a block, filled with NaN, 64 bytes apart ---

void* static_shared(const void* key, size_t bytes, size_t align) {
  Worker& w = *self;
  for (const SharedArray& array : w.shared)
    if (array.key == key) return w.window + array.begin;
  size_t begin = (w.shared_top + align - 1) / align * align;
  size_t static_bytes = key ? bytes : 0;
  for (const SharedArray& array : w.shared) static_bytes += array.key ? array.bytes : 0;
  if (static_bytes > (48u << 10))
    fail_kernel(cudaErrorInvalidConfiguration,
                [&] { return format("%zu bytes of static shared memory exceed 48 KiB", static_bytes); });
  w.shared.push_back({key, begin, bytes});
  w.shared_top = (begin + bytes + 127) / 64 * 64;
  std::memset(w.window + begin, 0xff, bytes);
  return w.window + begin;
}

void* dynamic_shared() { return static_shared(nullptr, self->launch->smem, 16); }

bool in_shared_window(uintptr_t p) { return p - kSharedBase < kSharedBytes; }

bool in_shared_array(uintptr_t p, size_t bytes) {
  size_t at = p - reinterpret_cast<uintptr_t>(self->window);
  for (const SharedArray& array : self->shared)
    if (at >= array.begin && at + bytes <= array.begin + array.bytes) return true;
  return false;
}

std::string describe_shared(uintptr_t p) {
  size_t at = p - reinterpret_cast<uintptr_t>(self->window);
  const SharedArray* nearest = nullptr;
  for (const SharedArray& array : self->shared)
    if (at + 64 > array.begin && (!nearest || array.begin <= at)) nearest = &array;
  if (!nearest) return "shared memory";
  return format("%s shared memory of %zu bytes %+ld", nearest->key ? "static" : "dynamic", nearest->bytes,
                long(at) - long(nearest->begin));
}

uint64_t switches() { return switch_count; }
uint64_t launches() { return launch_count; }

}  // namespace tarn::inline v1::emu
