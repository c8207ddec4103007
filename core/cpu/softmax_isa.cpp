#include <tarn/core/cpu/lanes.h>
#include <tarn/core/cpu/softmax_kernels.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::SoftmaxTable softmax_kernels;

namespace {

template <class T>
TARN_INLINE T largest(const T* x, int64_t n) {
  return reduce_row<T>(
      n, -T(__builtin_inf()), [&](int64_t i, int count) { return load_some<T>(x + i, count); }, Larger());
}

template <class T>
using Vec = V<T, kLanes<T>>;

template <class T>
void softmax(T* out, const T* x, int64_t n) {
  Vec<T> m(largest(x, n));
  T sum = reduce_row<T>(
      n, T(0),
      [&](int64_t i, int count) {
        Vec<T> e = exp(load_some<T>(x + i, count) - m);
        store_some(out + i, e, count);
        return e;
      },
      Add());
  Vec<T> scale(1 / sum);  // a division for each element would take longer than its exp
  for_row<T>(n,
             [&](int64_t i, int count) { store_some(out + i, load_some<T>(out + i, count) * scale, count); });
}

template <class T>
TARN_INLINE T log_sum_exp_shifted(const T* x, int64_t n, T shift) {
  Vec<T> m(shift);
  T sum = reduce_row<T>(
      n, T(0), [&](int64_t i, int count) { return exp(load_some<T>(x + i, count) - m); }, Add());
  return log(V<T, 1>(sum)).v;
}

template <class T>
void log_softmax(T* out, const T* x, int64_t n) {
  T shift = largest(x, n);
  Vec<T> m(shift), s(log_sum_exp_shifted(x, n, shift));
  for_row<T>(n,
             [&](int64_t i, int count) { store_some(out + i, load_some<T>(x + i, count) - m - s, count); });
}

// If all are -inf so is the result; exp(x - max) would be NaN.
template <class T>
T log_sum_exp(const T* x, int64_t n) {
  T shift = largest(x, n);
  if (shift == T(__builtin_inf()) || shift == -T(__builtin_inf())) return shift;
  return log_sum_exp_shifted(x, n, shift) + shift;
}

template <class T>
void softmax_grad(T* out, const T* g, const T* y, int64_t n) {
  Vec<T> dot(reduce_row<T>(
      n, T(0), [&](int64_t i, int count) { return load_some<T>(g + i, count) * load_some<T>(y + i, count); },
      Add()));
  for_row<T>(n, [&](int64_t i, int count) {
    store_some(out + i, (load_some<T>(g + i, count) - dot) * load_some<T>(y + i, count), count);
  });
}

template <class T>
void log_softmax_grad(T* out, const T* g, const T* y, int64_t n) {
  Vec<T> sum(reduce_row<T>(
      n, T(0), [&](int64_t i, int count) { return load_some<T>(g + i, count); }, Add()));
  for_row<T>(n, [&](int64_t i, int count) {
    store_some(out + i, load_some<T>(g + i, count) - exp(load_some<T>(y + i, count)) * sum, count);
  });
}

// --- columns ---

using detail::kLeafRows;
using detail::kSoftmaxColumns;

template <class T>
TARN_INLINE void fill_columns(T* to, T value, int64_t columns) {
  for_row<T>(columns, [&](int64_t c, int count) { store_some(to + c, Vec<T>(value), count); });
}

// sums[c] of f(row, c, count). Row by row, since a column's elements may lie so far apart that they evict
// each other.
template <class T, class F>
TARN_INLINE void sum_columns(T* sums, int64_t n, int64_t columns, F f) {
  alignas(64) T leaf[kSoftmaxColumns];
  fill_columns(sums, T(0), columns);
  for (int64_t first = 0; first < n; first += kLeafRows) {
    fill_columns(leaf, T(0), columns);
    for (int64_t i = first; i < n && i < first + kLeafRows; ++i) {
      for_row<T>(columns, [&](int64_t c, int count) {
        store_some(leaf + c, load_some<T>(leaf + c, count) + f(i, c, count), count);
      });
    }
    for_row<T>(columns, [&](int64_t c, int count) {
      store_some(sums + c, load_some<T>(sums + c, count) + load_some<T>(leaf + c, count), count);
    });
  }
}

template <class T>
void softmax_columns(T* out, int64_t out_step, const T* x, int64_t x_step, int64_t n, int64_t columns,
                     bool log_of) {
  alignas(64) T shift[kSoftmaxColumns], sum[kSoftmaxColumns];
  fill_columns(shift, -T(__builtin_inf()), columns);
  for (int64_t i = 0; i < n; ++i) {
    for_row<T>(columns, [&](int64_t c, int count) {
      store_some(shift + c, max(load_some<T>(shift + c, count), load_some<T>(x + i * x_step + c, count)),
                 count);
    });
  }
  if (log_of) {
    sum_columns(sum, n, columns, [&](int64_t i, int64_t c, int count) {
      return exp(load_some<T>(x + i * x_step + c, count) - load_some<T>(shift + c, count));
    });
    for_row<T>(columns,
               [&](int64_t c, int count) { store_some(sum + c, log(load_some<T>(sum + c, count)), count); });
  } else {
    sum_columns(sum, n, columns, [&](int64_t i, int64_t c, int count) {
      Vec<T> e = exp(load_some<T>(x + i * x_step + c, count) - load_some<T>(shift + c, count));
      store_some(out + i * out_step + c, e, count);
      return e;
    });
    for_row<T>(columns,
               [&](int64_t c, int count) { store_some(sum + c, 1 / load_some<T>(sum + c, count), count); });
  }
  for (int64_t i = 0; i < n; ++i) {
    T* to = out + i * out_step;
    const T* from = x + i * x_step;
    for_row<T>(columns, [&](int64_t c, int count) {
      Vec<T> s = load_some<T>(sum + c, count);
      Vec<T> y = log_of ? load_some<T>(from + c, count) - load_some<T>(shift + c, count) - s
                        : load_some<T>(to + c, count) * s;
      store_some(to + c, y, count);
    });
  }
}

template <class T>
void softmax_grad_columns(T* out, int64_t out_step, const T* g, int64_t g_step, const T* y, int64_t y_step,
                          int64_t n, int64_t columns, bool log_of) {
  alignas(64) T sum[kSoftmaxColumns];
  sum_columns(sum, n, columns, [&](int64_t i, int64_t c, int count) {
    Vec<T> gi = load_some<T>(g + i * g_step + c, count);
    return log_of ? gi : gi * load_some<T>(y + i * y_step + c, count);
  });
  for (int64_t i = 0; i < n; ++i) {
    for_row<T>(columns, [&](int64_t c, int count) {
      Vec<T> s = load_some<T>(sum + c, count), gi = load_some<T>(g + i * g_step + c, count);
      Vec<T> yi = load_some<T>(y + i * y_step + c, count);
      store_some(out + i * out_step + c, log_of ? gi - exp(yi) * s : (gi - s) * yi, count);
    });
  }
}

template <class T>
void cross_entropy_grad(T* out, const T* x, T log_sum_exp, T a, T b, const T* weight, int64_t n) {
  Vec<T> shift(log_sum_exp), scale(a), pull(b);
  for_row<T>(n, [&](int64_t i, int count) {
    Vec<T> y = exp(load_some<T>(x + i, count) - shift) * scale;
    store_some(out + i, weight ? y - pull * load_some<T>(weight + i, count) : y - pull, count);
  });
}

template <class T>
constexpr detail::SoftmaxKernels<T> kernels() {
  return {softmax<T>,         log_softmax<T>,          softmax_grad<T>, log_softmax_grad<T>,
          softmax_columns<T>, softmax_grad_columns<T>, log_sum_exp<T>,  cross_entropy_grad<T>};
}

}  // namespace

const detail::SoftmaxTable softmax_kernels = {kernels<float>(), kernels<double>()};

}  // namespace tarn::inline v1::TARN_ISA
