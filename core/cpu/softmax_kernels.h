// Softmax and its relatives on one row of neighbours, for float and double. Sums are formed as in Note
// [Reduction order], the whole row being one leaf.
#pragma once

#include <cstdint>

#include <tarn/core/cpu/isa.h>

namespace tarn::inline v1::detail {

constexpr int64_t kSoftmaxColumns = 256;

template <class T>
struct SoftmaxKernels {
  // out may be x. n > 0.
  void (*softmax)(T* out, const T* x, int64_t n);
  void (*log_softmax)(T* out, const T* x, int64_t n);
  // From the gradient g of the output y. out may be g or y.
  void (*softmax_grad)(T* out, const T* g, const T* y, int64_t n);
  void (*log_softmax_grad)(T* out, const T* g, const T* y, int64_t n);
  // The same down each of `columns` <= kSoftmaxColumns columns; rows lie `step` elements apart. Sums are
  // formed from the first row to the last, kLeafRows at a time.
  void (*columns)(T* out, int64_t out_step, const T* x, int64_t x_step, int64_t n, int64_t columns, bool log);
  void (*grad_columns)(T* out, int64_t out_step, const T* g, int64_t g_step, const T* y, int64_t y_step,
                       int64_t n, int64_t columns, bool log);
  // log(sum(exp(x))).
  T (*log_sum_exp)(const T* x, int64_t n);
  // out = a * softmax(x) - b * weight, with the row's log_sum_exp; weight null: 1.
  void (*cross_entropy_grad)(T* out, const T* x, T log_sum_exp, T a, T b, const T* weight, int64_t n);
};

struct SoftmaxTable {
  SoftmaxKernels<float> f32;
  SoftmaxKernels<double> f64;

  template <class T>
  const SoftmaxKernels<T>& get() const {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  }
};

}  // namespace tarn::inline v1::detail

TARN_DECLARE_KERNELS(SoftmaxTable, softmax_kernels)
