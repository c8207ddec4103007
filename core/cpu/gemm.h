// Matrix products of any strides and dtype: the driver over a provider's single-threaded GEMM.
#pragma once

#include <tarn/core/device.h>
#include <tarn/core/dtype.h>

namespace tarn::inline v1::detail {

// Element (b, i, j) of a batch of matrices lies at data[b * batch_stride + i * row_stride + j * col_stride].
struct MatrixBatch {
  const void* data = nullptr;
  int64_t batch_stride = 0, row_stride = 0, col_stride = 0;
};

// out[b] (m x n, row-major, dense) = alpha * a[b] (m x k) * b[b] (k x n) + beta * c[b] (m x n). Without
// c.data, or with beta = 0, c is not read. Strides of 0 broadcast, so c may be a bias row. All of one dtype,
// `out` apart from the rest.
struct GemmProblem {
  ScalarType dtype;
  int64_t batch, m, n, k;
  MatrixBatch a, b, c;
  double alpha = 1, beta = 1;
  void* out;
  Device device;  // where all of it is
};

// On the CPU any dtype but bool; on a device core/cuda/contractions.h. Half and BFloat16 are summed in float
// and rounded once; integers wrap. The result has the same bits for any number of threads: the pieces that
// threads take, and splits of k, depend on the shape alone.
void gemm(const GemmProblem& p);

}  // namespace tarn::inline v1::detail
