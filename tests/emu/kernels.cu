#include <tarn/core/cuda/dev.h>

#include <tarn/tests/emu/kernels.h>

using tarn::detail::launch;
using tarn::detail::Vec;

template <Fault kFault, class T>
__global__ void __launch_bounds__(256) add_kernel(const T* x, const T* b, T* y, long long n) {
  constexpr int kWidth = 16 / sizeof(T);
  using Pack = Vec<T, kWidth>;
  long long step = (long long)gridDim.x * blockDim.x,
            first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const Pack* packs = reinterpret_cast<const Pack*>(x + (kFault == Fault::Misaligned));
  for (long long i = first; i < n / kWidth; i += step) {
    Pack p = packs[i], q = reinterpret_cast<const Pack*>(b)[i];
    for (int k = 0; k < kWidth; ++k) p[k] = T(float(p[k]) + float(q[k]));
    reinterpret_cast<Pack*>(y)[i] = p;
  }
  long long end = kFault == Fault::OffByOne ? n + 1 : n;
  for (long long i = n / kWidth * kWidth + first; i < end; i += step) y[i] = T(float(x[i]) + float(b[i]));
}

cudaError_t add(Fault fault, int blocks, const float* x, const float* b, float* y, long long n,
                cudaStream_t stream) {
  if (fault == Fault::OffByOne)
    return launch(add_kernel<Fault::OffByOne, float>, blocks, 256, 0, stream, x, b, y, n);
  if (fault == Fault::Misaligned)
    return launch(add_kernel<Fault::Misaligned, float>, blocks, 256, 0, stream, x, b, y, n);
  return launch(add_kernel<Fault::None, float>, blocks, 256, 0, stream, x, b, y, n);
}
cudaError_t add(int blocks, const __half* x, const __half* b, __half* y, long long n, cudaStream_t stream) {
  return launch(add_kernel<Fault::None, __half>, blocks, 256, 0, stream, x, b, y, n);
}
cudaError_t add(int blocks, const __nv_bfloat16* x, const __nv_bfloat16* b, __nv_bfloat16* y, long long n,
                cudaStream_t stream) {
  return launch(add_kernel<Fault::None, __nv_bfloat16>, blocks, 256, 0, stream, x, b, y, n);
}

enum class Combine { Most, Sum };

__device__ float combine(Combine how, float a, float b) { return how == Combine::Most ? fmaxf(a, b) : a + b; }

__device__ float reduce_warp(Combine how, float value, unsigned mask = ~0u) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(how, value, __shfl_xor_sync(mask, value, distance));
  return value;
}

template <Fault kFault>
__device__ float reduce_block(Combine how, float value, float identity) {
  SHARED(float, partial, [32]);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = (blockDim.x + 31) / 32;
  value = reduce_warp(how, value);
  if (kFault != Fault::NoBarrierBefore) __syncthreads();  // others may still read what the last call left
  if (lane == 0) partial[warp] = value;
  if (kFault != Fault::NoBarrierAfter) __syncthreads();
  value = lane < warps ? partial[lane] : identity;
  if (kFault == Fault::NarrowMask) return lane < 20 ? reduce_warp(how, value, 0xfffff) : value;
  return reduce_warp(how, value);
}

template <Fault kFault>
__global__ void __launch_bounds__(1024) softmax_kernel(const float* x, float* y, int cols) {
  SHARED_DYN(float, row);
  long long begin = (long long)blockIdx.x * cols;
  if (kFault == Fault::SignedOverflow) begin = int(blockIdx.x) * cols;
  if (kFault == Fault::UnsignedWrap) begin = blockIdx.x * unsigned(cols);
  float most = -INFINITY, total = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    row[c] = x[begin + c];
    most = fmaxf(most, row[c]);
  }
  most = reduce_block<kFault>(Combine::Most, most, -INFINITY);
  if (kFault == Fault::LeavesEarly && threadIdx.x == blockDim.x - 1) return;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) total += row[c] = expf(row[c] - most);
  total = reduce_block<kFault>(Combine::Sum, total, 0.f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[begin + c] = row[c] / total;
}

