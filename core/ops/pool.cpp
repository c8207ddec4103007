// Pooling. max_pool keeps the places of its maxima; its gradient scatters to them and the gradient of that
// gathers from them. avg_pool is linear: its gradient spreads each element over its window, and the gradient
// of that is avg_pool.
#include <algorithm>
#include <limits>
#include <vector>

#include <tarn/core/cpu/isa.h>
#include <tarn/core/cpu/pooling.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

TARN_DECLARE_KERNELS(PoolKernels, pool_kernels)

namespace tarn::inline v1 {

namespace detail {

namespace {

struct PoolAttrs {
  int64_t adaptive = 0;  // then `out` are the output's sizes and the rest is unused
  int64_t kernel[2] = {}, stride[2] = {}, padding[2] = {}, dilation[2] = {1, 1};
  int64_t ceil_mode = 0, count_include_pad = 1, divisor = 0;
  int64_t out[2] = {};
};

// Of the gradient ops: also the sizes of what they make.
struct PoolGradAttrs {
  PoolAttrs pool;
  int64_t sizes[2] = {};
};

// --- geometry ---

int64_t output_size(const PoolAttrs& p, int d, int64_t in) {
  if (p.adaptive) return p.out[d];
  int64_t room = in + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1;
  if (room < 0) return 0;
  int64_t out = (room + (p.ceil_mode ? p.stride[d] - 1 : 0)) / p.stride[d] + 1;
  // The last window must start inside of the input or its left padding.
  if (p.ceil_mode && (out - 1) * p.stride[d] >= in + p.padding[d]) --out;
  return out;
}

// The windows of one dim with the memory of their tables.
class WindowTables {
 public:
  WindowTables(const PoolAttrs& p, int d, int64_t in, int64_t out)
      : start_(size_t(out)), count_(size_t(out)), size_(size_t(out)) {
    windows_ = {.in = in,
                .out = out,
                .step = p.adaptive ? 1 : p.dilation[d],
                .start = start_.data(),
                .count = count_.data(),
                .size = size_.data(),
                .kernel = 0,
                .stride = 0,
                .offset = 0,
                .whole_begin = 0,
                .whole_end = 0};
    p.adaptive ? fill_adaptive() : fill(p, d);
  }
  operator const PoolWindows&() const { return windows_; }

 private:
  void fill_adaptive() {
    int64_t in = windows_.in, out = windows_.out;
    for (int64_t i = 0; i < out; ++i) {
      start_[size_t(i)] = i * in / out;
      count_[size_t(i)] = size_[size_t(i)] = ((i + 1) * in + out - 1) / out - i * in / out;
    }
  }

  void fill(const PoolAttrs& p, int d) {
    int64_t in = windows_.in, out = windows_.out, step = p.dilation[d];
    windows_.kernel = p.kernel[d];
    windows_.stride = p.stride[d];
    windows_.offset = -p.padding[d];
    windows_.whole_begin = windows_.whole_end = out;
    bool begun = false;
    for (int64_t i = 0; i < out; ++i) {
      int64_t at = i * p.stride[d] - p.padding[d];
      int64_t skipped = at < 0 ? (-at + step - 1) / step : 0;
      int64_t inside = std::max<int64_t>(0, (in - at + step - 1) / step);  // elements before the end
      int64_t count = std::max<int64_t>(0, std::min(p.kernel[d], inside) - skipped);
      start_[size_t(i)] = std::min(at + skipped * step, in - 1);
      count_[size_t(i)] = count;
      int64_t padded = std::min(p.kernel[d], in + p.padding[d] - at);
      size_[size_t(i)] = p.count_include_pad || fault(26) ? padded : std::max<int64_t>(1, count);
      bool whole = skipped == 0 && count == p.kernel[d] && size_[size_t(i)] == p.kernel[d];
      if (whole && !begun) windows_.whole_begin = i, begun = true;
      if (!whole && begun && windows_.whole_end == out) windows_.whole_end = i;
    }
  }

