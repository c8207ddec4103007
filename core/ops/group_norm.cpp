// Normalisations made of others: group_norm is layer_norm over groups, instance_norm batch_norm per sample.
#include <cmath>
#include <limits>

#include <tarn/core/autocast.h>
#include <tarn/core/mode.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/ops/widen.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// (C) as it broadcasts over (N, C, ...).
Tensor per_channel(const Tensor& t, int64_t rank) {
  Dims sizes(int(rank) - 1, 1);
  sizes[0] = t.size(0);
  return t.view(sizes);
}

void check_channels(const char* op, const Tensor& x, const Tensor& t, const char* name) {
  if (!t.defined()) return;
  check(t.dim() == 1 && t.size(0) == x.size(1), op, ": ", name, " ", t.sizes(), " does not fit input ",
        x.sizes(), ", which has ", x.size(1), " channels");
  bool fits = t.dtype() == x.dtype() || (t.dtype() == kFloat && x.element_size() == 2);
  check(fits, op, ": input is ", x.dtype(), ", ", name, " is ", t.dtype(), "; convert one with to()");
}

Tensor repeated(const Tensor& t, int64_t times) {
  if (!t.defined()) return t;
  return t.unsqueeze(0).expand({times, t.size(0)}).reshape({times * t.size(0)});
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  const char* op = "group_norm";
  check(input.dim() >= 2, op, ": input must be (N, C, ...), got ", input.sizes());
  check(is_floating(input.dtype()), op, ": not implemented for dtype ", input.dtype());
  int64_t channels = input.size(1);
  check(num_groups > 0, op, ": num_groups must be at least 1, got ", num_groups);
  check(channels % num_groups == 0, op, ": the ", channels, " channels of input ", input.sizes(),
        " do not divide into ", num_groups, " groups");
  check_channels(op, input, weight, "weight");
  check_channels(op, input, bias, "bias");
  int64_t group = channels / num_groups;
  for (int d = 2; d < input.dim(); ++d) group *= input.size(d);
  Tensor given = autocast_to_float(input), x = widened(given);
  Tensor y = layer_norm(x.reshape({input.size(0) * num_groups, group}), {group}, {}, {}, eps);
  y = y.view(input.sizes());
  if (weight.defined()) y = y * per_channel(widened(weight), y.dim());
  if (bias.defined()) y = y + per_channel(widened(bias), y.dim());
  return cast(y, given.dtype());
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool) {
  const char* op = "instance_norm";
  check(x.dim() >= 2, op, ": input must be (N, C, ...), got ", x.sizes());
  check(use_input_stats || (running_mean.defined() && running_var.defined()), op,
        ": running_mean and running_var are needed without use_input_stats");
  check_channels(op, x, weight, "weight");
  check_channels(op, x, bias, "bias");
  for (const Tensor& t : {running_mean, running_var})
    if (t.defined())
      check(t.dim() == 1 && t.size(0) == x.size(1), op, ": running statistics ", t.sizes(),
            " do not fit input ", x.sizes(), ", which has ", x.size(1), " channels");
  int64_t samples = x.size(0), channels = x.size(1);
  Dims sizes(x.sizes());
  sizes[0] = 1;
  sizes[1] = samples * channels;
  Tensor mean = repeated(running_mean, samples), var = repeated(running_var, samples);
  Tensor y = batch_norm(x.reshape(sizes), repeated(weight, samples), repeated(bias, samples), mean, var,
                        use_input_stats, momentum, eps);
  if (use_input_stats) {
    NoGradGuard no_grad;
    if (running_mean.defined()) running_mean.copy_(mean.view({samples, channels}).mean({0}));
    if (running_var.defined()) running_var.copy_(var.view({samples, channels}).mean({0}));
  }
  return y.view(x.sizes());
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  size_t dims = normalized_shape.size();
  check(dims > 0, "rms_norm: the normalized shape must have at least 1 dim");
  check(size_t(input.dim()) >= dims && input.sizes().slice(size_t(input.dim()) - dims) == normalized_shape,
        "rms_norm: input ", input.sizes(), " does not end in the normalized shape ", normalized_shape);
  check(is_floating(input.dtype()), "rms_norm: not implemented for dtype ", input.dtype());
  check(!weight.defined() || weight.sizes() == normalized_shape, "rms_norm: weight ",
        weight.defined() ? weight.sizes() : IntArrayRef(), " must have the normalized shape ",
        normalized_shape);
  Tensor x = widened(input);
  double epsilon = eps.value_or(x.dtype() == kDouble ? std::numeric_limits<double>::epsilon()
                                                     : double(std::numeric_limits<float>::epsilon()));
  Dims last;
  for (size_t d = 1; d <= dims; ++d) last.push_back(-int64_t(d));
  Tensor y = x * rsqrt(mean(square(x), last, true) + epsilon);
  if (weight.defined()) y = y * widened(weight);
  return cast(y, input.dtype());
}

namespace detail {

Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  const char* op = "local_response_norm";
  check(x.dim() >= 3, op, ": input must be (N, C, ...) with at least 3 dims, got ", x.sizes());
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  check(size > 0, op, ": size must be at least 1, got ", size);
  if (x.numel() == 0) return x;
  Tensor wide = widened(x), flat = square(wide).flatten(2);
  // An even window has one more neighbour below than above: the last mean of the padded channels is dropped.
  Tensor means = avg_pool2d(flat, {size, 1}, 1, {size / 2, 0}).narrow(-2, 0, x.size(1));
  return cast(wide / pow(means.reshape(x.sizes()) * alpha + k, beta), x.dtype());
}

}  // namespace detail

}  // namespace tarn::inline v1