cudaError_t softmax(Fault fault, int threads, const float* x, float* y, int rows, int cols,
                    cudaStream_t stream) {
  auto kernel = softmax_kernel<Fault::None>;
  if (fault == Fault::NoBarrierAfter) kernel = softmax_kernel<Fault::NoBarrierAfter>;
  if (fault == Fault::NoBarrierBefore) kernel = softmax_kernel<Fault::NoBarrierBefore>;
  if (fault == Fault::NarrowMask) kernel = softmax_kernel<Fault::NarrowMask>;
  if (fault == Fault::LeavesEarly) kernel = softmax_kernel<Fault::LeavesEarly>;
  if (fault == Fault::SignedOverflow) kernel = softmax_kernel<Fault::SignedOverflow>;
  if (fault == Fault::UnsignedWrap) kernel = softmax_kernel<Fault::UnsignedWrap>;
  return launch(kernel, rows, threads, cols * sizeof(float), stream, x, y, cols);
}

// A block of (32, 8) threads owns 32 columns of a quarter of the rows.
template <Fault kFault>
__global__ void column_sums_kernel(const float* x, float* sums, int rows, int cols) {
  SHARED(float, tile, [8][33]);
  int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int r = blockIdx.y * 8 + threadIdx.y; r < rows && column < cols; r += gridDim.y * 8)
    sum += x[(long long)r * cols + column];
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= cols) return;
  sum = 0;
  for (int k = 0; k < 8; ++k) sum += tile[k][threadIdx.x];
  if (kFault == Fault::None) sums[(long long)blockIdx.y * cols + column] = sum;
  if (kFault == Fault::Atomics) atomicAdd(sums + column, sum);
  if (kFault == Fault::PlainAdd) sums[column] += sum;
}

__global__ void add_parts(const float* parts, float* sums, int count, int cols) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= cols) return;
  float sum = 0;
  for (int p = 0; p < count; ++p) sum += parts[p * cols + column];
  sums[column] = sum;
}

cudaError_t column_sums(Fault fault, const float* x, float* sums, float* parts, int rows, int cols,
                        cudaStream_t stream) {
  dim3 grid((cols + 31) / 32, 4), block(32, 8);
  if (fault == Fault::Atomics)
    return launch(column_sums_kernel<Fault::Atomics>, grid, block, 0, stream, x, sums, rows, cols);
  if (fault == Fault::PlainAdd)
    return launch(column_sums_kernel<Fault::PlainAdd>, grid, block, 0, stream, x, sums, rows, cols);
  cudaError_t error = launch(column_sums_kernel<Fault::None>, grid, block, 0, stream, x, parts, rows, cols);
  if (error != cudaSuccess) return error;
  return launch(add_parts, (cols + 127) / 128, 128, 0, stream, parts, sums, 4, cols);
}

__global__ void copy_pair_kernel(Pair pair, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pair.y[i] = pair.x[i];
}

cudaError_t copy_pair(Pair pair, int n, cudaStream_t stream) {
  return launch(copy_pair_kernel, (n + 63) / 64, 64, 0, stream, pair, n);
}

// --- probes ---

__global__ void shuffles(float* out, unsigned long long) {
  int lane = threadIdx.x;
  float v = float(lane);
  out[lane] = __shfl_up_sync(~0u, v, 1) + 100 * __shfl_down_sync(~0u, v, 2, 8);
  out[32 + lane] = float(__shfl_sync(~0u, double(v), lane / 8, 8)) + 100 * __shfl_xor_sync(~0u, v, 3);
}

__global__ void votes(float* out, unsigned long long) {
  int lane = threadIdx.x;
  out[lane] = float(__popc(__ballot_sync(~0u, lane % 3 == 0)));
  out[32 + lane] = 0;
  if (lane < 8) out[32 + lane] = float(__any_sync(0xff, lane == 9) + 10 * __all_sync(0xff, lane < 8));
}

__global__ void counts(float* out, unsigned long long) {
  int t = threadIdx.x;
  int count = __syncthreads_count(t % 5 == 0), any = __syncthreads_or(t == 63),
      all = __syncthreads_and(t < 63);
  out[t] = float(count + 100 * any + 1000 * all);
}

