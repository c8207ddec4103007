// Loops over windows, in two shapes: for a plane the inner loop runs along a row of outputs, for channels
// innermost along the channels. Plain loops that the compiler turns into vectors; an output element is summed
// in the order of its window, on every instruction set.
#include <tarn/core/cpu/pooling.h>

#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::PoolKernels pool_kernels;

namespace {

using detail::PoolWindows;

TARN_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// One element more for a running maximum. The first NaN stays, since nothing compares greater than it.
template <class T, class I>
TARN_INLINE void take_larger(T value, I place, T& best, I& best_place) {
  bool larger = (value > best) | ((value != value) & (best == best));
  best = larger ? value : best;
  best_place = larger ? place : best_place;
}

TARN_INLINE int64_t divisor_of(const PoolWindows& h, const PoolWindows& w, int64_t i, int64_t j,
                               int64_t divisor) {
  return divisor ? divisor : h.size[i] * w.size[j];
}

template <int64_t Value>
struct Constant {
  static constexpr int64_t value = Value;
};
struct Variable {
  int64_t value;
};

// Calls f with the stride as a constant where that makes faster loads.
template <class F>
TARN_INLINE void with_stride(int64_t stride, F f) {
  if (stride == 1) return f(Constant<1>());
  if (stride == 2) return f(Constant<2>());
  f(Variable{stride});
}

// What a window over nothing but padding gives.
template <class T>
constexpr T kNothing = T(-__builtin_inf());

// --- planes ---

// Whole windows are taken in runs of this many outputs, whose running values stay in the first-level cache.
constexpr int kRun = 128;

// Calls window(j) for the outputs at the edges and run(j, count) for runs of whole windows.
template <class Window, class Run>
TARN_INLINE void for_row(const PoolWindows& w, Window window, Run run) {
  for (int64_t j = 0; j < w.whole_begin; ++j) window(j);
  for (int64_t j = w.whole_begin; j < w.whole_end; j += kRun) run(j, int(smaller(kRun, w.whole_end - j)));
  for (int64_t j = w.whole_end; j < w.out; ++j) window(j);
}

template <class T>
TARN_INLINE void max_of_window(const PoolWindows& h, const PoolWindows& w, int64_t i, int64_t j, const T* x,
                               T* y, int64_t* place) {
  int64_t best_place = h.start[i] * w.in + w.start[j];
  T best = h.count[i] && w.count[j] ? x[best_place] : kNothing<T>;
  for (int64_t kh = 0; kh < h.count[i]; ++kh)
    for (int64_t kw = 0; kw < w.count[j]; ++kw) {
      int64_t at = (h.start[i] + kh * h.step) * w.in + w.start[j] + kw * w.step;
      take_larger(x[at], at, best, best_place);
    }
  *y = best;
  *place = best_place;
}

template <class T, class Stride>
TARN_INLINE void max_of_run(const PoolWindows& h, const PoolWindows& w, int64_t i, int64_t j, int count,
                            Stride stride, const T* x, T* y, int64_t* places) {
  T best[kRun];
  int32_t best_place[kRun];  // a plane of 2^31 elements is refused
  int64_t first = h.start[i] * w.in + j * stride.value + w.offset;
  for (int r = 0; r < count; ++r) {
    best[r] = h.count[i] ? x[first + r * stride.value] : kNothing<T>;
    best_place[r] = int32_t(first + r * stride.value);
  }
  for (int64_t kh = 0; kh < h.count[i]; ++kh)
    for (int64_t kw = 0; kw < w.kernel; ++kw) {
      int64_t at = first + kh * h.step * w.in + kw * w.step;
      for (int r = 0; r < count; ++r)
        take_larger(x[at + r * stride.value], int32_t(at + r * stride.value), best[r], best_place[r]);
    }
  for (int r = 0; r < count; ++r) {
    y[j + r] = best[r];
    places[j + r] = best_place[r];
  }
}

template <class T>
void plane_max(const PoolWindows& h, const PoolWindows& w, const T* x, T* y, int64_t* places) {
  with_stride(w.stride, [&](auto stride) {
    for (int64_t i = 0; i < h.out; ++i) {
      T* row = y + i * w.out;
      int64_t* row_places = places + i * w.out;
      for_row(
          w, [&](int64_t j) { max_of_window(h, w, i, j, x, row + j, row_places + j); },
          [&](int64_t j, int count) { max_of_run(h, w, i, j, count, stride, x, row, row_places); });
    }
  });
}

// The sum of contiguous elements in 16 lanes.
template <class T>
T sum_of(const T* x, int64_t size) {
  T lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (int k = 0; k < 16; ++k) lanes[k] += x[i + k];
  for (; i < size; ++i) lanes[i % 16] += x[i];
  for (int width = 8; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lanes[k] += lanes[k + width];
  return lanes[0];
}

template <class T>
TARN_INLINE T sum_of_window(const PoolWindows& h, const PoolWindows& w, int64_t i, int64_t j, const T* x) {
  if (h.count[i] == h.in && w.count[j] == w.in) return sum_of(x, h.in * w.in);
  T sum = 0;
  for (int64_t kh = 0; kh < h.count[i]; ++kh)
    for (int64_t kw = 0; kw < w.count[j]; ++kw) sum += x[(h.start[i] + kh) * w.in + w.start[j] + kw];
  return sum;
}

template <class T>
void plane_average(const PoolWindows& h, const PoolWindows& w, int64_t divisor, const T* x, T* y) {
  with_stride(w.stride, [&](auto stride) {
    for (int64_t i = 0; i < h.out; ++i) {
      T* row = y + i * w.out;
      for_row(
          w, [&](int64_t j) { row[j] = sum_of_window(h, w, i, j, x) / T(divisor_of(h, w, i, j, divisor)); },
          [&](int64_t j, int count) {
            T sums[kRun] = {}, by = T(divisor_of(h, w, i, j, divisor));
            const T* first = x + h.start[i] * w.in + j * stride.value + w.offset;
            for (int64_t kh = 0; kh < h.count[i]; ++kh)
              for (int64_t kw = 0; kw < w.kernel; ++kw)
                for (int r = 0; r < count; ++r) sums[r] += first[kh * w.in + kw + r * stride.value];
            for (int r = 0; r < count; ++r) row[j + r] = sums[r] / by;
          });
    }
  });
}

template <class T>
void plane_spread(const PoolWindows& h, const PoolWindows& w, int64_t divisor, const T* gy, T* gx) {
  for (int64_t i = 0; i < h.in * w.in; ++i) gx[i] = 0;
  for (int64_t i = 0; i < h.out; ++i)
    for (int64_t j = 0; j < w.out; ++j) {
      T share = gy[i * w.out + j] / T(divisor_of(h, w, i, j, divisor));
      for (int64_t kh = 0; kh < h.count[i]; ++kh) {
        T* to = gx + (h.start[i] + kh) * w.in + w.start[j];
        for (int64_t kw = 0; kw < w.count[j]; ++kw) to[kw] += share;
      }
    }
}

// --- channels innermost: rows [begin, end) of the output of one sample ---

template <class T>
void row_max(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t begin, int64_t end,
             const T* x, T* y, int64_t* places) {
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < w.out; ++j) {
      T* best = y + (i * w.out + j) * channels;
      int64_t* best_place = places + (i * w.out + j) * channels;
      int64_t first = h.start[i] * w.in + w.start[j];
      bool empty = !(h.count[i] && w.count[j]);
      for (int64_t c = 0; c < channels; ++c) best[c] = empty ? kNothing<T> : x[first * channels + c];
      for (int64_t c = 0; c < channels; ++c) best_place[c] = first;
      for (int64_t kh = 0; kh < h.count[i]; ++kh)
        for (int64_t kw = 0; kw < w.count[j]; ++kw) {
          int64_t at = first + kh * h.step * w.in + kw * w.step;
          const T* from = x + at * channels;
          for (int64_t c = 0; c < channels; ++c) take_larger(from[c], at, best[c], best_place[c]);
        }
    }
}

template <class T>
void row_average(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t divisor, int64_t begin,
                 int64_t end, const T* x, T* y) {
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < w.out; ++j) {
      T* sums = y + (i * w.out + j) * channels;
      for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
      for (int64_t kh = 0; kh < h.count[i]; ++kh)
        for (int64_t kw = 0; kw < w.count[j]; ++kw) {
          const T* from = x + ((h.start[i] + kh) * w.in + w.start[j] + kw) * channels;
          for (int64_t c = 0; c < channels; ++c) sums[c] += from[c];
        }
      T by = T(divisor_of(h, w, i, j, divisor));
      for (int64_t c = 0; c < channels; ++c) sums[c] /= by;
    }
}

