// max_pool in three dims, with windows on a grid, adaptive ones, or ones at random places: one op. Its
// gradient adds up at the places of the maxima.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/pool_volume.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// The windows of one dim: window i is count[i] elements from start[i], `step` apart.
struct Windows {
  std::vector<int64_t> start, count;
  int64_t step = 1;
};

Windows grid_windows(const VolumeWindows& p, int d, int64_t in) {
  Windows w;
  w.step = p.dilation[d];
  for (int64_t i = 0; i < p.out[d]; ++i) {
    int64_t at = i * p.stride[d] - p.padding[d];
    int64_t skipped = at < 0 ? (-at + w.step - 1) / w.step : 0;
    int64_t inside = std::max<int64_t>(0, (in - at + w.step - 1) / w.step);
    int64_t count = std::max<int64_t>(0, std::min(p.kernel[d], inside) - skipped);
    w.start.push_back(std::min(at + skipped * w.step, in - 1));
    w.count.push_back(count);
  }
  return w;
}

Windows adaptive_windows(int64_t in, int64_t out) {
  Windows w;
  for (int64_t i = 0; i < out; ++i) {
    w.start.push_back(i * in / out);
    w.count.push_back(((i + 1) * in + out - 1) / out - w.start.back());
  }
  return w;
}

// Graham's pseudorandom sequence; the last window ends with the input.
template <class T>
Windows fractional_windows(const VolumeWindows& p, int d, int64_t in, T sample) {
  Windows w;
  int64_t out = p.out[d], room = in - p.kernel[d];
  T alpha = out > 1 ? T(room) / T(out - 1) : T(0);
  for (int64_t i = 0; i < out; ++i) {
    T at = std::trunc((T(i) + sample) * alpha) - std::trunc(sample * alpha);
    int64_t start = at > 0 ? int64_t(std::min(at, T(room))) : 0;  // 0 for a sample that is NaN
    w.start.push_back(i + 1 == out ? room : std::min(start, room));
    w.count.push_back(p.kernel[d]);
  }
  return w;
}

// One volume of `size`. A NaN is the largest of all; the last one is reported, as in PyTorch.
template <class T>
void max_of_volume(const Windows (&w)[3], const int64_t (&size)[3], const T* x, T* y, int64_t* places) {
  for (size_t d = 0; d < w[0].start.size(); ++d)
    for (size_t h = 0; h < w[1].start.size(); ++h)
      for (size_t v = 0; v < w[2].start.size(); ++v) {
        int64_t place = (w[0].start[d] * size[1] + w[1].start[h]) * size[2] + w[2].start[v];
        T most = -std::numeric_limits<T>::infinity();
        for (int64_t i = 0; i < w[0].count[d]; ++i)
          for (int64_t j = 0; j < w[1].count[h]; ++j)
            for (int64_t k = 0; k < w[2].count[v]; ++k) {
              int64_t at =
                  ((w[0].start[d] + i * w[0].step) * size[1] + w[1].start[h] + j * w[1].step) * size[2] +
                  w[2].start[v] + k * w[2].step;
              if (x[at] > most || std::isnan(x[at])) most = x[at], place = at;
            }
        *y++ = most;
        *places++ = place;
      }
}

// --- the op: inputs x (N, C, D, H, W), samples (N, C, 3) in the compute type or undefined ---

void infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<VolumeWindows>();
  for (int i = 0; i < 2; ++i) {
    out[i].sizes = {a[0].sizes()[0], a[0].sizes()[1], p.out[0], p.out[1], p.out[2]};
    out[i].dtype = i ? kLong : a[0].dtype();
    out[i].device = a[0].device();
  }
}

template <class T>
void max_of_volumes(const VolumeWindows& p, const Tensor& x, const T* samples, const Tensor& y,
                    const Tensor& places) {
  const int64_t size[3] = {x.sizes()[2], x.sizes()[3], x.sizes()[4]};
  int64_t planes = x.sizes()[0] * x.sizes()[1], in = x.numel() / planes, made = y.numel() / planes;
  auto windows_of = [&](int d, int64_t plane) {
    if (p.fractional) return fractional_windows(p, d, size[d], samples[plane * 3 + d]);
    return p.adaptive ? adaptive_windows(size[d], p.out[d]) : grid_windows(p, d, size[d]);
  };
  parallel_for(0, planes, std::max<int64_t>(1, 8192 / (in + made)), [&](int64_t begin, int64_t end) {
    Windows w[3];
    for (int64_t i = begin; i < end; ++i) {
      for (int d = 0; d < 3 && (p.fractional || i == begin); ++d) w[d] = windows_of(d, i);
      max_of_volume(w, size, static_cast<const T*>(x.data_ptr()) + i * in,
                    static_cast<T*>(y.data_ptr()) + i * made, places.data_ptr<int64_t>() + i * made);
    }
  });
}

Tensor computed_in(const Tensor& x, ScalarType compute) {
  if (!x.defined() || x.dtype() == compute) return x.defined() ? dense(x) : x;
  Tensor copy = make_tensor(x.sizes(), compute, x.device());
  copy_elements(copy, x);
  return copy;
}

void cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  ScalarType compute = a[0].dtype() == kDouble ? kDouble : kFloat;
  Tensor x = computed_in(a[0], compute), samples = computed_in(a[1], compute);
  Tensor y = out[0].dtype() == compute ? out[0] : make_tensor(out[0].sizes(), compute, out[0].device());
  visit_float(compute, a.op.name, [&]<class T>(Type<T>) {
    const T* places = samples.defined() ? static_cast<const T*>(samples.data_ptr()) : nullptr;
    max_of_volumes<T>(a.attrs<VolumeWindows>(), x, places, y, out[1]);
  });
  if (!y.is_same(out[0])) copy_elements(out[0], y);
}

void grad(GradArgs& g) {
  const Dims& sizes = g.input_sizes(0);
  const Tensor& gy = g.grad();
  Tensor zero = zeros({sizes[0], sizes[1], sizes[2] * sizes[3] * sizes[4]}, gy.options());
  g.set(0, scatter_add(zero, 2, flatten(g.output(1), 2), flatten(gy, 2)).view(sizes));
}

const Op max_pool3d_op = {.name = "max_pool3d",
                          .infer = infer,
                          .cpu = cpu,
                          .grad = grad,
                          .saves = save_output(1),
                          .outputs = 2,
                          .differentiable = 1};

std::tuple<Tensor, Tensor> as_given(const std::tuple<Tensor, Tensor>& made, const Tensor& x) {
  return {from_volumes(std::get<0>(made), x), from_volumes(std::get<1>(made), x)};
}

// --- fractional: nd is 2 or 3 ---

std::tuple<Tensor, Tensor> fractional(const char* op, int nd, const Tensor& x, IntArrayRef kernel,
                                      IntArrayRef output_size, const Tensor& samples) {
  check(x.dim() == nd + 1 || x.dim() == nd + 2, op, ": input must be ",
        nd == 2 ? "(N, C, H, W) or (C, H, W)" : "(N, C, D, H, W) or (C, D, H, W)", ", got ", x.sizes());
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  Tensor batched = x.dim() == nd + 2 ? x : x.unsqueeze(0);
  Tensor volumes = nd == 3 ? batched : batched.unsqueeze(2);
  VolumeWindows p{.fractional = 1, .kernel = {1, 1, 1}, .out = {1, 1, 1}};
  check(kernel.size() == 1 || int(kernel.size()) == nd, op, ": kernel_size must have 1 or ", nd,
        " values, got ", kernel);
  check(output_size.size() == 1 || int(output_size.size()) == nd, op, ": output_size must have 1 or ", nd,
        " values, got ", output_size);
  for (int d = 0; d < nd; ++d) {
    int64_t k = kernel[kernel.size() == 1 ? 0 : size_t(d)];
    int64_t n = output_size[output_size.size() == 1 ? 0 : size_t(d)], in = volumes.size(5 - nd + d);
    check(k >= 1 && n >= 1 && k <= in && n - 1 <= in - k, op, ": ", output_size, " windows of ", kernel,
          " do not fit input ", x.sizes());
    p.kernel[3 - nd + d] = k;
    p.out[3 - nd + d] = n;
  }
  check(samples.dim() == 3 && samples.size(0) == batched.size(0) && samples.size(1) == batched.size(1) &&
            samples.size(2) == nd,
        op, ": random_samples must be (N, C, ", nd, ") for input ", x.sizes(), ", got ", samples.sizes());
  check(samples.dtype() == x.dtype(), op, ": input is ", x.dtype(), ", random_samples are ", samples.dtype());
  Tensor order = samples.detach();  // for D, H, W; in two dims PyTorch gives W first
  if (nd == 2) order = cat({zeros_like(narrow(order, 2, 0, 1)), flip(order, {2})}, 2);
  auto [y, places] = max_pool_volume(volumes, order, p);
  auto back = [&](Tensor t) {
    if (nd == 2) t = t.squeeze(2);
    return x.dim() == nd + 2 ? t : t.squeeze(0);
  };
  return {back(y), back(places)};
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool_volume(const Tensor& x, const Tensor& samples,
                                           const VolumeWindows& windows) {
  Tensor out[kMaxOutputs];
  dispatch(max_pool3d_op, {x, samples}, windows, {}, out);
  return {out[0], out[1]};
}

}  // namespace detail

using namespace detail;

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  Tensor volumes = to_volumes("max_pool3d", x);
  VolumeWindows p = volume_windows("max_pool3d", volumes, kernel_size, stride, padding, dilation, ceil_mode);
  return as_given(max_pool_volume(volumes, {}, p), x);
}

Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(max_pool3d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode));
}

std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size) {
  Tensor volumes = to_volumes("adaptive_max_pool3d", x);
  VolumeWindows p = adaptive_windows("adaptive_max_pool3d", volumes, output_size);
  return as_given(max_pool_volume(volumes, {}, p), x);
}

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Tensor& random_samples) {
  return fractional("fractional_max_pool2d", 2, x, kernel_size, output_size, random_samples);
}

std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Tensor& random_samples) {
  return fractional("fractional_max_pool3d", 3, x, kernel_size, output_size, random_samples);
}

}  // namespace tarn::inline v1
