// Poolings made of others: averages in three dims by resample(), one-dimensional forms by two-dimensional
// ones, power averages, and the way back from a max_pool.
#include <algorithm>
#include <cmath>

#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/pool_volume.h>
#include <tarn/core/ops/resample.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

void expand_option(const char* op, const char* name, IntArrayRef values, int64_t least, int64_t* to) {
  check(values.size() == 1 || values.size() == 3, op, ": ", name, " must have 1 or 3 values, got ", values);
  for (size_t d = 0; d < 3; ++d) {
    to[d] = values[values.size() == 1 ? 0 : d];
    check(to[d] >= least, op, ": ", name, " must be at least ", least, ", got ", values);
  }
}

// The number of windows; 0 if none fits. As pool.cpp's.
int64_t window_count(const VolumeWindows& p, int d, int64_t in) {
  int64_t span, room;
  if (__builtin_mul_overflow(p.dilation[d], p.kernel[d] - 1, &span)) return 0;
  if (__builtin_add_overflow(in, 2 * p.padding[d], &room) || span >= room) return 0;
  room -= span + 1;
  int64_t out = room / p.stride[d] + 1;
  bool rest = room % p.stride[d] != 0;
  if (p.ceil_mode && rest && out * p.stride[d] < in + p.padding[d]) ++out;
  return out;
}

// Along the last dim, of (N, C, W) or (C, W), by way of a plane of one row.
std::tuple<Tensor, Tensor> without_row(const std::tuple<Tensor, Tensor>& made) {
  return {std::get<0>(made).squeeze(-2), std::get<1>(made).squeeze(-2)};
}

void check_row(const char* op, const Tensor& x, IntArrayRef values, const char* name) {
  check(x.dim() == 2 || x.dim() == 3, op, ": input must be (N, C, W) or (C, W), got ", x.sizes());
  check(values.size() == 1, op, ": ", name, " must have 1 value, got ", values);
}

Tensor unpool(const char* op, int nd, const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  check(x.dim() == nd + 1 || x.dim() == nd + 2, op, ": input must be (N, C, ...) or (C, ...) with ", nd,
        nd == 1 ? " spatial dim" : " spatial dims", ", got ", x.sizes());
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  check(indices.dtype() == kLong, op, ": indices must be Long, got ", indices.dtype());
  check(indices.sizes() == x.sizes(), op, ": indices must have the sizes of the input ", x.sizes(), ", got ",
        indices.sizes());
  check(int(output_size.size()) == nd, op, ": output_size must have ", nd, nd == 1 ? " value" : " values",
        ", got ", output_size);
  Dims sizes(x.sizes().slice(0, size_t(x.dim() - nd))), flat = sizes;
  for (int64_t n : output_size) {
    check(n >= 0, op, ": output_size must not be negative, got ", output_size);
    sizes.push_back(n);
  }
  flat.push_back(numel_of(output_size, op));
  Tensor zero = zeros(flat, x.options());
  return scatter(zero, -1, flatten(indices, -nd), flatten(x, -nd)).view(sizes);
}

template <class Average, class Max>
Tensor lp_pool(const char* op, const Tensor& x, double p, IntArrayRef kernel, int nd, Average average,
               Max max) {
  check(p != 0, op, ": norm_type must not be 0");
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  if (std::isinf(p)) return p > 0 ? max(abs(x)) : -max(-abs(x));
  double size = 1;
  for (int d = 0; d < nd; ++d) size *= double(kernel[kernel.size() == 1 ? 0 : size_t(d)]);
  return pow(average(pow(x, p)) * size, 1 / p);
}

}  // namespace

Tensor to_volumes(const char* op, const Tensor& x) {
  check(x.dim() == 5 || x.dim() == 4, op, ": input must be (N, C, D, H, W) or (C, D, H, W), got ", x.sizes());
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  return x.dim() == 5 ? x : x.unsqueeze(0);
}

Tensor from_volumes(const Tensor& y, const Tensor& x) { return x.dim() == 5 ? y : y.squeeze(0); }

VolumeWindows volume_windows(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  VolumeWindows p{.ceil_mode = ceil_mode};
  expand_option(op, "kernel_size", kernel, 1, p.kernel);
  expand_option(op, "stride", stride.empty() ? kernel : stride, 1, p.stride);
  expand_option(op, "padding", padding, 0, p.padding);
  expand_option(op, "dilation", dilation, 1, p.dilation);
  for (int d = 0; d < 3; ++d) {
    check(p.padding[d] <= p.kernel[d] / 2, op, ": padding must be at most half of the kernel, got padding ",
          padding, " and kernel ", kernel);
    p.out[d] = window_count(p, d, x.size(2 + d));
    check(p.out[d] > 0 && x.size(2 + d) > 0, op, ": a kernel of ", IntArrayRef(p.kernel, 3),
          " with dilation ", IntArrayRef(p.dilation, 3), " does not fit input ", x.sizes(), " with padding ",
          IntArrayRef(p.padding, 3));
  }
  return p;
}

