// The one table of functions through which libtarn reaches a device. libtarn_cuda (nvcc) and libtarn_emu
// (g++) are built from the same sources and export one symbol, tarn_cuda_table. A status is 0 or an error
// whose text error_text() gives; handles of streams and events are the runtime's pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/core/cuda/calls.h>

namespace tarn::inline v1::detail {

enum class CopyKind : int { HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3 };

struct CudaTable {
  size_t bytes;  // sizeof(CudaTable): a library of another version is refused
  bool emulated;
  const char* (*error_text)(int status);

  // --- devices and memory ---
  int (*device_count)(int* count);
  int (*device_name)(int device, char* name, size_t room);
  int (*set_device)(int device);
  int (*synchronize)();
  int (*memory_info)(size_t* free, size_t* total);
  int (*allocate)(void** p, size_t bytes);
  int (*deallocate)(void* p);
  int (*allocate_pinned)(void** p, size_t bytes);
  int (*deallocate_pinned)(void* p);
  // The emulated device checks each block that the cache hands out; a GPU is not told.
  void (*block_taken)(void* p, size_t bytes, void* stream);
  void (*block_returned)(void* p, void* stream);
  int (*copy)(void* to, const void* from, size_t bytes, CopyKind kind, void* stream);
  int (*clear)(void* to, size_t bytes, void* stream);

  // --- streams and events. A query sets done ---
  int (*create_stream)(void** stream);
  int (*synchronize_stream)(void* stream);
  int (*query_stream)(void* stream, bool* done);
  int (*create_event)(void** event, bool timing);
  int (*destroy_event)(void* event);
  int (*record_event)(void* event, void* stream);
  int (*wait_event)(void* stream, void* event);
  int (*synchronize_event)(void* event);
  int (*query_event)(void* event, bool* done);
  int (*elapsed)(float* milliseconds, void* from, void* to);

  // --- libraries: how much workspace a call wants, and the call ---
  int (*gemm_workspace)(const ProductCall& call, size_t* bytes);
  int (*gemm)(const ProductCall& call, void* stream);
  int (*conv_workspace)(const ConvCall& call, size_t* bytes);
  int (*conv)(const ConvCall& call, void* stream);

  // --- kernels that are built at run time (kernel_text.h) ---
  int (*build_kernel)(const char* text, const char* name, void** kernel);
  int (*built_kernel)(const BuiltKernelCall& call, void* stream);

  // --- kernels ---
  int (*pointwise)(const PointwiseCall& call, void* stream);
  int (*copy_elements)(const CopyCall& call, void* stream);
  int (*fill)(const FillCall& call, void* stream);
  int (*reduce)(const ReduceCall& call, void* stream);
  int (*places)(const PlaceCall& call, void* stream);
  int (*softmax)(const SoftmaxCall& call, void* stream);
  int (*cross_entropy)(const CrossEntropyCall& call, void* stream);
  int (*cross_entropy_grad)(const CrossEntropyGradCall& call, void* stream);
  int (*batch_norm)(const BatchNormCall& call, void* stream);
  int (*batch_norm_eval)(const BatchNormEvalCall& call, void* stream);
  int (*batch_norm_grad)(const BatchNormGradCall& call, void* stream);
  int (*running_statistics)(const RunningCall& call, void* stream);
  int (*sgd)(const SgdCall& call, void* stream);
  int (*pool)(const PoolCall& call, void* stream);
  int (*random)(const RandomCall& call, void* stream);
  int (*index)(const IndexCall& call, void* stream);
  int (*adam)(const AdamCall& call, void* stream);
  int (*layer_norm)(const LayerNormCall& call, void* stream);
  int (*layer_norm_grad)(const LayerNormGradCall& call, void* stream);
};

}  // namespace tarn::inline v1::detail