  std::vector<int64_t> start_, count_, size_;
  PoolWindows windows_;
};

struct Windows {
  WindowTables h, w;
  Windows(const PoolAttrs& p, IntArrayRef x_sizes, IntArrayRef y_sizes)
      : h(p, 0, x_sizes[2], y_sizes[2]), w(p, 1, x_sizes[3], y_sizes[3]) {}
};

void set_spec(const Tensor& like, Dims sizes, ScalarType dtype, Spec* out) {
  if (like.suggest_memory_format() == MemoryFormat::ChannelsLast) out->strides = channels_last_strides(sizes);
  out->sizes = std::move(sizes);
  out->dtype = dtype;
  out->device = like.device();
}

void infer_pool(const Args& a, Spec* out) {
  const auto& p = a.attrs<PoolAttrs>();
  const Tensor& x = a[0];
  check(is_floating(x.dtype()), a.op.name, ": not implemented for dtype ", x.dtype());
  Dims sizes = x.sizes();
  for (int d = 0; d < 2; ++d) {
    sizes[2 + d] = output_size(p, d, x.sizes()[2 + d]);
    check(sizes[2 + d] > 0 || p.adaptive, a.op.name, ": a kernel of ", IntArrayRef(p.kernel, 2),
          " with dilation ", IntArrayRef(p.dilation, 2), " does not fit input ", x.sizes(), " with padding ",
          IntArrayRef(p.padding, 2));
    check(x.sizes()[2 + d] > 0 || sizes[2 + d] == 0, a.op.name, ": input ", x.sizes(), " has an empty plane");
  }
  check(x.sizes()[2] * x.sizes()[3] < INT32_MAX, a.op.name, ": a plane of ", x.sizes(), " is too large");
  set_spec(x, sizes, x.dtype(), out);
  if (a.op.outputs > 1) set_spec(x, sizes, kLong, out + 1);
}

void infer_grad(const Args& a, Spec* out) {
  const auto& p = a.attrs<PoolGradAttrs>();
  set_spec(a[0], {a[0].sizes()[0], a[0].sizes()[1], p.sizes[0], p.sizes[1]}, a[0].dtype(), out);
}

// --- running kernels ---

bool is_channels_last(const Tensor& x) { return x.suggest_memory_format() == MemoryFormat::ChannelsLast; }

// A tensor as the kernels take it: dense in the layout of `like`, Half and BFloat16 as float.
Tensor prepared(const Tensor& x, const Tensor& like) {
  MemoryFormat format = like.suggest_memory_format();
  if (element_size(x.dtype()) != 2) return dense(x, format);
  Dims strides = format == MemoryFormat::ChannelsLast ? channels_last_strides(x.sizes()) : Dims();
  Tensor copy = make_tensor(x.sizes(), strides, kFloat, x.device());
  copy_elements(copy, x);
  return copy;
}

Tensor prepared_output(const Tensor& out) {
  if (element_size(out.dtype()) != 2) return out;
  return make_tensor(out.sizes(), out.strides(), kFloat, out.device());
}

template <class T>
const PoolTable<T>& table() {
  if constexpr (std::is_same_v<T, float>)
    return pool_kernels().f32;
  else
    return pool_kernels().f64;
}

// Calls body(i) for i < count, where each reads and writes about `elements`.
template <class F>
void for_units(int64_t count, int64_t elements, const F& body) {
  parallel_for(0, count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) body(i);
               });
}

int64_t plane_of(const Tensor& x) { return x.sizes()[2] * x.sizes()[3]; }

// Calls plane(offset in x, offset in y) per plane, or with channels innermost rows(offset in x, offset in y,
// begin, end) per sample and row of y.
template <class Plane, class Rows>
void for_planes_or_rows(const Tensor& x, const Tensor& y, const Plane& plane, const Rows& rows) {
  int64_t N = x.sizes()[0], C = x.sizes()[1], in = plane_of(x), out = plane_of(y);
  if (!is_channels_last(x)) return for_units(N * C, in + out, [&](int64_t i) { plane(i * in, i * out); });
  int64_t lines = y.sizes()[2];
  for_units(N * lines, C * (in + out) / lines,
            [&](int64_t i) { rows(i / lines * C * in, i / lines * C * out, i % lines, i % lines + 1); });
}

// --- on a device: row-major planes. `pooled` has the plane's sizes, `grid` the windows' ---

void pool_cuda(const char* op, PoolKind kind, const PoolAttrs* p, const Tensor& in, const Tensor& out,
               const Tensor& places, const Tensor& pooled, const Tensor& grid) {
  if (out.numel() == 0) return;
  if (in.numel() == 0) return fill_elements(out, 0);
  ScalarType dtype = compute_dtype_of(in.dtype());
  Tensor from = row_major(in, dtype), to = row_major_output(out, dtype);
  Tensor where = !places.defined()       ? Tensor()
                 : kind == PoolKind::Max ? row_major_output(places, kLong)
                                         : row_major(places, kLong);
  PoolCall call{};
  call.kind = kind;
  call.compute = compute_of(dtype);
  call.in = from.data_ptr();
  call.out = to.data_ptr();
  call.places = static_cast<int64_t*>(address_of(where));
  call.planes = in.sizes()[0] * in.sizes()[1];
  call.has_windows = p && (p->adaptive || p->kernel[0] > 0);
  for (int d = 0; d < 2; ++d) {
    call.plane[d] = pooled.sizes()[2 + d];
    call.windows[d] = grid.sizes()[2 + d];
    if (!p) continue;
    call.kernel[d] = p->kernel[d];
    call.stride[d] = p->stride[d];
    call.padding[d] = p->padding[d];
    call.dilation[d] = p->dilation[d];
  }
  if (p) {
    call.adaptive = p->adaptive;
    call.count_include_pad = p->count_include_pad;
    call.divisor = p->divisor;
  }
  launch_cuda(op, &CudaTable::pool, call);
  finish_output(out, to);
  if (kind == PoolKind::Max) finish_output(places, where);
}

void max_cuda(const Args& a, Tensor* out) {
  pool_cuda(a.op.name, PoolKind::Max, &a.attrs<PoolAttrs>(), a[0], out[0], out[1], a[0], out[0]);
}
void scatter_cuda(const Args& a, Tensor* out) {
  pool_cuda(a.op.name, PoolKind::Scatter, &a.attrs<PoolGradAttrs>().pool, a[0], *out, a[1], *out, a[0]);
}
void gather_cuda(const Args& a, Tensor* out) {
  pool_cuda(a.op.name, PoolKind::Gather, nullptr, a[0], *out, a[1], a[0], *out);
}
void average_cuda(const Args& a, Tensor* out) {
  pool_cuda(a.op.name, PoolKind::Average, &a.attrs<PoolAttrs>(), a[0], *out, {}, a[0], *out);
}
void spread_cuda(const Args& a, Tensor* out) {
  pool_cuda(a.op.name, PoolKind::Spread, &a.attrs<PoolGradAttrs>().pool, a[0], *out, {}, *out, a[0]);
}

// --- max ---

void max_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Windows windows(a.attrs<PoolAttrs>(), a[0].sizes(), out->sizes());
  Tensor x = prepared(a[0], *out), y = prepared_output(out[0]);
  int64_t* places = out[1].data_ptr<int64_t>();
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    const T* from = static_cast<const T*>(x.data_ptr());
    T* to = static_cast<T*>(y.data_ptr());
    for_planes_or_rows(
        x, y,
        [&](int64_t i, int64_t o) {
          table<T>().plane_max(windows.h, windows.w, from + i, to + o, places + o);
        },
        [&](int64_t i, int64_t o, int64_t begin, int64_t end) {
          table<T>().row_max(windows.h, windows.w, x.sizes()[1], begin, end, from + i, to + o, places + o);
        });
  });
  finish_output(*out, y);
}