VolumeWindows adaptive_windows(const char* op, const Tensor& x, IntArrayRef output_size) {
  VolumeWindows p{.adaptive = 1};
  expand_option(op, "output_size", output_size, 0, p.out);
  for (int d = 0; d < 3; ++d) check(x.size(2 + d) > 0, op, ": input ", x.sizes(), " has an empty volume");
  return p;
}

Tensor max_unpool1d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  return unpool("max_unpool1d", 1, x, indices, output_size);
}

Tensor lp_pool1d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                 bool ceil_mode) {
  check_row("lp_pool1d", x, kernel_size, "kernel_size");
  return lp_pool(
      "lp_pool1d", x, norm_type, kernel_size, 1,
      [&](const Tensor& t) { return avg_pool1d(t, kernel_size, stride, 0, ceil_mode); },
      [&](const Tensor& t) { return max_pool1d(t, kernel_size, stride, 0, 1, ceil_mode); });
}

Tensor lp_pool2d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                 bool ceil_mode) {
  check(kernel_size.size() == 1 || kernel_size.size() == 2,
        "lp_pool2d: kernel_size must have 1 or 2 values, got ", kernel_size);
  return lp_pool(
      "lp_pool2d", x, norm_type, kernel_size, 2,
      [&](const Tensor& t) { return avg_pool2d(t, kernel_size, stride, 0, ceil_mode); },
      [&](const Tensor& t) { return max_pool2d(t, kernel_size, stride, 0, 1, ceil_mode); });
}

Tensor lp_pool3d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                 bool ceil_mode) {
  check(kernel_size.size() == 1 || kernel_size.size() == 3,
        "lp_pool3d: kernel_size must have 1 or 3 values, got ", kernel_size);
  return lp_pool(
      "lp_pool3d", x, norm_type, kernel_size, 3,
      [&](const Tensor& t) { return avg_pool3d(t, kernel_size, stride, 0, ceil_mode); },
      [&](const Tensor& t) { return max_pool3d(t, kernel_size, stride, 0, 1, ceil_mode); });
}

}  // namespace detail

using namespace detail;

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  const char* op = "max_pool1d_with_indices";
  check_row(op, x, kernel_size, "kernel_size");
  if (stride.empty()) stride = kernel_size;
  check_row(op, x, stride, "stride");
  check_row(op, x, padding, "padding");
  check_row(op, x, dilation, "dilation");
  return without_row(max_pool2d_with_indices(x.unsqueeze(-2), {1, kernel_size[0]}, {1, stride[0]},
                                             {0, padding[0]}, {1, dilation[0]}, ceil_mode));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size) {
  check_row("adaptive_max_pool1d", x, output_size, "output_size");
  return without_row(adaptive_max_pool2d(x.unsqueeze(-2), {1, output_size[0]}));
}

Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  Tensor volumes = to_volumes("avg_pool3d", x);
  VolumeWindows w = volume_windows("avg_pool3d", volumes, kernel_size, stride, padding, 1, ceil_mode);
  check(divisor_override.value_or(1) != 0, "avg_pool3d: divisor_override must not be 0");
  ResampleAttrs p{.mode = int64_t(Resampling::Windows),
                  .count_include_pad = count_include_pad,
                  .divisor = divisor_override.value_or(0)};
  for (int d = 0; d < 3; ++d) {
    p.kernel[d] = w.kernel[d];
    p.stride[d] = w.stride[d];
    p.padding[d] = w.padding[d];
    p.in[d] = volumes.size(2 + d);
    p.out[d] = w.out[d];
  }
  return from_volumes(resample(volumes, p), x);
}

Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size) {
  Tensor volumes = to_volumes("adaptive_avg_pool3d", x);
  VolumeWindows w = adaptive_windows("adaptive_avg_pool3d", volumes, output_size);
  ResampleAttrs p{.mode = int64_t(Resampling::Adaptive)};
  for (int d = 0; d < 3; ++d) {
    p.in[d] = volumes.size(2 + d);
    p.out[d] = w.out[d];
  }
  return from_volumes(resample(volumes, p), x);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  return unpool("max_unpool2d", 2, x, indices, output_size);
}

Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding) {
  int64_t values[3];
  expand_option("max_unpool3d", "stride", stride, 1, values);
  expand_option("max_unpool3d", "padding", padding, 0, values);
  return unpool("max_unpool3d", 3, x, indices, output_size);
}

}  // namespace tarn::inline v1
