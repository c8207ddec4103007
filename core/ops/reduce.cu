// Reductions over any dims. The order of a sum depends on the shapes alone: a thread takes every blockDim-th
// element, then block_combine.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>

namespace tarn::inline v1::gpu {

template <class T>
struct SumOf : Plus {
  static constexpr T identity = 0;
  __device__ static T map(T x) { return x; }
};
template <class T>
struct ProductOf {
  static constexpr T identity = 1;
  __device__ static T map(T x) { return x; }
  __device__ T operator()(T a, T b) const { return a * b; }
};
template <class T>
constexpr T kLargest = T(0.5) != T(0) ? T(__builtin_huge_val()) : T(INT64_MAX);
template <class T>
constexpr T kSmallest = T(0.5) != T(0) ? T(-__builtin_huge_val()) : T(INT64_MIN);
template <class T>
struct MaxOf : Larger {
  static constexpr T identity = kSmallest<T>;
  __device__ static T map(T x) { return x; }
};
template <class T>
struct MinOf : Smaller {
  static constexpr T identity = kLargest<T>;
  __device__ static T map(T x) { return x; }
};
template <class T>
struct AnyOf : Larger {
  static constexpr T identity = 0;
  __device__ static T map(T x) { return x != 0; }
};
template <class T>
struct AllOf : Smaller {
  static constexpr T identity = 1;
  __device__ static T map(T x) { return x != 0; }
};

// Elements first, first + step, ... before end of the reduced ones.
template <class T, class R>
__device__ T partial(const ReduceCall& call, const T* in, int64_t first, int64_t step, int64_t end) {
  T acc = R::identity;
  for (int64_t i = first; i < end; i += step) {
    int64_t at[1];
    offsets_of(call.reduced, i, at);
    acc = R()(acc, R::map(in[at[0]]));
  }
  return acc;
}

template <class T>
__device__ T finished(const ReduceCall& call, T value) {
  return call.divide != 0 ? value / T(call.divide) : value;
}

// A block per output, or per part of one, for long rows.
template <class T, class R>
__global__ void reduce_rows(ReduceCall call) {
  int64_t length = (call.count + call.parts - 1) / call.parts;
  for (int64_t o = blockIdx.x; o < call.kept.count * call.parts; o += gridDim.x) {
    int64_t at[2], begin = o % call.parts * length, end = begin + length;
    offsets_of(call.kept, o / call.parts, at);
    const T* in = static_cast<const T*>(call.in) + at[1];
    T value = partial<T, R>(call, in, begin + threadIdx.x, blockDim.x, end < call.count ? end : call.count);
    value = block_combine(value, R());
    if (threadIdx.x == 0) static_cast<T*>(call.out)[call.parts > 1 ? o : at[0]] = finished(call, value);
  }
}

// A thread per output, for short rows.
template <class T, class R>
__global__ void reduce_short(ReduceCall call) {
  for (int64_t o = first_index(); o < call.kept.count; o += index_step()) {
    int64_t at[2];
    offsets_of(call.kept, o, at);
    const T* in = static_cast<const T*>(call.in) + at[1];
    static_cast<T*>(call.out)[at[0]] = finished(call, partial<T, R>(call, in, 0, 1, call.count));
  }
}

constexpr int64_t kShortRow = 32;

template <class T, template <class> class R>
cudaError_t start(const ReduceCall& call, cudaStream_t stream) {
  int64_t outputs = call.kept.count;
  if (call.count <= kShortRow && call.parts == 1)
    return launch(reduce_short<T, R<T>>, blocks_for(outputs), kBlock, 0, stream, call);
  return launch(reduce_rows<T, R<T>>, blocks_for(outputs * call.parts, 1), threads_for(call.count), 0, stream,
                call);
}

template <template <class> class R>
cudaError_t start_as(const ReduceCall& call, cudaStream_t stream) {
  if (call.compute == Compute::F32) return start<float, R>(call, stream);
  if (call.compute == Compute::F64) return start<double, R>(call, stream);
  return start<int64_t, R>(call, stream);
}

// --- argmax and argmin ---

template <class T>
struct Candidate {
  T value;
  int64_t place;  // -1: none
};

// The first of the most extreme, where NaN is more extreme than all else.
template <class T, bool largest>
struct Better {
  __device__ Candidate<T> operator()(Candidate<T> a, Candidate<T> b) const {
    if (b.place < 0) return a;
    if (a.place < 0) return b;
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    bool equal = a.value == b.value || (a_nan && b_nan);
    if (equal) return a.place < b.place ? a : b;
    bool first = a_nan || (!b_nan && (largest ? a.value > b.value : a.value < b.value));
    return first ? a : b;
  }
};

template <class T, bool largest>
__global__ void places_kernel(PlaceCall call) {
  for (int64_t row = blockIdx.x; row < call.outer * call.inner; row += gridDim.x) {
    const T* x = static_cast<const T*>(call.in) + row / call.inner * call.n * call.inner + row % call.inner;
    Candidate<T> best = {T(0), -1};
    for (int64_t i = threadIdx.x; i < call.n; i += blockDim.x)
      best = Better<T, largest>()(best, Candidate<T>{x[i * call.inner], i});
    best = block_combine(best, Better<T, largest>());
    if (threadIdx.x != 0) continue;
    call.places[row] = best.place;
    if (call.values) static_cast<T*>(call.values)[row] = best.value;
  }
}

template <class T>
cudaError_t start_places(const PlaceCall& call, cudaStream_t stream) {
  auto kernel = call.largest ? places_kernel<T, true> : places_kernel<T, false>;
  return launch(kernel, blocks_for(call.outer * call.inner, 1), threads_for(call.n), 0, stream, call);
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t reduce_launch(const ReduceCall& call, cudaStream_t stream) {
  switch (call.reducer) {
    case Reducer::Sum:
      return gpu::start_as<gpu::SumOf>(call, stream);
    case Reducer::Prod:
      return gpu::start_as<gpu::ProductOf>(call, stream);
    case Reducer::Max:
      return gpu::start_as<gpu::MaxOf>(call, stream);
    case Reducer::Min:
      return gpu::start_as<gpu::MinOf>(call, stream);
    case Reducer::Any:
      return gpu::start_as<gpu::AnyOf>(call, stream);
    default:
      return gpu::start_as<gpu::AllOf>(call, stream);
  }
}

cudaError_t places_launch(const PlaceCall& call, cudaStream_t stream) {
  if (call.compute == Compute::F32) return gpu::start_places<float>(call, stream);
  if (call.compute == Compute::F64) return gpu::start_places<double>(call, stream);
  return gpu::start_places<int64_t>(call, stream);
}

}  // namespace tarn::inline v1::detail
