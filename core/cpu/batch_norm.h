// Kernels of batch normalisation. Plain data: also included by files built per instruction set.
// "Planes": one channel of a row-major tensor, `count` runs of `size` elements that lie `step` apart.
// "Rows": all channels innermost, `rows` rows of `channels` elements.
#pragma once

#include <stdint.h>

namespace tarn::inline v1::detail {

// (x - mean) is (x - high) - low: with the mean in two numbers, a channel of large equal values comes out as
// 0. Forward: y = (x - mean) * scale + shift. Backward: gx = ((gy - shift) - (x - mean) * slope) * scale.
template <class T>
struct NormChannel {
  T high, low, scale, shift, slope;
};
// The same, an array per field.
template <class T>
struct NormRow {
  const T *high, *low, *scale, *shift, *slope;
};

template <class T>
struct BatchNormTable {
  // Mean of the elements, and the sum of their squared distances from it.
  void (*plane_stats)(const T* x, int64_t count, int64_t step, int64_t size, double* mean, double* squares);
  void (*plane_apply)(const T* x, T* y, int64_t count, int64_t step, int64_t size, const NormChannel<T>& c);
  // Sums of gy and of gy * (x - mean).
  void (*plane_grad_sums)(const T* x, const T* gy, int64_t count, int64_t step, int64_t size,
                          const NormChannel<T>& c, double* sum, double* product);
  void (*plane_grad_apply)(const T* x, const T* gy, T* gx, int64_t count, int64_t step, int64_t size,
                           const NormChannel<T>& c);
  // The same for a few rows, whose sums are in T. Stats: the sum of x - (the first row), a `middle` near the
  // mean, and the sum of squared distances from that.
  void (*row_stats)(const T* x, int64_t rows, int64_t channels, T* sum, T* middle, T* squares);
  void (*row_apply)(const T* x, T* y, int64_t rows, int64_t channels, const NormRow<T>& c);
  void (*row_grad_sums)(const T* x, const T* gy, int64_t rows, int64_t channels, const NormRow<T>& c, T* sum,
                        T* product);
  void (*row_grad_apply)(const T* x, const T* gy, T* gx, int64_t rows, int64_t channels, const NormRow<T>& c);
};

struct BatchNormKernels {
  BatchNormTable<float> f32;
  BatchNormTable<double> f64;
};

}  // namespace tarn::inline v1::detail
