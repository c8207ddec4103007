#include <tarn/core/emu/stream.h>

#include <algorithm>
#include <chrono>

#include <tarn/core/emu/config.h>
#include <tarn/core/emu/order.h>
#include <tarn/core/emu/report.h>

namespace tarn::inline v1::emu {

namespace {

struct State {
  std::recursive_mutex mutex;
  std::condition_variable_any changed;
  std::vector<CUstream_st*> streams;  // by id; handles are never freed, so that a late use can be told
  std::vector<CUevent_st*> events;
  Clock host;
  uint64_t random = 0;
  bool peers[kDevices][kDevices] = {};
};

State& state() {
  static auto* instance = [] {
    auto* s = new State;
    for (int i = 0; i < kDevices; ++i) s->streams.push_back(new CUstream_st{i, i, true});
    return s;
  }();
  return *instance;
}

thread_local int device = 0;
thread_local Failure last_error;
thread_local cudaError_t last_code = cudaSuccess;  // as last_error.code, but not cleared
Failure deferred;                                  // guarded by the lock

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_ready(const CUstream_st& stream) {
  if (stream.queue.empty()) return false;
  const Operation& next = stream.queue.front();
  for (const Position& position : next.after)
    if (!reached(position)) return false;
  return !next.ready || next.ready();
}

// Runs the first operation of the stream.
Failure run_next(CUstream_st& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  Failure failure;
  if (operation.run) {
    if (config().guard) open_memory(true);
    failure = operation.run();
    if (config().guard) open_memory(false);
  }
  ++stream.done;
  state().changed.notify_all();
  return failure;
}

// Everything that can run, `mine` first. The failure of its last operation is the caller's, others are
// deferred.
Failure run_all(CUstream_st& mine) {
  Failure result;
  uint64_t last = mine.submitted;
  for (bool any = true; any;) {
    any = false;
    while (is_ready(mine)) {
      Failure failure = run_next(mine);
      if (failure && mine.done == last)
        result = failure;
      else if (failure)
        defer_error(failure);
      any = true;
    }
    for (CUstream_st* other : state().streams)
      while (other != &mine && is_ready(*other)) {
        if (Failure failure = run_next(*other)) defer_error(failure);
        any = true;
      }
  }
  return result;
}

// One operation of any stream, in a seeded order.
bool step() {
  auto& streams = state().streams;
  uint64_t& random = state().random;
  if (!random) random = config().lazy * 0x9e3779b97f4a7c15u | 1;
  random ^= random << 13, random ^= random >> 7, random ^= random << 17;
  for (size_t i = 0; i < streams.size(); ++i) {
    CUstream_st& stream = *streams[(random + i) % streams.size()];
    if (!is_ready(stream)) continue;
    if (Failure failure = run_next(stream)) defer_error(failure);
    return true;
  }
  return false;
}

// The legacy stream waits for all blocking streams of its device, and they for it: calls f with each.
template <class F>
void for_legacy_order(CUstream_st& stream, F f) {
  auto ordered = [&](CUstream_st& on) {
    if (&on != &stream && on.blocking && on.device == stream.device && !on.capture) f(on);
  };
  if (!stream.blocking) return;
  if (stream.id != stream.device) return ordered(*legacy_stream(stream.device));
  for (CUstream_st* other : state().streams) ordered(*other);
}

std::string title(const Operation& operation) {
  return operation.kernel ? kernel_name(operation.kernel) : operation.name;
}

std::string waiting_list() {
  std::string text;
  for (const CUstream_st* stream : state().streams)
    if (!stream->queue.empty())
      text += (text.empty() ? "" : ", ") + title(stream->queue.front()) + " on " + name_of(*stream);
  return text.empty() ? "nothing is queued" : text;
}

}  // namespace

Lock lock_runtime() { return Lock(state().mutex); }

cudaError_t error(cudaError_t code, const std::string& text) {
  last_error = {code, text};
  return last_code = code;
}

cudaError_t error(const Failure& failure) { return failure ? error(failure.code, failure.text) : finish(); }

void defer_error(const Failure& failure) {
  if (!deferred) deferred = failure;
}

cudaError_t finish() {
  if (!deferred) return cudaSuccess;
  Failure failure = std::exchange(deferred, {});
  return error(failure.code, failure.text);
}

const Failure& last_failure() { return last_error; }
cudaError_t last_failure_code() { return last_code; }
void clear_last_failure() { last_error.code = cudaSuccess; }

int current_device() { return device; }
void set_current_device(int index) { device = index; }

CUstream_st* legacy_stream(int index) { return state().streams[index]; }

CUstream_st* stream_of(int id) { return state().streams[id]; }

CUstream_st* find_stream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy) return legacy_stream(device);
  auto& all = state().streams;
  return std::find(all.begin(), all.end(), handle) != all.end() && handle->alive ? handle : nullptr;
}

