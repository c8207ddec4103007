// gather, scatter, scatter_add and embedding: along one dim by indices. Where elements may come together a
// thread takes a whole line, in the order of its indices, so that sums have one order and the last write
// wins.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

// T: any type of the elements' width. A thread per index.
template <class T>
__global__ void gather_kernel(IndexCall c) {
  for (int64_t i = first_index(); i < c.lines.count * c.n; i += index_step()) {
    int64_t at[3], j = i / c.lines.count;
    offsets_of(c.lines, i % c.lines.count, at);
    int64_t k = c.index[at[0] + j * c.index_step];
    T& to = static_cast<T*>(c.to)[at[1] + j * c.other_step];
    if (k >= 0 && k < c.size)
      to = static_cast<const T*>(c.from)[at[2] + k * c.x_step];
    else
      to = T(-1);
  }
}

template <class T, bool add>
__global__ void scatter_kernel(IndexCall c) {
  for (int64_t line = first_index(); line < c.lines.count; line += index_step()) {
    int64_t at[3];
    offsets_of(c.lines, line, at);
    for (int64_t j = 0; j < c.n; ++j) {
      int64_t k = c.index[at[0] + j * c.index_step];
      if (k < 0 || k >= c.size || k == c.skip) continue;
      T& to = static_cast<T*>(c.to)[at[2] + k * c.x_step];
      T from = static_cast<const T*>(c.from)[at[1] + j * c.other_step];
      to = add ? T(to + from) : from;
    }
  }
}

using IndexKernel = void (*)(IndexCall);

template <class T>
IndexKernel mover(const IndexCall& call) {
  return call.kind == IndexKind::Gather ? gather_kernel<T> : scatter_kernel<T, false>;
}

IndexKernel kernel_for(const IndexCall& call) {
  if (call.kind == IndexKind::ScatterAdd) {
    if (call.type == Elem::F32) return scatter_kernel<float, true>;
    if (call.type == Elem::F64) return scatter_kernel<double, true>;
    return call.type == Elem::I64 ? scatter_kernel<int64_t, true> : nullptr;
  }
  switch (call.type) {
    case Elem::U8:
    case Elem::I8:
    case Elem::Bool:
      return mover<uint8_t>(call);
    case Elem::I16:
    case Elem::F16:
    case Elem::BF16:
      return mover<uint16_t>(call);
    case Elem::I32:
    case Elem::F32:
      return mover<uint32_t>(call);
    default:
      return mover<uint64_t>(call);
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t index_launch(const IndexCall& call, cudaStream_t stream) {
  gpu::IndexKernel kernel = gpu::kernel_for(call);
  if (!kernel) return cudaErrorInvalidValue;
  int64_t threads = call.kind == IndexKind::Gather ? call.lines.count * call.n : call.lines.count;
  return launch(kernel, gpu::blocks_for(threads), gpu::kBlock, 0, stream, call);
}

}  // namespace tarn::inline v1::detail
