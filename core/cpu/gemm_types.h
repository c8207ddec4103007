// What a GEMM provider is asked to do. Plain data: also included by files built per instruction set.
#pragma once

#include <stdint.h>

namespace tarn::inline v1::detail {

// Row-major C (m x n) = alpha * A (m x k) * B (k x n) + C if `accumulate`, else without C, which is then not
// read. A matrix stored as its transpose has `transposed` set; a leading dimension is the distance of stored
// rows.
template <class T>
struct GemmCall {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  bool a_transposed;
  const T* b;
  int64_t ldb;
  bool b_transposed;
  T* c;
  int64_t ldc;
  bool accumulate;
};

// Runs on the calling thread alone; the same call gives the same bits whatever the number of threads.
struct GemmProvider {
  void (*f32)(const GemmCall<float>& call);
  void (*f64)(const GemmCall<double>& call);
};

}  // namespace tarn::inline v1::detail
