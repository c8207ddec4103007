// What the normalisations' kernels share: loops over vectors, sums in a fixed number of lanes, and moments.
// Included by files built per instruction set only.
#pragma once

#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

namespace {

// Elements summed in T before they go to double; they stay in the first-level cache for the second pass over
// them.
constexpr int64_t kBlock = 2048;

// --- loops: f(i, io) for whole vectors and the part at the end, which read and write through io ---

template <class T>
struct Whole {
  using X = V<T, kLanes<T>>;
  TARN_INLINE X load(const T* p) const { return TARN_ISA::load<T, kLanes<T>>(p); }
  TARN_INLINE void store(T* p, X x) const { TARN_ISA::store(p, x); }
};
template <class T>
struct Part {
  using X = V<T, kLanes<T>>;
  int count;
  TARN_INLINE X load(const T* p) const { return load_part<T, kLanes<T>>(p, count); }
  TARN_INLINE void store(T* p, X x) const { store_part(p, x, count); }
  // 0 in the other lanes.
  TARN_INLINE X only(X x) const {
    T lanes[kLanes<T>];
    TARN_ISA::store(lanes, x);
    return load(lanes);
  }
};

template <class T, class F>
TARN_INLINE void for_vectors(int64_t size, F f) {
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= size; i += n) f(i, Whole<T>());
  if (i < size) f(i, Part<T>{int(size - i)});
}

template <class T>
using X = V<T, kLanes<T>>;

// --- sums over a block: in as many lanes on every instruction set, added up in one order ---

template <class T>
constexpr int kSumLanes = 256 / int(sizeof(T));

template <class T>
struct LaneSums {
  static constexpr int kVectors = kSumLanes<T> / kLanes<T>;
  X<T> v[kVectors];

  TARN_INLINE LaneSums() {
    for (int i = 0; i < kVectors; ++i) v[i] = X<T>(0);
  }
  // Adds the last `rest` elements to the first lanes, then the lanes: f(i, io) gives elements i and on, which
  // it reads through io. A lane is never -0, so that adding 0 to the others leaves them as they are.
  template <class F>
  TARN_INLINE T finish(int64_t rest, F f) {
    constexpr int n = kLanes<T>;
    int k = 0;
    for (; (k + 1) * n <= rest; ++k) v[k] = v[k] + f(k * n, Whole<T>());
    if (k * n < rest) {
      Part<T> part{int(rest - k * n)};
      v[k] = v[k] + part.only(f(k * n, part));
    }
    for (int half = kVectors / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) v[i] = v[i] + v[i + half];
    T lanes[n];
    store(lanes, v[0]);
    for (int width = n / 2; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    return lanes[0];
  }
};

// The sum of x - centre, or of its square.
template <bool Square, class T>
TARN_INLINE T centred_sum(const T* x, int64_t size, T centre) {
  LaneSums<T> sums;
  auto element = [&](int64_t i, auto io) {
    X<T> d = io.load(x + i) - X<T>(centre);
    return Square ? d * d : d;
  };
  int64_t i = 0;
  for (; i + kSumLanes<T> <= size; i += kSumLanes<T>)
    for (int k = 0; k < sums.kVectors; ++k) sums.v[k] = sums.v[k] + element(i + k * kLanes<T>, Whole<T>());
  return sums.finish(size - i, [&](int64_t r, auto io) { return element(i + r, io); });
}

struct Moments {
  double count, mean, squares;  // squares: the sum of squared distances from the mean
};

TARN_INLINE bool is_finite(double x) { return x - x == 0; }

// Where sums in T overflow, though mean and variance are finite numbers of double.
template <class T>
Moments wide_moments(const T* x, int64_t size) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < size; ++i) sum += double(x[i]);
  double mean = sum / double(size);
  for (int64_t i = 0; i < size; ++i) squares += (double(x[i]) - mean) * (double(x[i]) - mean);
  return {double(size), mean, squares};
}

// Two passes over a block. Relative to its first element, a block of large equal values has no rounding.
template <class T>
Moments block_moments(const T* x, int64_t size) {
  double count = double(size), mean = double(x[0]) + double(centred_sum<false>(x, size, x[0])) / count;
  T centre = T(mean);
  double off = mean - double(centre);
  double squares = double(centred_sum<true>(x, size, centre)) - count * off * off;
  if (!is_finite(squares)) return wide_moments(x, size);
  return {count, mean, squares > 0 ? squares : 0};
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
// (1979).
TARN_INLINE Moments join(const Moments& a, const Moments& b) {
  double count = a.count + b.count, delta = b.mean - a.mean;
  return {count, a.mean + delta * (b.count / count),
          a.squares + b.squares + delta * delta * (a.count * b.count / count)};
}

// Short runs that lie apart end before the hardware sees where they lead. Asks for the run that is some 4 KiB
// of runs ahead of run p.
template <class T>
TARN_INLINE void ask_ahead(const T* x, int64_t p, int64_t count, int64_t step, int64_t size) {
  constexpr int64_t kAhead = 4096, kLine = 64 / sizeof(T);
  const int64_t bytes = size * int64_t(sizeof(T));
  if (bytes == 0 || bytes > kAhead) return;
  p += 1 + kAhead / bytes;
  if (p >= count) return;
  for (int64_t i = 0; i < size + kLine - 1; i += kLine)
    __builtin_prefetch(x + p * step + (i < size ? i : size - 1));
}

// Calls f(first element, count) for blocks of `count` runs of `size` elements of the arrays that lie `step`
// apart.
template <class F, class... T>
TARN_INLINE void for_blocks(int64_t count, int64_t step, int64_t size, F f, const T*... arrays) {
  for (int64_t p = 0; p < count; ++p) {
    (ask_ahead(arrays, p, count, step, size), ...);
    for (int64_t at = 0; at < size; at += kBlock) f(p * step + at, size - at < kBlock ? size - at : kBlock);
  }
}

template <class T>
Moments moments_of(const T* x, int64_t count, int64_t step, int64_t size) {
  Moments all = {0, 0, 0};
  for_blocks(
      count, step, size,
      [&](int64_t at, int64_t length) {
        Moments block = block_moments(x + at, length);
        all = all.count == 0 ? block : join(all, block);
      },
      x);
  return all;
}

}  // namespace

}  // namespace tarn::inline v1::TARN_ISA