template <class T>
void row_spread(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t divisor, const T* gy,
                T* gx) {
  for (int64_t i = 0; i < h.in * w.in * channels; ++i) gx[i] = 0;
  for (int64_t i = 0; i < h.out; ++i)
    for (int64_t j = 0; j < w.out; ++j) {
      const T* from = gy + (i * w.out + j) * channels;
      T by = T(divisor_of(h, w, i, j, divisor));
      for (int64_t kh = 0; kh < h.count[i]; ++kh)
        for (int64_t kw = 0; kw < w.count[j]; ++kw) {
          T* to = gx + ((h.start[i] + kh) * w.in + w.start[j] + kw) * channels;
          for (int64_t c = 0; c < channels; ++c) to[c] += from[c] / by;
        }
    }
}

// --- either, by the places of a max_pool ---

template <class T>
void scatter(int64_t in, int64_t out, int64_t channels, const T* gy, const int64_t* places, T* gx) {
  for (int64_t i = 0; i < in * channels; ++i) gx[i] = 0;
  for (int64_t i = 0; i < out; ++i)
    for (int64_t c = 0; c < channels; ++c)
      gx[places[i * channels + c] * channels + c] += gy[i * channels + c];
}

template <class T>
void gather(int64_t out, int64_t channels, const T* x, const int64_t* places, T* y) {
  for (int64_t i = 0; i < out; ++i)
    for (int64_t c = 0; c < channels; ++c) y[i * channels + c] = x[places[i * channels + c] * channels + c];
}

template <class T>
constexpr detail::PoolTable<T> kTable = {plane_max<T>,   plane_average<T>, plane_spread<T>, row_max<T>,
                                         row_average<T>, row_spread<T>,    scatter<T>,      gather<T>};

}  // namespace

const detail::PoolKernels pool_kernels = {kTable<float>, kTable<double>};

}  // namespace tarn::inline v1::TARN_ISA
