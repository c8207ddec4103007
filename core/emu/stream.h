// Streams, events and the order between operations.
//
// Note [Clocks]: operations of a stream are numbered. A clock holds, for each stream, the number up to which
// operations are known to be done; an operation's clock is its stream's, an event copies one, a wait merges
// one in, and host waits merge into the host's clock, which all later operations start from. A use of memory
// that is not ordered after the last conflicting use is an error, whether or not the operations happened to
// run in the right order.
//
// Operations run when they are called, on the caller's thread, unless TARN_EMU_LAZY leaves them in their
// queues. One that is not ready (a collective whose other ranks have not come) stays in the queue with all
// behind it. One lock guards everything; it is held while a kernel runs and released while somebody waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <tarn/core/emu/block.h>
#include <tarn/core/emu/kernel.h>
#include <tarn/core/emu/memory.h>

namespace tarn::inline v1::emu {

using Clock = std::vector<uint64_t>;  // by stream id; what is missing is 0

// The place of an operation: stream and number.
using Position = std::pair<CUstream_st*, uint64_t>;

struct Operation {
  const char* name = "";         // "cudaMemcpyAsync", "cublasLtMatmul"
  const void* kernel = nullptr;  // of a launch, whose name is looked up only for messages
  std::vector<Use> uses{};
  std::function<Failure()> run{};
  std::function<bool()> ready{};  // empty: at once
  std::vector<Position> after{};  // must be done before
};

}  // namespace tarn::inline v1::emu

// Names of NVIDIA's opaque handles.
struct CUstream_st {
  int id, device;
  bool blocking;  // ordered with the legacy stream, which is the first of each device
  bool alive = true;
  tarn::emu::Clock clock{};
  std::deque<tarn::emu::Operation> queue{};
  uint64_t submitted = 0, done = 0;
  std::shared_ptr<std::vector<tarn::emu::Operation>> capture{};
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  unsigned flags = 0;
  int priority = 0;
};

struct CUevent_st {
  bool alive = true;
  int device;
  unsigned flags;
  tarn::emu::Clock clock;
  tarn::emu::Position at{nullptr, 0};
  double seconds = 0;  // when it was reached
  std::shared_ptr<std::vector<tarn::emu::Operation>> capture;
};

namespace tarn::inline v1::emu {

// Held by each entry point; the functions below expect it unless they take a handle.
using Lock = std::unique_lock<std::recursive_mutex>;
[[nodiscard]] Lock lock_runtime();

// --- errors: each entry point ends in one of these ---

// Remembers the error for cudaGetLastError and its text for cudaGetErrorString; returns the code.
cudaError_t error(cudaError_t code, const std::string& text);
cudaError_t error(const Failure& failure);
// `error`, and every later call on this thread gives it until cudaGetLastError: something went wrong where no
// one could be told.
void defer_error(const Failure& failure);
// What is deferred, or success.
cudaError_t finish();

int current_device();
void set_current_device(int device);

// --- handles ---

// The stream behind a handle (null: the current device's legacy stream), or null for one that does not exist
// any more.
CUstream_st* find_stream(cudaStream_t handle);
CUstream_st* legacy_stream(int device);
cudaStream_t new_stream(int device, bool blocking, unsigned flags, int priority);
bool event_exists(cudaEvent_t event);
cudaEvent_t new_event(int device, unsigned flags);
CUstream_st* stream_of(int id);
std::string name_of(const CUstream_st& stream);  // "stream 2 of cuda:0"

// --- order ---

// Checks the uses, then runs, queues or captures.
Failure submit(CUstream_st& stream, Operation operation);
cudaError_t submit(cudaStream_t handle,
                   Operation operation);  // with the handle looked up and errors remembered

// Brings the stream's clock up to what its next operation would start from.
void refresh_clock(CUstream_st& stream);
Failure record(CUevent_st& event, CUstream_st& stream);
Failure wait_for(CUstream_st& stream, const CUevent_st& event);
bool reached(const Position& position);
// Runs queued operations until the position is reached; other threads may reach it too.
Failure host_waits(Lock& lock, const Position& position, const Clock& clock);
Failure host_waits(Lock& lock, CUstream_st& stream);
Failure host_waits_for_device(Lock& lock, int device);

// Until `met` holds, which another thread makes true; false after so many seconds. wake_waiters() lets them
// look again.
bool wait_until(Lock& lock, double seconds, const std::function<bool()>& met);
void wake_waiters();

// Nothing may wait or allocate while a stream captures; null or that stream.
CUstream_st* capturing_stream();

// Peer access between devices.
bool& peer_access(int from, int to);

// Frees `allocation` when the stream gets there.
Failure free_on(CUstream_st& stream, uintptr_t p, const char* call);

}  // namespace tarn::inline v1::emu