cudaStream_t new_stream(int index, bool blocking, unsigned flags, int priority) {
  auto& all = state().streams;
  all.push_back(new CUstream_st{int(all.size()), index, blocking});
  all.back()->flags = flags;
  all.back()->priority = priority;
  return all.back();
}

bool event_exists(cudaEvent_t event) {
  auto& all = state().events;
  return std::find(all.begin(), all.end(), event) != all.end() && event->alive;
}

cudaEvent_t new_event(int index, unsigned flags) {
  auto* event = new CUevent_st;
  event->device = index;
  event->flags = flags;
  state().events.push_back(event);
  return event;
}

std::string name_of(const CUstream_st& stream) {
  if (stream.id == stream.device) return format("the legacy stream of cuda:%d", stream.device);
  return format("stream %d of cuda:%d", stream.id, stream.device);
}

void refresh_clock(CUstream_st& stream) {
  merge(stream.clock, state().host);
  for_legacy_order(stream, [&](CUstream_st& on) { merge(stream.clock, on.clock); });
}

Failure submit(CUstream_st& stream, Operation operation) {
  if (stream.capture) {
    stream.capture->push_back(std::move(operation));
    return {};
  }
  refresh_clock(stream);
  for_legacy_order(stream, [&](CUstream_st& on) {
    if (on.done < on.submitted) operation.after.push_back({&on, on.submitted});
  });
  uint64_t& own = at(stream.clock, stream.id);
  own = ++stream.submitted;
  Failure failure = note_uses(stream, operation);
  if (failure) {
    --stream.submitted;
    return failure;
  }
  stream.queue.push_back(std::move(operation));
  return config().lazy ? Failure{} : run_all(stream);
}

cudaError_t submit(cudaStream_t handle, Operation operation) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream)
    return error(cudaErrorInvalidResourceHandle, title(operation) + ": the stream does not exist any more");
  if (stream->device != device)
    return error(cudaErrorInvalidResourceHandle,
                 title(operation) + format(": cuda:%d is the current device, but the call names ", device) +
                     name_of(*stream));
  return error(submit(*stream, std::move(operation)));
}

Failure record(CUevent_st& event, CUstream_st& stream) {
  event.capture = stream.capture;
  if (stream.capture) return {};
  Failure failure = submit(stream, {.name = "cudaEventRecord", .run = [&event] {
                                      event.seconds = now();
                                      return Failure{};
                                    }});
  event.clock = stream.clock;
  event.at = {&stream, stream.submitted};
  return failure;
}

Failure wait_for(CUstream_st& stream, const CUevent_st& event) {
  if (event.capture && !stream.capture) stream.capture = event.capture;  // the capture goes on there
  if (stream.capture || !event.at.first) return {};
  merge(stream.clock, event.clock);
  Operation wait{.name = "cudaStreamWaitEvent", .after = {event.at}};
  return submit(stream, std::move(wait));
}

bool reached(const Position& position) { return !position.first || position.first->done >= position.second; }

Failure host_waits(Lock& lock, const Position& position, const Clock& clock) {
  double patience = config().patience;
  auto until = now() + patience;
  while (!reached(position)) {
    if (step()) continue;
    // Another thread has to call something first.
    auto left = std::chrono::duration<double>(until - now());
    if (state().changed.wait_for(lock, left) == std::cv_status::timeout)
      return {cudaErrorLaunchTimeout,
              format("waited %g s in vain; at the heads of the queues: ", patience) + waiting_list()};
  }
  merge(state().host, clock);
  return {};
}

bool wait_until(Lock& lock, double seconds, const std::function<bool()>& met) {
  return state().changed.wait_for(lock, std::chrono::duration<double>(seconds), met);
}

void wake_waiters() { state().changed.notify_all(); }

Failure host_waits(Lock& lock, CUstream_st& stream) {
  Clock clock = stream.clock;
  return host_waits(lock, {&stream, stream.submitted}, clock);
}

Failure host_waits_for_device(Lock& lock, int index) {
  for (size_t i = 0; i < state().streams.size(); ++i) {
    CUstream_st& stream = *state().streams[i];
    if (stream.device != index) continue;
    if (Failure failure = host_waits(lock, stream)) return failure;
  }
  return {};
}

CUstream_st* capturing_stream() {
  for (CUstream_st* stream : state().streams)
    if (stream->capture) return stream;
  return nullptr;
}

bool& peer_access(int from, int to) { return state().peers[from][to]; }

}  // namespace tarn::inline v1::emu
