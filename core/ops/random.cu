// Random numbers: the CPU's (core/cpu/random_isa.cpp), from the same words of the same stream. A thread takes
// one Philox block of four words and makes the elements that they are for. Normal numbers go through the
// device's log, and may differ from the CPU's by a few ULP.
#include <tarn/core/cpu/philox.h>
#include <tarn/core/cuda/device/launchers.h>
#include <tarn/core/cuda/element.h>
#include <tarn/core/cuda/value.h>
#include <tarn/core/cuda/walk.h>

namespace tarn::inline v1::gpu {

__device__ inline bool is_floating(Elem type) {
  return type == Elem::F16 || type == Elem::BF16 || type == Elem::F32 || type == Elem::F64;
}

// Words per element.
__device__ inline int words_per(const RandomCall& c) {
  if (c.kind == RandomKind::Integer) return c.range <= uint64_t(1) << 32 ? 2 : 4;
  bool wide = c.kind == RandomKind::Uniform || c.kind == RandomKind::Normal;
  return wide && c.type == Elem::F64 ? 2 : 1;
}

// --- uniform ---

__device__ inline double uniform(const RandomCall& c, const uint32_t* w) {
  float from = float(c.a), to = float(c.b), width = to - from;
  if (c.type == Elem::F64) {
    double value = uniform_double(w[0], w[1]) * (c.b - c.a) + c.a,
           below = c.b > c.a ? nextafter(c.b, c.a) : c.b;
    return value < below ? value : below;
  }
  if (c.type == Elem::F32) {
    float value = uniform_float(w[0]) * width + from, below = to > from ? nextafterf(to, from) : to;
    return value < below ? value : below;
  }
  // As many random bits as the significand has.
  return c.type == Elem::F16 ? float(w[0] >> 21) * 0x1p-11f * width + from
                             : float(w[0] >> 24) * 0x1p-8f * width + from;
}

// --- normal: two numbers on a circle; the series and quarters of core/cpu/random_isa.cpp ---

template <class T>
__device__ T sin_series(T x) {
  T s = x * x, y = 0;
  constexpr int terms = sizeof(T) == 4 ? 5 : 9;
  for (int k = terms - 1; k >= 1; --k) y = (1 - y) * s / (T(2 * k) * T(2 * k + 1));
  return x - x * y;
}
template <class T>
__device__ T cos_series(T x) {
  T s = x * x, y = 0;
  constexpr int terms = sizeof(T) == 4 ? 5 : 9;
  for (int k = terms; k >= 1; --k) y = (1 - y) * s / (T(2 * k - 1) * T(2 * k));
  return 1 - y;
}

template <class T>
struct Pair {
  T a, b;
};

// Of a uniform number in (0, 1] and a turn as a fraction of the unsigned type's range.
template <class T, class U, class I>
__device__ Pair<T> normal_pair(T u, U turn, T mean, T std) {
  constexpr int bits = sizeof(U) * 8;
  T r = call_sqrt(-2 * call_log(u));
  U quarter = U(turn + (U(1) << (bits - 3))) >> (bits - 2);
  T x = T(I(turn - (quarter << (bits - 2)))) *
        (sizeof(T) == 4 ? T(6.283185307179586 * 0x1p-32) : T(6.283185307179586 * 0x1p-64));
  T s = sin_series(x), c = cos_series(x);
  T cosine = quarter & 1 ? s : c, sine = quarter & 1 ? c : s;
  if ((quarter + 1) & 2) cosine = -cosine;
  if (quarter & 2) sine = -sine;
  return {r * cosine * std + mean, r * sine * std + mean};
}

// The elements of one block from place `at` on, as doubles.
__device__ inline int normals(const RandomCall& c, const uint32_t* w, double* values) {
  if (c.type == Elem::F64) {
    auto p = normal_pair<double, uint64_t, int64_t>(uniform_double(w[0], w[1]) + 0x1p-54,
                                                    uint64_t(w[3]) << 32 | w[2], c.a, c.b);
    values[0] = p.a, values[1] = p.b;
    return 2;
  }
  for (int k = 0; k < 4; k += 2) {
    float u = float(int32_t(w[k] >> 1)) * 0x1p-31f + 0x1p-33f;
    auto p = normal_pair<float, uint32_t, int32_t>(u, w[k + 1], float(c.a), float(c.b));
    values[k] = p.a, values[k + 1] = p.b;
  }
  return 4;
}

// --- the rest ---

__device__ inline bool happens(double p, uint32_t word) { return double(word) < p * 0x1p32; }

__device__ inline double dropped(const RandomCall& c, const uint32_t* w, int64_t i) {
  double limit = rint(c.a * 0x1p32), last = 0x1p32 - 1;
  bool keep = w[0] >= uint32_t(limit < last ? limit : last);
  double x = load(c.in, c.type, i).real;
  if (c.type == Elem::F64) return x * (keep && c.a < 1 ? 1 / (1 - c.a) : 0);
  return float(x) * (keep && c.a < 1 ? float(1 / (1 - c.a)) : 0.0f);
}

__device__ inline Value value_of(const RandomCall& c, const uint32_t* w, int64_t i) {
  bool floating = is_floating(c.type);
  switch (c.kind) {
    case RandomKind::Uniform:
      return {true, uniform(c, w), 0};
    case RandomKind::Dropout:
      return {true, dropped(c, w, i), 0};
    case RandomKind::Bernoulli: {
      bool yes = happens(c.a, w[0]);
      return {floating, yes ? 1.0 : 0.0, yes};
    }
    default: {
      bool narrow = c.range <= uint64_t(1) << 32;
      uint64_t drawn = narrow ? below(c.range, w[0], w[1]) : below(c.range, Words{{w[0], w[1], w[2], w[3]}});
      int64_t integer = int64_t(c.low + drawn);
      return {floating, double(integer), integer};
    }
  }
}

__global__ void random_kernel(RandomCall c) {
  int per = words_per(c), elements = 4 / per;
  int64_t blocks = (c.count + elements - 1) / elements;
  for (int64_t b = first_index(); b < blocks; b += index_step()) {
    Words words = philox_block(c.seed, c.offset / 4 + uint64_t(b));
    double pairs[4];
    if (c.kind == RandomKind::Normal) normals(c, words.w, pairs);
    for (int k = 0; k < elements; ++k) {
      int64_t i = b * elements + k;
      if (i >= c.count) break;
      Value value =
          c.kind == RandomKind::Normal ? Value{true, pairs[k], 0} : value_of(c, words.w + k * per, i);
      store(c.out, c.type, i, value);
    }
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t random_launch(const RandomCall& call, cudaStream_t stream) {
  return launch(gpu::random_kernel, gpu::blocks_for(call.count, gpu::kBlock * 4), gpu::kBlock, 0, stream,
                call);
}

}  // namespace tarn::inline v1::detail
