// The loops of reductions over ranks: a tile of each rank's values at a time, so that the partial results
// stay in the nearest cache.
#include <tarn/core/cpu/vec.h>
#include <tarn/distributed/reduce.h>

namespace tarn::inline v1::TARN_ISA {

namespace {

constexpr int64_t kTile = 1024;

// Integers wrap around, as in tensors' own sums.
struct Sum {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    if constexpr (same<T, bool>)
      return a | b;
    else if constexpr (is_float<T>)
      return a + b;
    else
      return T(uint64_t(a) + uint64_t(b));
  }
};
struct Product {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    if constexpr (same<T, bool>)
      return a & b;
    else if constexpr (is_float<T>)
      return a * b;
    else
      return T(uint64_t(a) * uint64_t(b));
  }
};
// A NaN of any rank is the result.
struct Min {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct And {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  static TARN_INLINE T apply(T a, T b) {
    return T(a ^ b);
  }
};

template <class S>
using Compute = typename Pick<same<S, f16> || same<S, bf16>, float, S>::type;

template <class T, class S>
TARN_INLINE void read(T* tile, const S* from, int64_t n) {
  for (int64_t i = 0; i < n; i++) tile[i] = load_element<T>(from[i]);
}

// kAverage: the sum is divided by the number of ranks at the end.
template <class S, class Op, bool kAverage = false>
void reduce(void* out, const void* const* in, int ranks, int64_t n) {
  using T = Compute<S>;
  T sum[kTile], next[kTile];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    int64_t count = n - begin < kTile ? n - begin : kTile;
    read(sum, static_cast<const S*>(in[0]) + begin, count);
    for (int r = 1; r < ranks; r++) {
      read(next, static_cast<const S*>(in[r]) + begin, count);
      for (int64_t i = 0; i < count; i++) sum[i] = Op::template apply<T>(sum[i], next[i]);
    }
    S* to = static_cast<S*>(out) + begin;
    for (int64_t i = 0; i < count; i++) {
      if constexpr (kAverage) sum[i] = sum[i] / T(ranks);
      to[i] = store_element<S>(sum[i]);
    }
  }
}

template <class S>
constexpr detail::RankReductions of_floats() {
  return {{reduce<S, Sum>, reduce<S, Sum, true>, reduce<S, Product>, reduce<S, Min>, reduce<S, Max>}};
}

template <class S>
constexpr detail::RankReductions of_integers() {
  return {{reduce<S, Sum>, nullptr, reduce<S, Product>, reduce<S, Min>, reduce<S, Max>, reduce<S, And>,
           reduce<S, Or>, reduce<S, Xor>}};
}

}  // namespace

extern const detail::RankReductionTable rank_reductions = {
    .u8 = of_integers<uint8_t>(),
    .i8 = of_integers<int8_t>(),
    .i16 = of_integers<int16_t>(),
    .i32 = of_integers<int32_t>(),
    .i64 = of_integers<int64_t>(),
    .boolean = of_integers<bool>(),
    .f16 = of_floats<f16>(),
    .bf16 = of_floats<bf16>(),
    .f32 = of_floats<float>(),
    .f64 = of_floats<double>(),
};

}  // namespace tarn::inline v1::TARN_ISA