// Inputs of both: values, places. scatter makes the sizes of the attributes, gather those of places.
template <class F>
void for_places(const Args& a, const Tensor& values, const Tensor& out, const F& body) {
  Tensor places = dense(a[1], a[0].suggest_memory_format());
  bool last = is_channels_last(values);
  int64_t channels = last ? values.sizes()[1] : 1, units = values.sizes()[0] * values.sizes()[1] / channels;
  int64_t in = plane_of(values), made = plane_of(out);
  for_units(units, channels * (in + made), [&](int64_t i) {
    body(i * channels * in, i * channels * made, channels, places.data_ptr<int64_t>());
  });
}

void scatter_cpu(const Args& a, Tensor* out) {
  if (a[0].numel() == 0) return fill_elements(*out, 0);
  Tensor gy = prepared(a[0], a[0]), gx = prepared_output(*out);
  visit_float(gy.dtype(), a.op.name, [&]<class T>(Type<T>) {
    for_places(a, gy, gx, [&](int64_t from, int64_t to, int64_t channels, const int64_t* places) {
      table<T>().scatter(plane_of(gx), plane_of(gy), channels, static_cast<const T*>(gy.data_ptr()) + from,
                         places + from, static_cast<T*>(gx.data_ptr()) + to);
    });
  });
  finish_output(*out, gx);
}

