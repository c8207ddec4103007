// CUDA's device functions under their own names, for kernels that g++ compiles. Included by kernel.h alone.
// Intrinsics that round or approximate on the device (__expf) are exact here: compare with tolerances, never
// bits.
#pragma once

#define threadIdx (::tarn::emu::thread_index())
#define blockIdx (::tarn::emu::block_index())
#define blockDim (::tarn::emu::block_size())
#define gridDim (::tarn::emu::grid_size())
static constexpr int warpSize = 32;

#define SHARED(T, name, ...)                                                                 \
  typedef T tarn_type_of_##name __VA_ARGS__;                                                 \
  static const char tarn_key_of_##name = 0;                                                  \
  tarn_type_of_##name& name = *static_cast<tarn_type_of_##name*>(::tarn::emu::static_shared( \
      &tarn_key_of_##name, sizeof(tarn_type_of_##name), alignof(tarn_type_of_##name)))
#define SHARED_DYN(T, name) T* name = static_cast<T*>(::tarn::emu::dynamic_shared())

// --- barriers and votes ---

inline void __syncthreads(TARN_EMU_PLACE) { tarn::emu::barrier(0, file, line); }
inline int __syncthreads_count(int p, TARN_EMU_PLACE) { return tarn::emu::barrier(p, file, line); }
inline int __syncthreads_or(int p, TARN_EMU_PLACE) { return tarn::emu::barrier(p, file, line) > 0; }
inline int __syncthreads_and(int p, TARN_EMU_PLACE) { return tarn::emu::barrier(!p, file, line) == 0; }
inline void __threadfence() {}
inline void __threadfence_block() {}

inline void __syncwarp(unsigned mask = ~0u, TARN_EMU_PLACE) {
  tarn::emu::collective(tarn::emu::Collective::Sync, mask, 0, 0, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int p, TARN_EMU_PLACE) {
  return unsigned(tarn::emu::collective(tarn::emu::Collective::Ballot, mask, p != 0, 0, file, line));
}
inline int __any_sync(unsigned mask, int p, TARN_EMU_PLACE) {
  return __ballot_sync(mask, p, file, line) != 0;
}
inline int __all_sync(unsigned mask, int p, TARN_EMU_PLACE) {
  return __ballot_sync(mask, p, file, line) == mask;
}

// --- shuffles: the lane that a lane reads, within segments of `width` ---

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, TARN_EMU_PLACE) {
  int first = tarn::emu::lane() & ~(width - 1);
  return tarn::emu::shuffle(mask, value, first | (source & (width - 1)), file, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TARN_EMU_PLACE) {
  int lane = tarn::emu::lane(), within = lane & (width - 1);
  return tarn::emu::shuffle(mask, value, within >= int(delta) ? lane - int(delta) : lane, file, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TARN_EMU_PLACE) {
  int lane = tarn::emu::lane(), within = lane & (width - 1);
  return tarn::emu::shuffle(mask, value, within + int(delta) < width ? lane + int(delta) : lane, file, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, TARN_EMU_PLACE) {
  int lane = tarn::emu::lane(), source = lane ^ bits;
  bool later_segment = (source & ~(width - 1)) > (lane & ~(width - 1));
  return tarn::emu::shuffle(mask, value, later_segment ? lane : source, file, line);
}

// --- atomics; they report themselves to the access checks ---

#define TARN_EMU_ATOMIC(name, result)                                                           \
  template <class T>                                                                            \
  TARN_EMU_HIDDEN __attribute__((noinline)) T name(T* p, std::type_identity_t<T> v) {           \
    ::tarn::emu::check_atomic(p, sizeof(T), __builtin_return_address(0));                       \
    return ::tarn::emu::read_modify_write(p, [v](T old) TARN_EMU_HIDDEN { return T(result); }); \
  }
TARN_EMU_ATOMIC(atomicAdd, old + v)
TARN_EMU_ATOMIC(atomicSub, old - v)
TARN_EMU_ATOMIC(atomicMax, old < v ? v : old)
TARN_EMU_ATOMIC(atomicMin, v < old ? v : old)
TARN_EMU_ATOMIC(atomicExch, ((void)old, v))
TARN_EMU_ATOMIC(atomicAnd, old& v)
TARN_EMU_ATOMIC(atomicOr, old | v)
TARN_EMU_ATOMIC(atomicXor, old ^ v)
TARN_EMU_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
#undef TARN_EMU_ATOMIC

template <class T>
TARN_EMU_HIDDEN __attribute__((noinline)) T atomicCAS(T* p, std::type_identity_t<T> expected,
                                                      std::type_identity_t<T> v) {
  ::tarn::emu::check_atomic(p, sizeof(T), __builtin_return_address(0));
  return ::tarn::emu::read_modify_write(p, [=](T old) TARN_EMU_HIDDEN { return old == expected ? v : old; });
}

// --- loads, bits, math ---

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, std::type_identity_t<T> v) {
  *p = v;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((static_cast<unsigned __int128>(a) * b) >> 64);
}
template <class To, class From>
inline To tarn_emu_bits(From x) {
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}
inline float __int_as_float(int x) { return tarn_emu_bits<float>(x); }
inline int __float_as_int(float x) { return tarn_emu_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return tarn_emu_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return tarn_emu_bits<unsigned>(x); }
inline double __longlong_as_double(long long x) { return tarn_emu_bits<double>(x); }
inline long long __double_as_longlong(double x) { return tarn_emu_bits<long long>(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1.f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline int __float2int_rn(float x) { return int(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline float __int2float_rn(int x) { return float(x); }

inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long min(long a, long b) { return b < a ? b : a; }
inline long max(long a, long b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
