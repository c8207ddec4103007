// The runtime's calls for streams, events and graphs.
#include <memory>
#include <vector>

#include <tarn/core/emu/order.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/stream.h>

using namespace tarn::emu;

struct CUgraph_st {
  std::shared_ptr<std::vector<Operation>> operations;
};
struct CUgraphExec_st {
  std::vector<Operation> operations;
};

namespace {

cudaError_t no_stream(const char* call) {
  return error(cudaErrorInvalidResourceHandle, std::string(call) + ": the stream does not exist any more");
}
cudaError_t no_event(const char* call) {
  return error(cudaErrorInvalidResourceHandle, std::string(call) + ": the event does not exist any more");
}
cudaError_t in_capture(const char* call, const CUstream_st& stream) {
  return error(cudaErrorStreamCaptureUnsupported,
               std::string(call) + ": " + name_of(stream) + " captures a graph");
}

}  // namespace

extern "C" {

// --- streams ---

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  Lock lock = lock_runtime();
  *stream = new_stream(current_device(), !(flags & cudaStreamNonBlocking), flags, priority);
  return finish();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

// What is queued is still done; the handle is dead at once.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = handle ? find_stream(handle) : nullptr;
  if (!stream) return no_stream("cudaStreamDestroy");
  if (stream->capture) return in_capture("cudaStreamDestroy", *stream);
  stream->alive = false;
  return finish();
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamSynchronize");
  if (stream->capture) return in_capture("cudaStreamSynchronize", *stream);
  return error(host_waits(lock, *stream));
}

cudaError_t cudaDeviceSynchronize() {
  Lock lock = lock_runtime();
  if (CUstream_st* stream = capturing_stream()) return in_capture("cudaDeviceSynchronize", *stream);
  return error(host_waits_for_device(lock, current_device()));
}

// "Done" orders the host after it, as waiting would.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamQuery");
  if (stream->capture) return in_capture("cudaStreamQuery", *stream);
  if (stream->done < stream->submitted) return cudaErrorNotReady;
  return error(host_waits(lock, *stream));
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamGetFlags");
  *flags = stream->flags;
  return finish();
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamGetPriority");
  *priority = stream->priority;
  return finish();
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamGetDevice");
  *device = stream->device;
  return finish();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamWaitEvent");
  if (!event_exists(event)) return no_event("cudaStreamWaitEvent");
  return error(wait_for(*stream, *event));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return submit(handle, {.name = "cudaLaunchHostFunc", .run = [=] {
                           function(data);
                           return Failure{};
                         }});
}

// --- events ---

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  Lock lock = lock_runtime();
  *event = new_event(current_device(), flags);
  return finish();
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Lock lock = lock_runtime();
  if (!event_exists(event)) return no_event("cudaEventDestroy");
  event->alive = false;
  return finish();
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaEventRecord");
  if (!event_exists(event)) return no_event("cudaEventRecord");
  if (event->device != stream->device)
    return error(cudaErrorInvalidResourceHandle,
                 format("cudaEventRecord: an event of cuda:%d on ", event->device) + name_of(*stream));
  return error(record(*event, *stream));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Lock lock = lock_runtime();
  if (!event_exists(event)) return no_event("cudaEventSynchronize");
  Clock clock = event->clock;
  return error(host_waits(lock, event->at, clock));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Lock lock = lock_runtime();
  if (!event_exists(event)) return no_event("cudaEventQuery");
  if (!reached(event->at)) return cudaErrorNotReady;
  Clock clock = event->clock;
  return error(host_waits(lock, event->at, clock));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Lock lock = lock_runtime();
  if (!event_exists(from) || !event_exists(to)) return no_event("cudaEventElapsedTime");
  if ((from->flags | to->flags) & cudaEventDisableTiming)
    return error(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event was made without timing");
  if (!from->at.first || !to->at.first)
    return error(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event was never recorded");
  if (!reached(from->at) || !reached(to->at)) return cudaErrorNotReady;
  *milliseconds = float((to->seconds - from->seconds) * 1e3);
  return finish();
}

// --- graphs: the captured operations in the order of their capture, checked again at each replay ---

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamBeginCapture");
  if (stream == legacy_stream(stream->device))
    return error(cudaErrorStreamCaptureUnsupported,
                 "cudaStreamBeginCapture: the legacy stream cannot capture");
  if (stream->capture) return in_capture("cudaStreamBeginCapture", *stream);
  stream->capture = std::make_shared<std::vector<Operation>>();
  stream->capture_mode = mode;
  return finish();
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamEndCapture");
  if (!stream->capture)
    return error(cudaErrorIllegalState, "cudaStreamEndCapture: " + name_of(*stream) + " captures no graph");
  auto operations = stream->capture;
  *graph = new CUgraph_st{operations};
  while (CUstream_st* other = capturing_stream()) {
    if (other->capture != operations) break;
    other->capture = nullptr;
  }
  return finish();
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaStreamIsCapturing");
  *status = stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return finish();
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current_mode = cudaStreamCaptureModeGlobal;
  std::swap(current_mode, *mode);
  return finish();
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  Lock lock = lock_runtime();
  *executable = new CUgraphExec_st{*graph->operations};
  return finish();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream) return no_stream("cudaGraphLaunch");
  for (const Operation& operation : executable->operations)
    if (Failure failure = submit(*stream, operation)) return error(failure);
  return finish();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return finish();
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return finish();
}

}  // extern "C"