__global__ void int_atomics(float* out, unsigned long long) {
  SHARED(int, box, [6]);
  int t = threadIdx.x;
  if (t < 6) box[t] = t == 1 ? 1000 : 0;
  __syncthreads();
  atomicAdd(&box[0], t);
  atomicMin(&box[1], 7 + t);
  atomicMax(&box[2], t);
  atomicOr(&box[3], 1 << t % 5);
  atomicCAS(&box[4], 0, 1 + t % 1);
  atomicExch(&box[5], 9);
  __syncthreads();
  if (t < 6) out[t] = float(box[t]);
}

__global__ void two_barriers(float* out, unsigned long long) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void lonely_shuffle(float* out, unsigned long long) {
  if (threadIdx.x >= 16) return;
  __syncwarp(0xffff);
  out[threadIdx.x] = __shfl_sync(~0u, 1.f, 0);
}

template <bool kOrdered>
__global__ void warp_exchange(float* out, unsigned long long) {
  SHARED(float, box, [32]);
  box[threadIdx.x] = float(threadIdx.x);
  if (kOrdered)
    __syncwarp();
  else
    __shfl_sync(~0u, 0, 0);  // lets the lanes meet, but orders no memory
  out[threadIdx.x] = box[(threadIdx.x + 1) % 32];
}

__global__ void uninitialised_shared(float* out, unsigned long long) {
  SHARED(float, box, [64]);
  if (threadIdx.x < 63) box[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}

__global__ void shared_overrun(float* out, unsigned long long number) {
  SHARED(float, box, [16]);
  SHARED(float, other, [16]);
  if (threadIdx.x < 16) box[threadIdx.x] = other[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) box[number] = 2;
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x % 16];
}

__global__ void dynamic_overrun(float* out, unsigned long long) {
  SHARED_DYN(float, box);
  box[threadIdx.x] = 1;
  out[threadIdx.x] = box[threadIdx.x];
}

__global__ void host_address(float* out, unsigned long long number) {
  out[threadIdx.x] = *reinterpret_cast<const float*>(number);
}

__device__ __attribute__((noinline)) float deep(int n, volatile float* before) {
  volatile float here[256];
  here[n % 256] = float(n) + *before;
  return n == 0 ? here[0] : deep(n - 1, here) + here[n % 256];
}

__global__ void deep_stack(float* out, unsigned long long number) {
  volatile float start = 1;
  out[threadIdx.x] = deep(int(number), &start);
}

__global__ void half_bytes(float* out, unsigned long long) {
  SHARED(unsigned char, box, [64]);
  box[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}

static const float kTable[4] = {2, 3, 5, 7};

__global__ void constants(float* out, unsigned long long) { out[threadIdx.x] = kTable[threadIdx.x % 4]; }

__global__ void local_array(float* out, unsigned long long number) {
  float local[16];
  for (int i = 0; i < 16; ++i) local[i] = float(i * number);
  __syncthreads();
  out[threadIdx.x] = local[(threadIdx.x + number) % 16];
}

static auto kernel_of(Probe probe) {
  switch (probe) {
    case Probe::Shuffles:
      return shuffles;
    case Probe::Votes:
      return votes;
    case Probe::Counts:
      return counts;
    case Probe::IntAtomics:
      return int_atomics;
    case Probe::TwoBarriers:
      return two_barriers;
    case Probe::LonelyShuffle:
      return lonely_shuffle;
    case Probe::WarpRace:
      return warp_exchange<false>;
    case Probe::WarpOrdered:
      return warp_exchange<true>;
    case Probe::UninitialisedShared:
      return uninitialised_shared;
    case Probe::SharedOverrun:
      return shared_overrun;
    case Probe::DynamicOverrun:
      return dynamic_overrun;
    case Probe::HostAddress:
      return host_address;
    case Probe::DeepStack:
      return deep_stack;
    case Probe::HalfBytes:
      return half_bytes;
    case Probe::Constants:
      return constants;
    default:
      return local_array;
  }
}

cudaError_t probe(Probe probe, int threads, size_t smem, float* out, unsigned long long number,
                  cudaStream_t stream) {
  return launch(kernel_of(probe), 1, threads, smem, stream, out, number);
}

cudaError_t probe(Probe which, float* out, unsigned long long number, cudaStream_t stream) {
  bool one_warp = which == Probe::Shuffles || which == Probe::Votes || which == Probe::LonelyShuffle ||
                  which == Probe::WarpRace || which == Probe::WarpOrdered;
  return probe(which, one_warp ? 32 : 64, 64, out, number, stream);
}