void gather_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor x = prepared(a[0], a[0]), y = prepared_output(*out);
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    for_places(a, x, y, [&](int64_t from, int64_t to, int64_t channels, const int64_t* places) {
      table<T>().gather(plane_of(y), channels, static_cast<const T*>(x.data_ptr()) + from, places + to,
                        static_cast<T*>(y.data_ptr()) + to);
    });
  });
  finish_output(*out, y);
}

Tensor scatter_places(const Tensor& gy, const Tensor& places, int64_t height, int64_t width,
                      const PoolAttrs& windows);
Tensor gather_places(const Tensor& x, const Tensor& places);

void max_grad(GradArgs& g) {
  g.set(0, scatter_places(g.grad(), g.output(1), g.input_sizes(0)[2], g.input_sizes(0)[3],
                          g.attrs<PoolAttrs>()));
}

void scatter_grad(GradArgs& g) { g.set(0, gather_places(g.grad(), g.input(1))); }

void gather_grad(GradArgs& g) {
  // What the windows were is not known here.
  g.set(0, scatter_places(g.grad(), g.input(1), g.input_sizes(0)[2], g.input_sizes(0)[3], PoolAttrs()));
}

void infer_gather(const Args& a, Spec* out) { set_spec(a[0], a[1].sizes(), a[0].dtype(), out); }

constexpr Op max_op_named(const char* name) {
  return {.name = name,
          .infer = infer_pool,
          .cpu = max_cpu,
          .cuda = max_cuda,
          .grad = max_grad,
          .saves = save_output(1),
          .outputs = 2,
          .differentiable = 1};
}
const Op max_pool1d_op = max_op_named("max_pool1d");
const Op max_pool2d_op = max_op_named("max_pool2d");
const Op adaptive_max_pool2d_op = max_op_named("adaptive_max_pool2d");
const Op scatter_op = {.name = "max_pool_grad",
                       .infer = infer_grad,
                       .cpu = scatter_cpu,
                       .cuda = scatter_cuda,
                       .grad = scatter_grad,
                       .saves = save_input(1)};
const Op gather_op = {.name = "max_pool_gather",
                      .infer = infer_gather,
                      .cpu = gather_cpu,
                      .cuda = gather_cuda,
                      .grad = gather_grad,
                      .saves = save_input(1)};

Tensor scatter_places(const Tensor& gy, const Tensor& places, int64_t height, int64_t width,
                      const PoolAttrs& windows) {
  PoolGradAttrs attrs{.pool = windows};
  attrs.sizes[0] = height;
  attrs.sizes[1] = width;
  return dispatch(scatter_op, {gy, places}, attrs);
}

Tensor gather_places(const Tensor& x, const Tensor& places) { return dispatch(gather_op, {x, places}); }

// --- average ---

