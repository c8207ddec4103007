// Kernels of layer normalisation. Plain data: also included by files built per instruction set.
#pragma once

#include <stdint.h>

namespace tarn::inline v1::detail {

// `rows` rows of `size` elements. weight and bias have `size` elements or are null.
template <class T>
struct LayerNormTable {
  // y, and per row mean and 1 / sqrt(var + eps).
  void (*forward)(const T* x, const T* weight, const T* bias, double eps, int64_t rows, int64_t size, T* y,
                  double* mean, double* inverse);
  // gx, and added to gweight and gbias (null: not wanted) the sums over these rows.
  void (*backward)(const T* x, const T* gy, const T* weight, const double* mean, const double* inverse,
                   int64_t rows, int64_t size, T* gx, T* gweight, T* gbias);
};

struct LayerNormKernels {
  LayerNormTable<float> f32;
  LayerNormTable<double> f64;
};

}  // namespace tarn::inline v1::detail
