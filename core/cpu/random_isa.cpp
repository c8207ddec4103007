#include <tarn/core/cpu/math.h>
#include <tarn/core/cpu/philox.h>
#include <tarn/core/cpu/random_kernels.h>
#include <tarn/core/random_stream.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::RandomKernels random_kernels;

namespace {

using detail::RandomStream;

constexpr int kTile = int(detail::kRandomTile);

// --- words ---

constexpr int kBlocks = kVecBytes / 8;  // Philox blocks computed side by side, each in 64-bit lanes
using Block = Native<uint64_t, kBlocks>;

// The product of the low halves of each lane; the high halves may hold anything.
TARN_INLINE Block multiply_low(Block a, uint32_t b) {
#if defined(__AVX512F__)
  return (Block)_mm512_maskz_mul_epu32(-1, (__m512i)a, _mm512_set1_epi64(b));
#elif defined(__AVX2__)
  return (Block)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#elif defined(__SSE2__)
  return (Block)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#else
  return (a & 0xffffffffu) * uint64_t(b);
#endif
}

// As detail::philox(), several blocks at once. The high half of each lane is rubbish until the end.
TARN_INLINE void philox_lanes(Block index, uint64_t seed, uint64_t* out) {
  Block c0 = index, c1 = index >> 32, c2 = {}, c3 = {};
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    Block p0 = multiply_low(c0, 0xD2511F53u), p1 = multiply_low(c2, 0xCD9E8D57u);
    c0 = (p1 >> 32) ^ c1 ^ uint64_t(k0);
    c2 = (p0 >> 32) ^ c3 ^ uint64_t(k1);
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  Block low = (c0 & 0xffffffffu) | (c1 << 32), high = (c2 & 0xffffffffu) | (c3 << 32);
  for (int i = 0; i < kBlocks; ++i) {
    out[2 * i] = low[i];
    out[2 * i + 1] = high[i];
  }
}

// `n` is a multiple of 4, as is `first`.
[[gnu::noinline]] void write_blocks(uint32_t* out, const RandomStream& stream, int64_t first, int64_t n) {
  uint64_t block = (stream.offset + uint64_t(first)) / 4;
  Block lane;
  for (int k = 0; k < kBlocks; ++k) lane[k] = uint64_t(k);
  int64_t left = n / 4;
  for (; left >= kBlocks; left -= kBlocks, block += kBlocks, out += 4 * kBlocks) {
    uint64_t words[2 * kBlocks];
    philox_lanes(lane + block, stream.seed, words);
    __builtin_memcpy(out, words, sizeof words);
  }
  for (; left > 0; --left, ++block, out += 4) {
    detail::Words w = detail::philox_block(stream.seed, block);
    __builtin_memcpy(out, w.w, sizeof w.w);
  }
}

void words(uint32_t* out, const RandomStream& stream, int64_t first, int64_t n) {
  write_blocks(out, stream, first, n / 4 * 4);
  if (n % 4 == 0) return;
  uint32_t last[4];
  write_blocks(last, stream, first + n / 4 * 4, 4);
  for (int64_t k = 0; k < n % 4; ++k) out[n / 4 * 4 + k] = last[k];
}

// Calls f(words, T* place) for whole tiles of elements that take `per` words each; the last one goes through
// a buffer.
template <int per, class T, class F>
TARN_INLINE void for_tiles(T* out, const RandomStream& stream, int64_t first, int64_t n, F f) {
  alignas(64) uint32_t tile_words[kTile * per];
  for (int64_t i = 0; i < n; i += kTile) {
    write_blocks(tile_words, stream, (first + i) * per, kTile * per);
    if (n - i >= kTile) {
      f(tile_words, out + i);
    } else {
      alignas(64) T buffer[kTile];
      f(tile_words, buffer);
      for (int64_t k = 0; k < n - i; ++k) out[i + k] = buffer[k];
    }
  }
}

// --- uniform ---

void uniform_f32(float* out, const RandomStream& stream, int64_t first, int64_t n, float from, float to) {
  float width = to - from, below = to > from ? __builtin_nextafterf(to, from) : to;
  for_tiles<1>(out, stream, first, n, [&](const uint32_t* w, float* place) {
    for (int k = 0; k < kTile; ++k) {
      float value = detail::uniform_float(w[k]) * width + from;
      place[k] = value < below ? value : below;  // the product may round up to `to`
    }
  });
}

// --- normal: Box and Muller, "A note on the generation of random normal deviates", 1958 ---

// sin and cos of x in [-pi/4, pi/4] by their Taylor series, exact to an ULP of T.
template <class T, int N>
TARN_INLINE V<T, N> sin_series(V<T, N> x) {
  V<T, N> s = x * x, y(0);
  constexpr int terms = same<T, float> ? 5 : 9;  // up to x^9, x^17
  for (int k = terms - 1; k >= 1; --k) y = (1 - y) * s / V<T, N>(T(2 * k) * T(2 * k + 1));
  return x - x * y;
}
template <class T, int N>
TARN_INLINE V<T, N> cos_series(V<T, N> x) {
  V<T, N> s = x * x, y(0);
  constexpr int terms = same<T, float> ? 5 : 9;  // up to x^10, x^18
  for (int k = terms; k >= 1; --k) y = (1 - y) * s / V<T, N>(T(2 * k - 1) * T(2 * k));
  return 1 - y;
}

template <class T, int N>
struct Pair {
  V<T, N> a, b;
};

// std * r * (cos, sin) of a turn given as a fraction of 2^bits: the nearest quarter apart, the rest in
// series.
template <class T, int N, class I>
TARN_INLINE Pair<T, N> on_circle(V<T, N> r, V<I, N> turn) {
  constexpr int bits = sizeof(I) * 8;
  V<I, N> quarter = shift_right_logical(turn + V<I, N>(I(I(1) << (bits - 3))), bits - 2);
  V<I, N> rest = turn - (quarter << (bits - 2));
  V<T, N> x = cast<T>(rest) *
              V<T, N>(same<T, float> ? T(6.283185307179586 * 0x1p-32) : T(6.283185307179586 * 0x1p-64));
  V<T, N> s = sin_series(x), c = cos_series(x);
  auto odd = (quarter & V<I, N>(I(1))) != V<I, N>(I(0));
  V<T, N> cosine = where(odd, s, c), sine = where(odd, c, s);
  auto left =
      ((quarter + V<I, N>(I(1))) & V<I, N>(I(2))) != V<I, N>(I(0));  // quarters 1 and 2: cos is negated
  auto down = (quarter & V<I, N>(I(2))) != V<I, N>(I(0));            // quarters 2 and 3: sin is negated
  return {r * where(left, -cosine, cosine), r * where(down, -sine, sine)};
}

// The radius for a uniform number in (0, 1].
template <class T, int N>
TARN_INLINE V<T, N> radius(V<T, N> u) {
  return sqrt(-2 * log(u));
}

void normal_f32(float* out, const RandomStream& stream, int64_t first, int64_t n, float mean, float std) {
  constexpr int N = kLanes<float>;
  for_tiles<1>(out, stream, first, n, [&](const uint32_t* w, float* place) {
    alignas(64) float u[kTile / 2], a[kTile / 2], b[kTile / 2];
    alignas(64) int32_t turn[kTile / 2];
    for (int k = 0; k < kTile / 2; ++k) {
      // Halves of 2^-32, so that 0 is never reached; the largest values round to 1.
      u[k] = float(int32_t(w[2 * k] >> 1)) * 0x1p-31f + 0x1p-33f;
      turn[k] = int32_t(w[2 * k + 1]);
    }
    for (int k = 0; k < kTile / 2; k += N) {
      Pair<float, N> z = on_circle(radius(load<float, N>(u + k)), load<int32_t, N>(turn + k));
      store(a + k, z.a * V<float, N>(std) + V<float, N>(mean));
      store(b + k, z.b * V<float, N>(std) + V<float, N>(mean));
    }
    for (int k = 0; k < kTile / 2; ++k) {
      place[2 * k] = a[k];
      place[2 * k + 1] = b[k];
    }
  });
}

void normal_f64(double* out, const RandomStream& stream, int64_t first, int64_t n, double mean, double std) {
  constexpr int N = kLanes<double>;
  for_tiles<2>(out, stream, first, n, [&](const uint32_t* w, double* place) {
    alignas(64) double u[kTile / 2], a[kTile / 2], b[kTile / 2];
    alignas(64) int64_t turn[kTile / 2];
    for (int k = 0; k < kTile / 2; ++k) {
      const uint32_t* block = w + 4 * k;
      u[k] = detail::uniform_double(block[0], block[1]) + 0x1p-54;
      turn[k] = int64_t(uint64_t(block[3]) << 32 | block[2]);
    }
    for (int k = 0; k < kTile / 2; k += N) {
      Pair<double, N> z = on_circle(radius(load<double, N>(u + k)), load<int64_t, N>(turn + k));
      store(a + k, z.a * V<double, N>(std) + V<double, N>(mean));
      store(b + k, z.b * V<double, N>(std) + V<double, N>(mean));
    }
    for (int k = 0; k < kTile / 2; ++k) {
      place[2 * k] = a[k];
      place[2 * k + 1] = b[k];
    }
  });
}

// --- dropout ---

void dropout_f32(float* out, const float* in, const RandomStream& stream, int64_t first, int64_t n,
                 uint32_t threshold, float scale) {
  alignas(64) uint32_t w[kTile];
  for (int64_t i = 0; i < n; i += kTile) {
    write_blocks(w, stream, first + i, kTile);
    int64_t count = n - i < kTile ? n - i : kTile;
    for (int64_t k = 0; k < count; ++k) out[i + k] = in[i + k] * (w[k] >= threshold ? scale : 0.0f);
  }
}

}  // namespace

const detail::RandomKernels random_kernels = {words, uniform_f32, normal_f32, normal_f64, dropout_f32};

}  // namespace tarn::inline v1::TARN_ISA
