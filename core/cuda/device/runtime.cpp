// The device library's side of the call table: thin covers over the CUDA runtime, and the kernels' launchers.
// Built into libtarn_cuda and libtarn_emu, never into libtarn.
#include <cuda_runtime_api.h>

#include <cstring>

#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/device/libraries.h>
#include <tarn/core/cuda/table.h>
#include <tarn/core/emu/blocks.h>

namespace tarn::inline v1::detail {

namespace {

const char* error_text(int status) {
  return status == kLibraryError ? library_error_text() : cudaGetErrorString(cudaError_t(status));
}

// A failed call's status is also kept by the runtime; it is ours to clear, unless the device is lost.
int status(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return int(error);
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

int device_count(int* count) { return status(cudaGetDeviceCount(count)); }

int device_name(int device, char* name, size_t room) {
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess || room == 0) return status(error);
  std::strncpy(name, properties.name, room - 1);
  name[room - 1] = 0;
  return 0;
}

int set_device(int device) { return status(cudaSetDevice(device)); }
int synchronize() { return status(cudaDeviceSynchronize()); }
int memory_info(size_t* free, size_t* total) { return status(cudaMemGetInfo(free, total)); }
int allocate(void** p, size_t bytes) { return status(cudaMalloc(p, bytes)); }
int deallocate(void* p) { return status(cudaFree(p)); }
int allocate_pinned(void** p, size_t bytes) { return status(cudaHostAlloc(p, bytes, cudaHostAllocPortable)); }
int deallocate_pinned(void* p) { return status(cudaFreeHost(p)); }
void block_taken(void* p, size_t bytes, void* stream) {
  if (tarn_emu_block_taken) tarn_emu_block_taken(p, bytes, stream_of(stream));
}
void block_returned(void* p, void* stream) {
  if (tarn_emu_block_returned) tarn_emu_block_returned(p, stream_of(stream));
}
int copy(void* to, const void* from, size_t bytes, CopyKind kind, void* stream) {
  return status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyKind(kind), stream_of(stream)));
}
int clear(void* to, size_t bytes, void* stream) {
  return status(cudaMemsetAsync(to, 0, bytes, stream_of(stream)));
}

int query(cudaError_t error, bool* done) {
  *done = error == cudaSuccess;
  return error == cudaErrorNotReady ? (cudaGetLastError(), 0) : status(error);
}

int create_stream(void** stream) {
  return status(cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking));
}
int synchronize_stream(void* stream) { return status(cudaStreamSynchronize(stream_of(stream))); }
int query_stream(void* stream, bool* done) { return query(cudaStreamQuery(stream_of(stream)), done); }
int create_event(void** event, bool timing) {
  return status(cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event),
                                         timing ? cudaEventDefault : cudaEventDisableTiming));
}
int destroy_event(void* event) { return status(cudaEventDestroy(event_of(event))); }
int record_event(void* event, void* stream) {
  return status(cudaEventRecord(event_of(event), stream_of(stream)));
}
int wait_event(void* stream, void* event) {
  return status(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}
int synchronize_event(void* event) { return status(cudaEventSynchronize(event_of(event))); }
int query_event(void* event, bool* done) { return query(cudaEventQuery(event_of(event)), done); }
int elapsed(float* milliseconds, void* from, void* to) {
  return status(cudaEventElapsedTime(milliseconds, event_of(from), event_of(to)));
}

// A launcher that takes the stream by its type, as the table has it.
template <class Call, cudaError_t (*launcher)(const Call&, cudaStream_t)>
int kernel(const Call& call, void* stream) {
  return status(launcher(call, stream_of(stream)));
}

const CudaTable table = {
    .bytes = sizeof(CudaTable),
    .emulated = TARN_CUDA_EMULATED,
    .error_text = error_text,
    .device_count = device_count,
    .device_name = device_name,
    .set_device = set_device,
    .synchronize = synchronize,
    .memory_info = memory_info,
    .allocate = allocate,
    .deallocate = deallocate,
    .allocate_pinned = allocate_pinned,
    .deallocate_pinned = deallocate_pinned,
    .block_taken = block_taken,
    .block_returned = block_returned,
    .copy = copy,
    .clear = clear,
    .create_stream = create_stream,
    .synchronize_stream = synchronize_stream,
    .query_stream = query_stream,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .wait_event = wait_event,
    .synchronize_event = synchronize_event,
    .query_event = query_event,
    .elapsed = elapsed,
    .gemm_workspace = gemm_workspace,
    .gemm = gemm,
    .conv_workspace = conv_workspace,
    .conv = conv,
    .build_kernel = build_kernel,
    .built_kernel = launch_built,
    .pointwise = kernel<PointwiseCall, pointwise_launch>,
    .copy_elements = kernel<CopyCall, copy_launch>,
    .fill = kernel<FillCall, fill_launch>,
    .reduce = kernel<ReduceCall, reduce_launch>,
    .places = kernel<PlaceCall, places_launch>,
    .softmax = kernel<SoftmaxCall, softmax_launch>,
    .cross_entropy = kernel<CrossEntropyCall, cross_entropy_launch>,
    .cross_entropy_grad = kernel<CrossEntropyGradCall, cross_entropy_grad_launch>,
    .batch_norm = kernel<BatchNormCall, batch_norm_launch>,
    .batch_norm_eval = kernel<BatchNormEvalCall, batch_norm_eval_launch>,
    .batch_norm_grad = kernel<BatchNormGradCall, batch_norm_grad_launch>,
    .running_statistics = kernel<RunningCall, running_statistics_launch>,
    .sgd = kernel<SgdCall, sgd_launch>,
    .pool = kernel<PoolCall, pool_launch>,
    .random = kernel<RandomCall, random_launch>,
    .index = kernel<IndexCall, index_launch>,
    .adam = kernel<AdamCall, adam_launch>,
    .layer_norm = kernel<LayerNormCall, layer_norm_launch>,
    .layer_norm_grad = kernel<LayerNormGradCall, layer_norm_grad_launch>,
};

}  // namespace

}  // namespace tarn::inline v1::detail

extern "C" __attribute__((visibility("default"))) const void* tarn_cuda_table() {
  return &tarn::detail::table;
}
