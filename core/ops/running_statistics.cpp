// The op that moves batch_norm's running statistics: inputs running_mean, running_var, mean, variance;
// scalars momentum, and what makes the variance unbiased.
#include <tarn/core/ops/running_statistics.h>

#include <type_traits>

#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/layout.h>

namespace tarn::inline v1::detail {

namespace {

void running_infer(const Args&, Spec*) {}

InputRange running_written(const Args&) { return {0, 2}; }

// Rounds after each of the two steps running * (1 - momentum) + batch * weight, as the pointwise ops would.
void update_running(const Tensor& running, const Tensor& batch, double keep, double weight) {
  const double* from = static_cast<const double*>(batch.data_ptr());
  visit(running.dtype(), "batch_norm", [&]<class T>(Type<T>) {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T* to = static_cast<T*>(running.data_ptr());
    for (int64_t c = 0; c < running.numel(); ++c) {
      T& r = to[c * running.strides()[0]];
      r = T(double(T(Wide(r) * Wide(keep))) + from[c] * weight);
    }
  });
}

void running_cpu(const Args& a, Tensor*) {
  double momentum = a.scalar(0).to_double();
  update_running(a[0], a[2], 1 - momentum, momentum);
  update_running(a[1], a[3], 1 - momentum, momentum * a.scalar(1).to_double());
}

void running_cuda(const Args& a, Tensor*) {
  double momentum = a.scalar(0).to_double();
  ScalarType dtype = compute_dtype_of(a[0].dtype());
  Tensor running[2] = {converted(a[0], dtype), converted(a[1], dtype)};
  RunningCall call{};
  call.compute = compute_of(dtype);
  call.keep = 1 - momentum;
  call.weight[0] = momentum;
  call.weight[1] = momentum * a.scalar(1).to_double();
  call.channels = a[0].numel();
  for (int i = 0; i < 2; ++i) {
    call.running[i] = running[i].data_ptr();
    call.stride[i] = running[i].strides()[0];
    call.batch[i] = a[2 + i].data_ptr<double>();
  }
  launch_cuda("batch_norm_running", &CudaTable::running_statistics, call);
  for (int i = 0; i < 2; ++i)
    if (!a[i].is_same(running[i])) copy_elements(a[i], running[i]);
}

const Op running_op = {.name = "batch_norm_running",
                       .infer = running_infer,
                       .cpu = running_cpu,
                       .cuda = running_cuda,
                       .outputs = 0,
                       .writes = running_written};

}  // namespace

void move_running_statistics(const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
                             const Tensor& variance, double momentum, int64_t count) {
  NoGradGuard no_grad;
  double unbiased = fault(24) ? 1 : double(count) / double(count - 1);
  dispatch_mutate(running_op, {running_mean, running_var, mean, variance}, {},
                  {Scalar(momentum), Scalar(unbiased)});
}

}  // namespace tarn::inline v1::detail
