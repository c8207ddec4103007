// Copies between dtypes and layouts, and fills. The dtypes are looked at when the kernel runs, alike for all
// threads: a kernel per pair would be a hundred.
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

// One element of any dtype: a double where it is floating, else an integer.
struct Value {
  bool floating;
  double real;
  int64_t integer;
};

__device__ Value load(const void* p, Elem type, int64_t i) {
  switch (type) {
    case Elem::U8:
      return {false, 0, static_cast<const uint8_t*>(p)[i]};
    case Elem::I8:
      return {false, 0, static_cast<const int8_t*>(p)[i]};
    case Elem::I16:
      return {false, 0, static_cast<const int16_t*>(p)[i]};
    case Elem::I32:
      return {false, 0, static_cast<const int32_t*>(p)[i]};
    case Elem::I64:
      return {false, 0, static_cast<const int64_t*>(p)[i]};
    case Elem::Bool:
      return {false, 0, static_cast<const uint8_t*>(p)[i] != 0};
    case Elem::F16:
      return {true, __half2float(static_cast<const __half*>(p)[i]), 0};
    case Elem::BF16:
      return {true, __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]), 0};
    case Elem::F32:
      return {true, static_cast<const float*>(p)[i], 0};
    default:
      return {true, static_cast<const double*>(p)[i], 0};
  }
}

// Floating numbers become narrow integers by way of int64, 16-bit floats by way of float, as on the CPU.
__device__ void store(void* p, Elem type, int64_t i, Value v) {
  double real = v.floating ? v.real : double(v.integer);
  float single = v.floating ? float(v.real) : float(v.integer);
  int64_t integer = v.floating && type != Elem::Bool ? int64_t(v.real) : v.integer;
  switch (type) {
    case Elem::U8:
      static_cast<uint8_t*>(p)[i] = uint8_t(integer);
      break;
    case Elem::I8:
      static_cast<int8_t*>(p)[i] = int8_t(integer);
      break;
    case Elem::I16:
      static_cast<int16_t*>(p)[i] = int16_t(integer);
      break;
    case Elem::I32:
      static_cast<int32_t*>(p)[i] = int32_t(integer);
      break;
    case Elem::I64:
      static_cast<int64_t*>(p)[i] = integer;
      break;
    case Elem::Bool:
      static_cast<uint8_t*>(p)[i] = v.floating ? v.real != 0 : v.integer != 0;
      break;
    case Elem::F16:
      static_cast<__half*>(p)[i] = __float2half(single);
      break;
    case Elem::BF16:
      static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16(single);
      break;
    case Elem::F32:
      static_cast<float*>(p)[i] = single;
      break;
    default:
      static_cast<double*>(p)[i] = real;
      break;
  }
}

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