void average_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  const auto& p = a.attrs<PoolAttrs>();
  Windows windows(p, a[0].sizes(), out->sizes());
  Tensor x = prepared(a[0], *out), y = prepared_output(*out);
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    const T* from = static_cast<const T*>(x.data_ptr());
    T* to = static_cast<T*>(y.data_ptr());
    for_planes_or_rows(
        x, y,
        [&](int64_t i, int64_t o) {
          table<T>().plane_average(windows.h, windows.w, p.divisor, from + i, to + o);
        },
        [&](int64_t i, int64_t o, int64_t begin, int64_t end) {
          table<T>().row_average(windows.h, windows.w, x.sizes()[1], p.divisor, begin, end, from + i, to + o);
        });
  });
  finish_output(*out, y);
}

void spread_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  if (a[0].numel() == 0) return fill_elements(*out, 0);
  const auto& p = a.attrs<PoolGradAttrs>().pool;
  Windows windows(p, out->sizes(), a[0].sizes());
  Tensor gy = prepared(a[0], *out), gx = prepared_output(*out);
  bool last = is_channels_last(gy);
  int64_t channels = last ? gy.sizes()[1] : 1, units = gy.sizes()[0] * gy.sizes()[1] / channels;
  int64_t from = channels * plane_of(gy), to = channels * plane_of(gx);
  visit_float(gy.dtype(), a.op.name, [&]<class T>(Type<T>) {
    for_units(units, from + to, [&](int64_t i) {
      const T* g = static_cast<const T*>(gy.data_ptr()) + i * from;
      T* x = static_cast<T*>(gx.data_ptr()) + i * to;
      if (last)
        table<T>().row_spread(windows.h, windows.w, channels, p.divisor, g, x);
      else
        table<T>().plane_spread(windows.h, windows.w, p.divisor, g, x);
    });
  });
  finish_output(*out, gx);
}

extern const Op avg_pool_spread_op;
const Op& average_op(const PoolAttrs& p);

void average_grad(GradArgs& g) {
  PoolGradAttrs attrs{.pool = g.attrs<PoolAttrs>(), .sizes = {g.input_sizes(0)[2], g.input_sizes(0)[3]}};
  g.set(0, dispatch(avg_pool_spread_op, {g.grad()}, attrs));
}

void spread_grad(GradArgs& g) {
  const PoolAttrs& p = g.attrs<PoolGradAttrs>().pool;
  g.set(0, dispatch(average_op(p), {g.grad()}, p));
}

constexpr Op average_op_named(const char* name) {
  return {.name = name, .infer = infer_pool, .cpu = average_cpu, .cuda = average_cuda, .grad = average_grad};
}
const Op avg_pool1d_op = average_op_named("avg_pool1d");
const Op avg_pool2d_op = average_op_named("avg_pool2d");
const Op adaptive_avg_pool1d_op = average_op_named("adaptive_avg_pool1d");
const Op adaptive_avg_pool2d_op = average_op_named("adaptive_avg_pool2d");
const Op avg_pool_spread_op = {.name = "avg_pool_grad",
                               .infer = infer_grad,
                               .cpu = spread_cpu,
                               .cuda = spread_cuda,
                               .grad = spread_grad};

const Op& average_op(const PoolAttrs& p) { return p.adaptive ? adaptive_avg_pool2d_op : avg_pool2d_op; }

// --- arguments ---

// Products with sizes stay within int64.
constexpr int64_t kMostOption = std::numeric_limits<int32_t>::max();

// One number for all dims, or one per dim. For 1d, dim 0 is one row.
void expand_option(const char* op, const char* name, IntArrayRef values, int64_t least, int nd, int64_t* to) {
  check(values.size() == 1 || int(values.size()) == nd, op, ": ", name,
        nd == 1 ? " must have 1 value" : " must have 1 or 2 values", ", got ", values);
  for (int d = 0; d < nd; ++d) {
    int64_t value = values[values.size() == 1 ? 0 : size_t(d)];
    check(value >= least, op, ": ", name, " must be at least ", least, ", got ", values);
    check(value <= kMostOption, op, ": ", name, " must be at most ", kMostOption, ", got ", values);
    to[2 - nd + d] = value;
  }
}

