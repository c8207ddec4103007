// Copies between dtypes and layouts, and fills. The dtypes are looked at when the kernel runs, alike for all
// threads: a kernel per pair would be a hundred.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/element.h>
#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

__global__ void convert_kernel(CopyCall call) {
  for (int64_t i = first_index(); i < call.walk.count; i += index_step()) {
    int64_t at[2];
    offsets_of(call.walk, i, at);
    store(call.to, call.to_type, at[0], load(call.from, call.from_type, at[1]));
  }
}

// T: any type of the elements' width.
template <class T>
__global__ void move_kernel(CopyCall call) {
  for (int64_t i = first_index(); i < call.walk.count; i += index_step()) {
    int64_t at[2];
    offsets_of(call.walk, i, at);
    static_cast<T*>(call.to)[at[0]] = static_cast<const T*>(call.from)[at[1]];
  }
}

__global__ void fill_kernel(FillCall call) {
  bool floating =
      call.type == Elem::F16 || call.type == Elem::BF16 || call.type == Elem::F32 || call.type == Elem::F64;
  for (int64_t i = first_index(); i < call.walk.count; i += index_step()) {
    int64_t at[1];
    offsets_of(call.walk, i, at);
    store(call.to, call.type, at[0], {floating, call.real, call.integer});
  }
}

using MoveKernel = void (*)(CopyCall);

MoveKernel kernel_for(const CopyCall& call) {
  if (call.to_type != call.from_type) return convert_kernel;
  switch (call.to_type) {
    case Elem::U8:
    case Elem::I8:
    case Elem::Bool:
      return move_kernel<uint8_t>;
    case Elem::I16:
    case Elem::F16:
    case Elem::BF16:
      return move_kernel<uint16_t>;
    case Elem::I32:
    case Elem::F32:
      return move_kernel<uint32_t>;
    default:
      return move_kernel<uint64_t>;
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t copy_launch(const CopyCall& call, cudaStream_t stream) {
  return launch(gpu::kernel_for(call), gpu::blocks_for(call.walk.count), gpu::kBlock, 0, stream, call);
}

cudaError_t fill_launch(const FillCall& call, cudaStream_t stream) {
  return launch(gpu::fill_kernel, gpu::blocks_for(call.walk.count), gpu::kBlock, 0, stream, call);
}

}  // namespace tarn::inline v1::detail
