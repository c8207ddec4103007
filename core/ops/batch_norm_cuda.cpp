// batch_norm's kernels on a device; what they compute is said in batch_norm.cpp.
#include <tarn/core/ops/batch_norm.h>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>

namespace tarn::inline v1::detail {

namespace {

// x as (N, C, size).
struct Geometry {
  int64_t batch, channels, size;
  explicit Geometry(const Tensor& x)
      : batch(x.sizes()[0]),
        channels(x.sizes()[1]),
        size(x.numel() == 0 ? 0 : x.numel() / (batch * channels)) {}
  int64_t count() const { return batch * size; }
};

}  // namespace

void batch_norm_train_cuda(const Args& a, Tensor* out) {
  Geometry g(a[0]);
  if (g.count() == 0 || g.channels == 0) {
    for (int i = 1; i < 4; ++i) fill_elements(out[i], 0);
    return;
  }
  ScalarType dtype = compute_dtype_of(a[0].dtype());
  Tensor x = row_major(a[0], dtype), y = row_major_output(out[0], dtype);
  Tensor weight = row_major(a[1], dtype), bias = row_major(a[2], dtype);
  launch_cuda("batch_norm", &CudaTable::batch_norm,
              BatchNormCall{.compute = compute_of(dtype),
                            .x = x.data_ptr(),
                            .y = y.data_ptr(),
                            .weight = address_of(weight),
                            .bias = address_of(bias),
                            .mean = out[1].data_ptr<double>(),
                            .inverse = out[2].data_ptr<double>(),
                            .variance = out[3].data_ptr<double>(),
                            .batch = g.batch,
                            .channels = g.channels,
                            .size = g.size,
                            .eps = a.scalar().to_double()});
  finish_output(out[0], y);
}

void batch_norm_backward_cuda(const Args& a, Tensor* out) {
  Geometry g(a[1]);
  if (g.count() == 0 || g.channels == 0) {
    for (int i = 1; i < 3; ++i) fill_elements(out[i], 0);
    return;
  }
  ScalarType dtype = compute_dtype_of(a[1].dtype());
  Tensor gy = row_major(a[0], dtype), x = row_major(a[1], dtype), weight = row_major(a[2], dtype);
  Tensor mean = row_major(a[3], kDouble), inverse = row_major(a[4], kDouble), results[3];
  for (int i = 0; i < 3; ++i) results[i] = row_major_output(out[i], dtype);
  launch_cuda("batch_norm_grad", &CudaTable::batch_norm_grad,
              BatchNormGradCall{.compute = compute_of(dtype),
                                .gy = gy.data_ptr(),
                                .x = x.data_ptr(),
                                .weight = address_of(weight),
                                .mean = mean.data_ptr<double>(),
                                .inverse = inverse.data_ptr<double>(),
                                .gx = results[0].data_ptr(),
                                .gweight = results[1].data_ptr(),
                                .gbias = results[2].data_ptr(),
                                .batch = g.batch,
                                .channels = g.channels,
                                .size = g.size});
  for (int i = 0; i < 3; ++i) finish_output(out[i], results[i]);
}

void batch_norm_eval_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Geometry g(a[0]);
  ScalarType dtype = compute_dtype_of(a[0].dtype());
  Tensor in[5], y = row_major_output(*out, dtype);
  for (int i = 0; i < 5; ++i) in[i] = row_major(a[i], dtype);
  launch_cuda("batch_norm", &CudaTable::batch_norm_eval,
              BatchNormEvalCall{.compute = compute_of(dtype),
                                .x = in[0].data_ptr(),
                                .y = y.data_ptr(),
                                .weight = address_of(in[1]),
                                .bias = address_of(in[2]),
                                .mean = in[3].data_ptr(),
                                .variance = in[4].data_ptr(),
                                .batch = g.batch,
                                .channels = g.channels,
                                .size = g.size,
                                .eps = a.scalar().to_double()});
  finish_output(*out, y);
}

}  // namespace tarn::inline v1::detail
