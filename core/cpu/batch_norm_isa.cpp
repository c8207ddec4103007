#include <tarn/core/cpu/batch_norm.h>
#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::BatchNormKernels batch_norm_kernels;

namespace {

using detail::NormChannel;
using detail::NormRow;

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
  // Adds element(i) of the last `rest` elements to the first lanes, then the lanes.
  template <class F>
  TARN_INLINE T finish(int64_t rest, F element) const {
    T lanes[kSumLanes<T>];
    for (int i = 0; i < kVectors; ++i) store(lanes + i * kLanes<T>, v[i]);
    for (int64_t i = 0; i < rest; ++i) lanes[i] += element(i);
    for (int width = kSumLanes<T> / 2; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    return lanes[0];
  }
};

// The sum of x - centre, or of its square.
template <bool Square, class T>
TARN_INLINE T centred_sum(const T* x, int64_t size, T centre) {
  LaneSums<T> sums;
  int64_t i = 0;
  for (; i + kSumLanes<T> <= size; i += kSumLanes<T>)
    for (int k = 0; k < sums.kVectors; ++k) {
      X<T> d = load<T, kLanes<T>>(x + i + k * kLanes<T>) - X<T>(centre);
      sums.v[k] = sums.v[k] + (Square ? d * d : d);
    }
  return sums.finish(size - i, [&](int64_t r) {
    T d = x[i + r] - centre;
    return Square ? d * d : d;
  });
}

struct Moments {
  double count, mean, squares;
};

// Two passes over a block. Relative to its first element, a block of large equal values has no rounding.
template <class T>
Moments block_moments(const T* x, int64_t size) {
  double count = double(size), mean = double(x[0]) + double(centred_sum<false>(x, size, x[0])) / count;
  T centre = T(mean);
  double off = mean - double(centre);
  double squares = double(centred_sum<true>(x, size, centre)) - count * off * off;
  return {count, mean, squares > 0 ? squares : 0};
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
// (1979).
Moments join(const Moments& a, const Moments& b) {
  double count = a.count + b.count, delta = b.mean - a.mean;
  return {count, a.mean + delta * (b.count / count),
          a.squares + b.squares + delta * delta * (a.count * b.count / count)};
}

// --- planes ---

template <class F>
TARN_INLINE void for_blocks(int64_t count, int64_t step, int64_t size, F f) {
  for (int64_t p = 0; p < count; ++p)
    for (int64_t at = 0; at < size; at += kBlock) f(p * step + at, size - at < kBlock ? size - at : kBlock);
}

template <class T>
void plane_stats(const T* x, int64_t count, int64_t step, int64_t size, double* mean, double* squares) {
  Moments all = {0, 0, 0};
  for_blocks(count, step, size, [&](int64_t at, int64_t length) {
    Moments block = block_moments(x + at, length);
    all = all.count == 0 ? block : join(all, block);
  });
  *mean = all.mean;
  *squares = all.squares;
}

template <class T>
void plane_apply(const T* x, T* y, int64_t count, int64_t step, int64_t size, const NormChannel<T>& c) {
  X<T> high(c.high), low(c.low), scale(c.scale), shift(c.shift);
  for (int64_t p = 0; p < count; ++p)
    for_vectors<T>(size, [&](int64_t i, auto io) {
      int64_t at = p * step + i;
      io.store(y + at, (io.load(x + at) - high - low) * scale + shift);
    });
}

template <class T>
void plane_grad_sums(const T* x, const T* gy, int64_t count, int64_t step, int64_t size,
                     const NormChannel<T>& c, double* sum, double* product) {
  X<T> high(c.high), low(c.low);
  *sum = *product = 0;
  for_blocks(count, step, size, [&](int64_t at, int64_t length) {
    const T *xs = x + at, *gs = gy + at;
    LaneSums<T> plain, times;
    int64_t i = 0;
    for (; i + kSumLanes<T> <= length; i += kSumLanes<T>)
      for (int k = 0; k < plain.kVectors; ++k) {
        X<T> g = load<T, kLanes<T>>(gs + i + k * kLanes<T>);
        plain.v[k] = plain.v[k] + g;
        times.v[k] = times.v[k] + g * (load<T, kLanes<T>>(xs + i + k * kLanes<T>) - high - low);
      }
    *sum += double(plain.finish(length - i, [&](int64_t r) { return gs[i + r]; }));
    *product +=
        double(times.finish(length - i, [&](int64_t r) { return gs[i + r] * (xs[i + r] - c.high - c.low); }));
  });
}

template <class T>
void plane_grad_apply(const T* x, const T* gy, T* gx, int64_t count, int64_t step, int64_t size,
                      const NormChannel<T>& c) {
  X<T> high(c.high), low(c.low), scale(c.scale), shift(c.shift), slope(c.slope);
  for (int64_t p = 0; p < count; ++p)
    for_vectors<T>(size, [&](int64_t i, auto io) {
      int64_t at = p * step + i;
      X<T> centred = io.load(x + at) - high - low;
      io.store(gx + at, ((io.load(gy + at) - shift) - centred * slope) * scale);
    });
}

// --- rows: the loop over channels is the inner one ---

template <class T>
void row_stats(const T* x, int64_t rows, int64_t channels, T* sum, T* middle, T* squares) {
  X<T> count{T(rows)};
  for_vectors<T>(channels, [&](int64_t c, auto io) {
    X<T> first = io.load(x + c), sums(0), square_sums(0);
    for (int64_t r = 0; r < rows; ++r) sums = sums + (io.load(x + r * channels + c) - first);
    X<T> centre = first + sums / count;
    for (int64_t r = 0; r < rows; ++r) {
      X<T> d = io.load(x + r * channels + c) - centre;
      square_sums = square_sums + d * d;
    }
    io.store(sum + c, sums);
    io.store(middle + c, centre);
    io.store(squares + c, square_sums);
  });
}

template <class T>
void row_apply(const T* x, T* y, int64_t rows, int64_t channels, const NormRow<T>& n) {
  for (int64_t r = 0; r < rows; ++r)
    for_vectors<T>(channels, [&](int64_t c, auto io) {
      X<T> centred = io.load(x + r * channels + c) - io.load(n.high + c) - io.load(n.low + c);
      io.store(y + r * channels + c, centred * io.load(n.scale + c) + io.load(n.shift + c));
    });
}

template <class T>
void row_grad_sums(const T* x, const T* gy, int64_t rows, int64_t channels, const NormRow<T>& n, T* sum,
                   T* product) {
  for_vectors<T>(channels, [&](int64_t c, auto io) {
    X<T> high = io.load(n.high + c), low = io.load(n.low + c), sums(0), products(0);
    for (int64_t r = 0; r < rows; ++r) {
      X<T> g = io.load(gy + r * channels + c);
      sums = sums + g;
      products = products + g * (io.load(x + r * channels + c) - high - low);
    }
    io.store(sum + c, sums);
    io.store(product + c, products);
  });
}

template <class T>
void row_grad_apply(const T* x, const T* gy, T* gx, int64_t rows, int64_t channels, const NormRow<T>& n) {
  for (int64_t r = 0; r < rows; ++r)
    for_vectors<T>(channels, [&](int64_t c, auto io) {
      int64_t at = r * channels + c;
      X<T> centred = io.load(x + at) - io.load(n.high + c) - io.load(n.low + c);
      X<T> inner = (io.load(gy + at) - io.load(n.shift + c)) - centred * io.load(n.slope + c);
      io.store(gx + at, inner * io.load(n.scale + c));
    });
}

template <class T>
constexpr detail::BatchNormTable<T> kTable = {plane_stats<T>,      plane_apply<T>,   plane_grad_sums<T>,
                                              plane_grad_apply<T>, row_stats<T>,     row_apply<T>,
                                              row_grad_sums<T>,    row_grad_apply<T>};

}  // namespace

const detail::BatchNormKernels batch_norm_kernels = {kTable<float>, kTable<double>};

}  // namespace tarn::inline v1::TARN_ISA