PoolAttrs pool_attrs(const char* op, int nd, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                     IntArrayRef dilation, bool ceil_mode) {
  PoolAttrs p{.kernel = {1, 1}, .stride = {1, 1}, .ceil_mode = ceil_mode};
  expand_option(op, "kernel_size", kernel, 1, nd, p.kernel);
  expand_option(op, "stride", stride.empty() ? kernel : stride, 1, nd, p.stride);
  expand_option(op, "padding", padding, 0, nd, p.padding);
  expand_option(op, "dilation", dilation, 1, nd, p.dilation);
  for (int d = 0; d < 2; ++d)
    check(2 * p.padding[d] <= p.kernel[d], op, ": padding must be at most half of the kernel, got padding ",
          padding, " and kernel ", kernel);
  return p;
}

PoolAttrs adaptive_attrs(const char* op, int nd, IntArrayRef output_size) {
  PoolAttrs p{.adaptive = 1, .out = {1, 1}};
  expand_option(op, "output_size", output_size, 0, nd, p.out);
  return p;
}

// x as (N, C, H, W).
Tensor to_planes(const char* op, const Tensor& x, int nd) {
  const char* dims = nd == 1 ? "W" : "H, W";
  check(x.dim() == nd + 2 || x.dim() == nd + 1, op, ": input must be (N, C, ", dims, ") or (C, ", dims,
        "), got ", x.sizes());
  Tensor planes = nd == 1 ? x.unsqueeze(-2) : x;
  return x.dim() == nd + 1 ? planes.unsqueeze(0) : planes;
}

Tensor from_planes(const Tensor& y, const Tensor& x, int nd) {
  Tensor planes = x.dim() == nd + 1 ? y.squeeze(0) : y;
  return nd == 1 ? planes.squeeze(-2) : planes;
}

std::tuple<Tensor, Tensor> run_max(const Op& op, const Tensor& x, int nd, const PoolAttrs& p) {
  Tensor out[kMaxOutputs];
  dispatch(op, {to_planes(op.name, x, nd)}, p, {}, out);
  return {from_planes(out[0], x, nd), from_planes(out[1], x, nd)};
}

Tensor run_average(const Op& op, const Tensor& x, int nd, const PoolAttrs& p) {
  return from_planes(dispatch(op, {to_planes(op.name, x, nd)}, p), x, nd);
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  PoolAttrs p = pool_attrs("max_pool1d", 1, kernel_size, stride, padding, dilation, ceil_mode);
  return std::get<0>(run_max(max_pool1d_op, x, 1, p));
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  PoolAttrs p = pool_attrs("max_pool2d", 2, kernel_size, stride, padding, dilation, ceil_mode);
  return run_max(max_pool2d_op, x, 2, p);
}

Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  PoolAttrs p = pool_attrs("avg_pool1d", 1, kernel_size, stride, padding, 1, ceil_mode);
  p.count_include_pad = count_include_pad;
  return run_average(avg_pool1d_op, x, 1, p);
}

Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  PoolAttrs p = pool_attrs("avg_pool2d", 2, kernel_size, stride, padding, 1, ceil_mode);
  check(divisor_override.value_or(1) != 0, "avg_pool2d: divisor_override must not be 0");
  p.count_include_pad = count_include_pad;
  p.divisor = divisor_override.value_or(0);
  return run_average(avg_pool2d_op, x, 2, p);
}

Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size) {
  return run_average(adaptive_avg_pool1d_op, x, 1, adaptive_attrs("adaptive_avg_pool1d", 1, output_size));
}

Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size) {
  return run_average(adaptive_avg_pool2d_op, x, 2, adaptive_attrs("adaptive_avg_pool2d", 2, output_size));
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size) {
  return run_max(adaptive_max_pool2d_op, x, 2, adaptive_attrs("adaptive_max_pool2d", 2, output_size));
}

}  // namespace tarn::inline v1
