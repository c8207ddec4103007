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
  Vec<T> s(sum);
  for_row<T>(n, [&](int64_t i, int count) { store_some(out + i, load_some<T>(out + i, count) / s, count); });
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
  return {softmax<T>,          log_softmax<T>, softmax_grad<T>,
          log_softmax_grad<T>, log_sum_exp<T>, cross_entropy_grad<T>};
}

}  // namespace

const detail::SoftmaxTable softmax_kernels = {kernels<float>(), kernels<double>()};

}  // namespace tarn::inline v1::TARN_ISA
