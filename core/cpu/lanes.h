// The lanes of Note [Reduction order] for kernels that sum while they do something else. Included by
// *_isa.cpp files only.
#pragma once

#include <tarn/core/cpu/math.h>
#include <tarn/core/cpu/reduce_kernels.h>

namespace tarn::inline v1::TARN_ISA {

// The first `count` lanes from p, all of them if count is N.
template <class T, int N = kLanes<T>>
TARN_INLINE V<T, N> load_some(const T* p, int count) {
  return count == N ? load<T, N>(p) : load_part<T, N>(p, count);
}
template <class T, int N>
TARN_INLINE void store_some(T* p, V<T, N> x, int count) {
  count == N ? store(p, x) : store_part(p, x, count);
}

// Folds a vector in half again and again: lane i takes lane i + width / 2. combine(V, V) -> V.
template <class T, int N, class Combine>
TARN_INLINE T fold_vector(V<T, N> x, Combine combine) {
  if constexpr (N == 1) {
    return x.v;
  } else {
    Halves<T, N> h = split(x);
    return fold_vector(combine(h.lo, h.hi), combine);
  }
}

// The same for all lanes.
template <class T, class Combine>
TARN_INLINE T fold_lanes(T* lanes, Combine combine) {
  constexpr int N = kLanes<T>;
  for (int width = detail::kReduceLanes<T> / 2; width >= N; width /= 2) {
    for (int i = 0; i < width; i += N) {
      store(lanes + i, combine(load<T, N>(lanes + i), load<T, N>(lanes + width + i)));
    }
  }
  return fold_vector(load<T, N>(lanes), combine);
}

// Calls f(i, count) for i = 0, N, 2N ... below n and combines the vectors it returns in lanes; in the last
// call count may be less than N, and only so many lanes take part.
template <class T, class F, class Combine>
TARN_INLINE T reduce_row(int64_t n, T identity, F f, Combine combine) {
  constexpr int N = kLanes<T>, L = detail::kReduceLanes<T>, R = L / N;
  using X = V<T, N>;
  if (n <= N) {  // one vector; combining the other lanes, which hold the identity, would change nothing
    alignas(64) T lane[N];
    store(lane, X(identity));
    store_some(lane, combine(X(identity), f(0, int(n))), int(n));
    return fold_vector(load<T, N>(lane), combine);
  }
  alignas(64) T lanes[L];
  X acc[R];
  for (int r = 0; r < R; ++r) acc[r] = X(identity);
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    for (int r = 0; r < R; ++r) acc[r] = combine(acc[r], f(i + r * N, N));
  }
  for (int r = 0; r < R; ++r) store(lanes + r * N, acc[r]);
  T* lane = lanes;
  for (; i + N <= n; i += N, lane += N) store(lane, combine(load<T, N>(lane), f(i, N)));
  if (i < n) {
    int count = int(n - i);
    store_part(lane, combine(load<T, N>(lane), f(i, count)), count);
  }
  return fold_lanes(lanes, combine);
}

struct Add {
  template <class X>
  TARN_INLINE X operator()(X a, X b) const {
    return a + b;
  }
};
struct Larger {
  template <class X>
  TARN_INLINE X operator()(X a, X b) const {
    return max(a, b);
  }
};

// Calls f(i, count) for vectors of a row without combining anything.
template <class T, class F>
TARN_INLINE void for_row(int64_t n, F f) {
  constexpr int N = kLanes<T>;
  int64_t i = 0;
  for (; i + N <= n; i += N) f(i, N);
  if (i < n) f(i, int(n - i));
}

}  // namespace tarn::inline v1::TARN_ISA
