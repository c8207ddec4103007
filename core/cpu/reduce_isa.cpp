#include <tarn/core/cpu/lanes.h>
#include <tarn/core/cpu/reduce_kernels.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::ReduceTable reduce_kernels;

namespace {

using detail::kReduceLanes;
using detail::ReduceKind;

template <class T>
constexpr T lowest() {
  if constexpr (is_float<T>) return -T(__builtin_inf());
  return T(INT64_MIN);
}
template <class T>
constexpr T highest() {
  if constexpr (is_float<T>) return T(__builtin_inf());
  return T(INT64_MAX);
}

template <ReduceKind K>
constexpr bool is_product = K == ReduceKind::Prod;
template <ReduceKind K>
constexpr bool takes_max = K == ReduceKind::Max || K == ReduceKind::MaxAbs || K == ReduceKind::Any;
template <ReduceKind K>
constexpr bool takes_min = K == ReduceKind::Min || K == ReduceKind::MinAbs || K == ReduceKind::All;

template <ReduceKind K, class T>
constexpr T identity() {
  if (is_product<K>) return T(1);
  if (K == ReduceKind::Any || K == ReduceKind::MaxAbs) return T(0);
  if (K == ReduceKind::All) return T(1);
  return takes_max<K> ? lowest<T>() : takes_min<K> ? highest<T>() : T(0);
}

// What of an element takes part.
template <ReduceKind K, class X>
TARN_INLINE X map(X x, [[maybe_unused]] X param, [[maybe_unused]] X constant) {
  using enum ReduceKind;
  if constexpr (K == Any || K == All || K == CountNonzero)
    return where(x != 0, X(1), X(0));
  else if constexpr (K == SumAbs || K == MaxAbs || K == MinAbs)
    return abs(x);
  else if constexpr (K == SumSquares)
    return x * x;
  else if constexpr (K == SumPowers)
    return pow(abs(x), constant);
  else if constexpr (K == SumDeviations)
    return x - param;
  else if constexpr (K == SumSquaredDeviations)
    return (x - param) * (x - param);
  else if constexpr (K == SumExp)
    return exp(x - param);
  else
    return x;
}

template <ReduceKind K, class X>
TARN_INLINE X combine(X a, X b) {
  if constexpr (is_product<K>)
    return a * b;
  else if constexpr (takes_max<K>)
    return max(a, b);
  else if constexpr (takes_min<K>)
    return min(a, b);
  else
    return a + b;
}

template <ReduceKind K, class T>
void row(T* lanes, const T* x, int64_t n, T param, T constant) {
  constexpr int N = kLanes<T>, L = kReduceLanes<T>, R = L / N;
  using X = V<T, N>;
  X p(param), c(constant);
  int64_t i = 0;
  if (n >= L) {
    X acc[R];
    for (int r = 0; r < R; ++r) acc[r] = load<T, N>(lanes + r * N);
    for (; i + L <= n; i += L) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r] = combine<K>(acc[r], map<K>(load<T, N>(x + i + r * N), p, c));
    }
    for (int r = 0; r < R; ++r) store(lanes + r * N, acc[r]);
  }
  T* lane = lanes;
  for (; i + N <= n; i += N, lane += N) {
    store(lane, combine<K>(load<T, N>(lane), map<K>(load<T, N>(x + i), p, c)));
  }
  if (i < n) {
    int count = int(n - i);
    store_part(lane, combine<K>(load<T, N>(lane), map<K>(load_part<T, N>(x + i, count), p, c)), count);
  }
}

template <ReduceKind K, class T>
T fold(T* lanes) {
  return fold_lanes(lanes, [](auto a, auto b) { return combine<K>(a, b); });
}

// R vectors of columns at once, so that their accumulators stay in registers over all rows.
template <ReduceKind K, int R, class T>
TARN_INLINE void column_block(T* acc, const T* x, int64_t step, int64_t rows, const T* param, T constant) {
  constexpr int N = kLanes<T>;
  using X = V<T, N>;
  X a[R], p[R], c(constant);
  for (int r = 0; r < R; ++r) {
    a[r] = load<T, N>(acc + r * N);
    p[r] = param ? load<T, N>(param + r * N) : X(0);
  }
  for (int64_t i = 0; i < rows; ++i, x += step) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) a[r] = combine<K>(a[r], map<K>(load<T, N>(x + r * N), p[r], c));
  }
  for (int r = 0; r < R; ++r) store(acc + r * N, a[r]);
}

template <ReduceKind K, class T>
void columns(T* acc, const T* x, int64_t step, int64_t rows, int64_t n, const T* param, T constant) {
  constexpr int N = kLanes<T>, R = 4;
  using X = V<T, N>;
  auto at = [&](int64_t i) { return param ? param + i : nullptr; };
  int64_t i = 0;
  for (; i + R * N <= n; i += R * N) column_block<K, R>(acc + i, x + i, step, rows, at(i), constant);
  for (; i + N <= n; i += N) column_block<K, 1>(acc + i, x + i, step, rows, at(i), constant);
  if (i == n) return;
  int count = int(n - i);
  X a = load_part<T, N>(acc + i, count), p = param ? load_part<T, N>(param + i, count) : X(0), c(constant);
  for (int64_t k = 0; k < rows; ++k)
    a = combine<K>(a, map<K>(load_part<T, N>(x + k * step + i, count), p, c));
  store_part(acc + i, a, count);
}

template <ReduceKind K, class T>
void combine_runs(T* a, const T* b, int64_t n) {
  constexpr int N = kLanes<T>;
  int64_t i = 0;
  for (; i + N <= n; i += N) store(a + i, combine<K>(load<T, N>(a + i), load<T, N>(b + i)));
  for (; i < n; ++i) a[i] = combine<K>(V<T, 1>(a[i]), V<T, 1>(b[i])).v;
}

template <ReduceKind K, class T>
constexpr detail::ReduceKernel<T> kernel() {
  using enum ReduceKind;
  constexpr bool of_integers =
      K == Sum || K == Prod || K == Max || K == Min || K == Any || K == All || K == CountNonzero;
  if constexpr (is_float<T> || of_integers) {
    return {identity<K, T>(), row<K, T>, fold<K, T>, columns<K, T>, combine_runs<K, T>};
  } else {
    return {};
  }
}

template <class T>
int64_t find(const T* x, int64_t n, T value) {
  constexpr int N = kLanes<T>;
  V<T, N> v(value);
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    V<T, N> y = load<T, N>(x + i);
    if (any((y == v) | (isnan(y) & isnan(v)))) break;
  }
  while (i < n && !(x[i] == value || (x[i] != x[i] && value != value))) ++i;
  return i;
}

}  // namespace

#define TARN_KIND(k, T) kernel<ReduceKind(k), T>()
#define TARN_KINDS(T)                                                                                     \
  {                                                                                                       \
    TARN_KIND(0, T), TARN_KIND(1, T), TARN_KIND(2, T), TARN_KIND(3, T), TARN_KIND(4, T), TARN_KIND(5, T), \
        TARN_KIND(6, T), TARN_KIND(7, T), TARN_KIND(8, T), TARN_KIND(9, T), TARN_KIND(10, T),             \
        TARN_KIND(11, T), TARN_KIND(12, T), TARN_KIND(13, T), TARN_KIND(14, T)                            \
  }
static_assert(detail::kReduceKinds == 15);
const detail::ReduceTable reduce_kernels = {TARN_KINDS(float), TARN_KINDS(double), TARN_KINDS(int64_t),
                                            find<float>,       find<double>,       find<int64_t>};
#undef TARN_KINDS
#undef TARN_KIND

}  // namespace tarn::inline v1::TARN_ISA
