// Batch normalisation. In training, one op makes y and the batch's statistics (in double), another its
// gradients; the gradient of the latter is written with public ops over statistics that it takes from x
// again, so that derivatives of any order are right.
#include <algorithm>
#include <cmath>
#include <vector>

#include <tarn/core/cpu/batch_norm.h>
#include <tarn/core/cpu/isa.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/batch_norm.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/running_statistics.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

TARN_DECLARE_KERNELS(BatchNormKernels, batch_norm_kernels)

namespace tarn::inline v1 {

namespace detail {

namespace {

using Channels = std::vector<double>;  // one number per channel

// --- arguments ---

void check_channel_tensor(const Tensor& x, const Tensor& t, const char* name) {
  if (!t.defined()) return;
  check(t.dim() == 1 && t.sizes()[0] == x.sizes()[1], "batch_norm: ", name, " ", t.sizes(),
        " does not fit input ", x.sizes(), ", which has ", x.sizes()[1], " channels");
  bool fits = t.dtype() == x.dtype() || (t.dtype() == kFloat && element_size(x.dtype()) == 2);
  check(fits, "batch_norm: input is ", x.dtype(), ", ", name, " is ", t.dtype(), "; convert one with to()");
}

void infer_output(const Tensor& x, Spec* out) {
  out->sizes = x.sizes();
  out->dtype = x.dtype();
  out->device = x.device();
  if (x.suggest_memory_format() == MemoryFormat::ChannelsLast)
    out->strides = channels_last_strides(x.sizes());
}

void infer_channels(const Tensor& x, ScalarType dtype, Spec* out) {
  out->sizes = {x.sizes()[1]};
  out->dtype = dtype;
  out->device = x.device();
}

// --- geometry: rows of channels (channels_last, or (N, C)), or planes of one channel ---

struct Geometry {
  bool rows;
  int64_t batch, channels, size;  // size: elements of one channel of one sample

  explicit Geometry(const Tensor& x)
      : rows(x.dim() == 2 || x.suggest_memory_format() == MemoryFormat::ChannelsLast),
        batch(x.sizes()[0]),
        channels(x.sizes()[1]),
        size(x.numel() == 0 ? 0 : x.numel() / (batch * channels)) {}
  int64_t count() const { return batch * size; }  // elements of a channel
};

// x as the kernels take it: dense, Half and BFloat16 as float.
Tensor prepared(const Tensor& x, const Tensor& layout_of) {
  MemoryFormat format = layout_of.suggest_memory_format();
  if (x.dtype() == kFloat || x.dtype() == kDouble) return dense(x, format);
  Dims strides = format == MemoryFormat::ChannelsLast ? channels_last_strides(x.sizes()) : Dims();
  Tensor copy = make_tensor(x.sizes(), strides, kFloat, x.device());
  copy_elements(copy, x);
  return copy;
}

// Memory that the kernels write, and its way into the output.
Tensor prepared_output(const Tensor& out) {
  if (out.dtype() == kFloat || out.dtype() == kDouble) return out;
  return make_tensor(out.sizes(), out.strides(), kFloat, out.device());
}

Channels read_channels(const Tensor& t, int64_t channels, double otherwise) {
  Channels values(size_t(channels), otherwise);
  if (!t.defined()) return values;
  visit(t.dtype(), "batch_norm", [&]<class T>(Type<T>) {
    const T* data = static_cast<const T*>(t.data_ptr());
    for (int64_t c = 0; c < channels; ++c) values[size_t(c)] = double(data[c * t.strides()[0]]);
  });
  return values;
}

void write_channels(const Tensor& t, const Channels& values) {
  visit(t.dtype(), "batch_norm", [&]<class T>(Type<T>) {
    for (size_t c = 0; c < values.size(); ++c) static_cast<T*>(t.data_ptr())[c] = T(values[c]);
  });
}

// The coefficients that kernels take, for all channels.
template <class T>
class Coefficients {
 public:
  Coefficients(const Channels& mean, const Channels& scale, const Channels& shift, const Channels& slope)
      : channels_(mean.size()), values_(5 * mean.size()) {
    for (size_t c = 0; c < channels_; ++c) {
      values_[c] = T(mean[c]);
      values_[channels_ + c] = T(mean[c] - double(T(mean[c])));
      values_[2 * channels_ + c] = T(scale[c]);
      values_[3 * channels_ + c] = T(shift[c]);
      values_[4 * channels_ + c] = T(slope[c]);
    }
  }
  NormRow<T> row() const {
    const T* v = values_.data();
    return {v, v + channels_, v + 2 * channels_, v + 3 * channels_, v + 4 * channels_};
  }
  NormChannel<T> channel(int64_t c) const {
    NormRow<T> r = row();
    return {r.high[c], r.low[c], r.scale[c], r.shift[c], r.slope[c]};
  }

 private:
  size_t channels_;
  std::vector<T> values_;
};

template <class T>
const BatchNormTable<T>& table() {
  if constexpr (std::is_same_v<T, float>)
    return batch_norm_kernels().f32;
  else
    return batch_norm_kernels().f64;
}

// Elements of a piece of rows: it stays in the first- or second-level cache between two passes.
constexpr int64_t kPieceElements = 16384;
constexpr int64_t kGrain = 16384;

int64_t rows_per_piece(const Geometry& g) { return std::max<int64_t>(1, kPieceElements / g.channels); }

template <class F>
void for_channels(const Geometry& g, const F& body) {
  parallel_for(0, g.channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, g.count())),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; ++c) body(c);
               });
}

// --- statistics ---

struct Statistics {
  Channels mean, variance, inverse;
  Statistics(const Geometry& g)
      : mean(size_t(g.channels)), variance(size_t(g.channels)), inverse(size_t(g.channels)) {}
  void set(int64_t c, double m, double squares, double count, double eps) {
    mean[size_t(c)] = m;
    variance[size_t(c)] = squares / count;
    inverse[size_t(c)] = 1 / std::sqrt(squares / count + eps);
  }
};

struct ChannelMoments {
  double count, mean, squares;  // squares: the sum of squared distances from the mean
};

// Of one channel of some rows, where sums in T overflow.
template <class T>
ChannelMoments wide_moments(const T* x, int64_t rows, int64_t channels) {
  double sum = 0, squares = 0;
  for (int64_t r = 0; r < rows; ++r) sum += double(x[r * channels]);
  double mean = sum / double(rows);
  for (int64_t r = 0; r < rows; ++r)
    squares += (double(x[r * channels]) - mean) * (double(x[r * channels]) - mean);
  return {double(rows), mean, squares};
}

// From row_stats: x is the channel's first element, sums what row_stats wrote for the channel.
template <class T>
ChannelMoments piece_moments(const T* x, int64_t rows, int64_t channels, const T* sums) {
  double count = double(rows), mean = double(x[0]) + double(sums[0]) / count,
         off = mean - double(sums[channels]);
  double squares = double(sums[2 * channels]) - count * off * off;
  if (!std::isfinite(squares)) return wide_moments(x, rows, channels);
  return {count, mean, std::max(0.0, squares)};
}

// Pieces' moments joined in order (Chan, Golub and LeVeque 1979).
template <class T>
void row_statistics(const Geometry& g, const T* x, double eps, Statistics& s) {
  int64_t rows = rows_per_piece(g), pieces = (g.count() + rows - 1) / rows;
  Scratch<T> sums(pieces * 3 * g.channels);
  parallel_chunks(g.count(), rows, [&](int64_t piece, int64_t begin, int64_t end) {
    T* sum = sums.data() + piece * 3 * g.channels;
    table<T>().row_stats(x + begin * g.channels, end - begin, g.channels, sum, sum + g.channels,
                         sum + 2 * g.channels);
  });
  for_channels(g, [&](int64_t c) {
    ChannelMoments all = {0, 0, 0};
    for (int64_t p = 0; p < pieces; ++p) {
      ChannelMoments m = piece_moments(x + p * rows * g.channels + c, std::min(rows, g.count() - p * rows),
                                       g.channels, sums.data() + p * 3 * g.channels + c);
      double delta = m.mean - all.mean, total = all.count + m.count;
      all.mean += delta * (m.count / total);
      all.squares += m.squares + delta * delta * (all.count * m.count / total);
      all.count = total;
    }
    s.set(c, all.mean, all.squares, all.count, eps);
  });
}

// --- forward ---

template <class T>
void apply(const Geometry& g, const T* x, T* y, const Coefficients<T>& coefficients) {
  if (g.rows) {
    parallel_for(0, g.count(), rows_per_piece(g), [&](int64_t begin, int64_t end) {
      table<T>().row_apply(x + begin * g.channels, y + begin * g.channels, end - begin, g.channels,
                           coefficients.row());
    });
    return;
  }
  for_channels(g, [&](int64_t c) {
    table<T>().plane_apply(x + c * g.size, y + c * g.size, g.batch, g.channels * g.size, g.size,
                           coefficients.channel(c));
  });
}

Channels scales(const Channels& weight, const Channels& inverse) {
  Channels scale(weight.size());
  for (size_t c = 0; c < scale.size(); ++c) scale[c] = weight[c] * inverse[c];
  return scale;
}

template <class T>
void train(const Geometry& g, const T* x, T* y, const Channels& weight, const Channels& bias, double eps,
           Statistics& s) {
  if (g.rows) {
    row_statistics(g, x, eps, s);
    return apply(g, x, y, Coefficients<T>(s.mean, scales(weight, s.inverse), bias, bias));
  }
  // A channel is read a second time while it is in the cache.
  for_channels(g, [&](int64_t c) {
    double mean, squares;
    table<T>().plane_stats(x + c * g.size, g.batch, g.channels * g.size, g.size, &mean, &squares);
    s.set(c, mean, squares, double(g.count()), eps);
    size_t i = size_t(c);
    NormChannel<T> coefficients = {T(mean), T(mean - double(T(mean))), T(weight[i] * s.inverse[i]),
                                   T(bias[i]), T(0)};
    table<T>().plane_apply(x + c * g.size, y + c * g.size, g.batch, g.channels * g.size, g.size,
                           coefficients);
  });
}

void train_infer(const Args& a, Spec* out) {
  const Tensor& x = a[0];
  Geometry g(x);
  check(g.count() != 1, "batch_norm: training needs more than one value per channel, got input ", x.sizes());
  infer_output(x, out);
  for (int i = 1; i < 4; ++i) infer_channels(x, kDouble, out + i);
}

// Outputs y, mean, 1 / sqrt(var + eps), biased variance.
void train_cpu(const Args& a, Tensor* out) {
  Geometry g(a[0]);
  Statistics s(g);
  if (g.count() > 0 && g.channels > 0) {
    Tensor x = prepared(a[0], a[0]), y = prepared_output(out[0]);
    Channels weight = read_channels(a[1], g.channels, 1), bias = read_channels(a[2], g.channels, 0);
    visit_float(x.dtype(), "batch_norm", [&]<class T>(Type<T>) {
      train(g, static_cast<const T*>(x.data_ptr()), static_cast<T*>(y.data_ptr()), weight, bias,
            a.scalar().to_double(), s);
    });
    finish_output(out[0], y);
  }
  write_channels(out[1], s.mean);
  write_channels(out[2], s.inverse);
  write_channels(out[3], s.variance);
}

// --- backward: inputs gy, x, weight, mean, inverse; outputs gx, gweight, gbias ---

struct GradSums {
  Channels plain, product;  // of gy and of gy * (x - mean)
  explicit GradSums(const Geometry& g) : plain(size_t(g.channels)), product(size_t(g.channels)) {}
};

template <class T>
void row_grad_sums(const Geometry& g, const T* x, const T* gy, const Coefficients<T>& coefficients,
                   GradSums& sums) {
  int64_t rows = rows_per_piece(g), pieces = (g.count() + rows - 1) / rows;
  Scratch<T> partial(pieces * 2 * g.channels);
  parallel_chunks(g.count(), rows, [&](int64_t piece, int64_t begin, int64_t end) {
    T* sum = partial.data() + piece * 2 * g.channels;
    table<T>().row_grad_sums(x + begin * g.channels, gy + begin * g.channels, end - begin, g.channels,
                             coefficients.row(), sum, sum + g.channels);
  });
  for (int64_t p = 0; p < pieces; ++p)
    for (int64_t c = 0; c < g.channels; ++c) {
      sums.plain[size_t(c)] += double(partial[p * 2 * g.channels + c]);
      sums.product[size_t(c)] += double(partial[(p * 2 + 1) * g.channels + c]);
    }
}

// gx = ((gy - mean of gy) - (x - mean) * slope) * scale.
double slope_of(double inverse, double product, int64_t count) {
  return inverse * inverse * product / double(count);
}

template <class T>
void backward_rows(const Geometry& g, const T* x, const T* gy, T* gx, const Channels& mean,
                   const Channels& inverse, const Channels& weight, GradSums& sums) {
  Channels zero(size_t(g.channels)), shift = zero, slope = zero;
  row_grad_sums(g, x, gy, Coefficients<T>(mean, zero, zero, zero), sums);
  for (size_t c = 0; c < zero.size(); ++c) {
    shift[c] = sums.plain[c] / double(g.count());
    slope[c] = slope_of(inverse[c], sums.product[c], g.count());
  }
  Coefficients<T> coefficients(mean, scales(weight, inverse), shift, slope);
  parallel_for(0, g.count(), rows_per_piece(g), [&](int64_t begin, int64_t end) {
    int64_t at = begin * g.channels;
    table<T>().row_grad_apply(x + at, gy + at, gx + at, end - begin, g.channels, coefficients.row());
  });
}

template <class T>
void backward_planes(const Geometry& g, const T* x, const T* gy, T* gx, const Channels& mean,
                     const Channels& inverse, const Channels& weight, GradSums& sums) {
  for_channels(g, [&](int64_t channel) {
    size_t c = size_t(channel);
    int64_t at = channel * g.size, step = g.channels * g.size;
    NormChannel<T> k = {T(mean[c]), T(mean[c] - double(T(mean[c]))), T(weight[c] * inverse[c]), T(0), T(0)};
    table<T>().plane_grad_sums(x + at, gy + at, g.batch, step, g.size, k, &sums.plain[c], &sums.product[c]);
    k.shift = fault(25) ? T(0) : T(sums.plain[c] / double(g.count()));
    k.slope = T(slope_of(inverse[c], sums.product[c], g.count()));
    table<T>().plane_grad_apply(x + at, gy + at, gx + at, g.batch, step, g.size, k);
  });
}

void backward_infer(const Args& a, Spec* out) {
  infer_output(a[1], out);
  ScalarType dtype = a[2].defined() ? a[2].dtype() : a[1].dtype();
  infer_channels(a[1], dtype, out + 1);
  infer_channels(a[1], dtype, out + 2);
}

void backward_cpu(const Args& a, Tensor* out) {
  Geometry g(a[1]);
  GradSums sums(g);
  Channels inverse = read_channels(a[4], g.channels, 1);
  if (g.count() > 0 && g.channels > 0) {
    Tensor gy = prepared(a[0], a[1]), x = prepared(a[1], a[1]), gx = prepared_output(out[0]);
    Channels weight = read_channels(a[2], g.channels, 1), mean = read_channels(a[3], g.channels, 0);
    visit_float(x.dtype(), "batch_norm", [&]<class T>(Type<T>) {
      auto run = g.rows ? backward_rows<T> : backward_planes<T>;
      run(g, static_cast<const T*>(x.data_ptr()), static_cast<const T*>(gy.data_ptr()),
          static_cast<T*>(gx.data_ptr()), mean, inverse, weight, sums);
    });
    finish_output(out[0], gx);
  }
  write_channels(out[1], scales(sums.product, inverse));
  write_channels(out[2], sums.plain);
}

// --- the gradient of the gradients ---

Dims all_but_channels(const Tensor& x) {
  Dims dims = {0};
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

// (C) as (1, C, 1, ...).
Tensor per_channel(const Tensor& t, const Tensor& x) {
  Dims sizes(int(x.dim()), 1);
  sizes[1] = x.sizes()[1];
  return t.reshape(sizes);
}

void accumulate(Tensor& sum, const Tensor& term) { sum = sum.defined() ? add(sum, term) : term; }

// With P(v) = v - mean(v) - n mean(v n), n the normalised x: gx = w r P(gy), gw = sum(gy n), gb = sum(gy). P
// is its own transpose, and sum(v n) has the gradient r P(v) with respect to x, r itself has -r^2 n / count.
void grad_of_backward(GradArgs& g) {
  const Tensor &gy = g.input(0), &x = g.input(1);
  Dims dims = all_but_channels(x);
  auto mean_of = [&](const Tensor& v) { return v.mean(dims, true); };
  Tensor centred = sub(x, mean_of(x));
  Tensor r = rsqrt(add(mean_of(square(centred)), g.scalar())), n = mul(centred, r);
  auto project = [&](const Tensor& v) { return sub(sub(v, mean_of(v)), mul(n, mean_of(mul(v, n)))); };
  auto weighted = [&](const Tensor& v) { return g.has_input(2) ? mul(v, per_channel(g.input(2), x)) : v; };
  const Tensor &ggx = g.grad(0), &ggw = g.grad(1), &ggb = g.grad(2);

  Tensor to_gy, to_x, projected = project(gy);
  if (ggx.defined()) {
    accumulate(to_gy, weighted(mul(r, project(ggx))));
    Tensor inner = add(add(mul(n, mean_of(mul(ggx, projected))), mul(mean_of(mul(gy, n)), project(ggx))),
                       mul(mean_of(mul(ggx, n)), projected));
    accumulate(to_x, neg(weighted(mul(square(r), inner))));
    if (g.needs(2)) g.set(2, mul(mul(ggx, r), projected).sum(dims));
  }
  if (ggw.defined()) {
    Tensor v = per_channel(ggw, x);
    accumulate(to_gy, mul(v, n));
    accumulate(to_x, mul(mul(v, r), projected));
  }
  if (ggb.defined()) accumulate(to_gy, per_channel(ggb, x).expand(x.sizes()));
  if (g.needs(0) && to_gy.defined()) g.set(0, to_gy);
  if (g.needs(1) && to_x.defined()) g.set(1, to_x);
}

const Op backward_op = {.name = "batch_norm_grad",
                        .infer = backward_infer,
                        .cpu = backward_cpu,
                        .cuda = batch_norm_backward_cuda,
                        .grad = grad_of_backward,
                        .saves = save_input(0) | save_input(1) | save_input(2),
                        .outputs = 3};

void train_grad(GradArgs& g) {
  Tensor weight = g.has_input(1) ? g.input(1) : Tensor(), grads[kMaxOutputs];
  dispatch(backward_op, {g.grad(), g.input(0), weight, g.output(1), g.output(2)}, {}, g.scalar(), grads);
  for (int i = 0; i < 3; ++i)
    if (g.needs(i)) g.set(i, grads[i]);
}

}  // namespace

const Op batch_norm_op = {.name = "batch_norm",
                          .infer = train_infer,
                          .cpu = train_cpu,
                          .cuda = batch_norm_train_cuda,
                          .grad = train_grad,
                          .saves = save_input(0) | save_input(1) | save_output(1) | save_output(2),
                          .outputs = 4,
                          .differentiable = 1};

namespace {

// --- the statistics alone ---

template <class T>
void statistics(const Geometry& g, const T* x, double eps, Statistics& s) {
  if (g.rows) return row_statistics(g, x, eps, s);
  for_channels(g, [&](int64_t c) {
    double mean, squares;
    table<T>().plane_stats(x + c * g.size, g.batch, g.channels * g.size, g.size, &mean, &squares);
    s.set(c, mean, squares, double(g.count()), eps);
  });
}

void statistics_infer(const Args& a, Spec* out) {
  train_infer(a, out);
  for (int i = 0; i < 3; ++i) out[i] = out[i + 1];
  out[3].sizes = {4, a[0].sizes()[1]};
  out[3].dtype = a[0].dtype() == kDouble ? kDouble : kFloat;
  out[3].device = a[0].device();
}

void statistics_cpu(const Args& a, Tensor* out) {
  Geometry g(a[0]);
  Statistics s(g);
  Channels weight = read_channels(a[1], g.channels, 1), bias = read_channels(a[2], g.channels, 0);
  Tensor x = prepared(a[0], a[0]);
  visit_float(x.dtype(), "batch_norm", [&]<class T>(Type<T>) {
    if (g.count() > 0 && g.channels > 0)
      statistics(g, static_cast<const T*>(x.data_ptr()), a.scalar().to_double(), s);
    Coefficients<T> coefficients(s.mean, scales(weight, s.inverse), bias, bias);
    const T* from = coefficients.row().high;
    std::copy(from, from + 4 * g.channels, static_cast<T*>(out[3].data_ptr()));
  });
  write_channels(out[0], s.mean);
  write_channels(out[1], s.inverse);
  write_channels(out[2], s.variance);
}

}  // namespace

const Op batch_norm_statistics_op = {.name = "batch_norm_statistics",
                                     .infer = statistics_infer,
                                     .cpu = statistics_cpu,
                                     .outputs = 4,
                                     .differentiable = 0};

namespace {

// --- with given statistics: inputs x, weight, bias, running_mean, running_var ---

void eval_cpu(const Args& a, Tensor* out) {
  Geometry g(a[0]);
  if (out->numel() == 0) return;
  Tensor x = prepared(a[0], a[0]), y = prepared_output(*out);
  Channels weight = read_channels(a[1], g.channels, 1), bias = read_channels(a[2], g.channels, 0);
  Channels mean = read_channels(a[3], g.channels, 0), inverse = read_channels(a[4], g.channels, 1);
  for (double& v : inverse) v = 1 / std::sqrt(v + a.scalar().to_double());
  visit_float(x.dtype(), "batch_norm", [&]<class T>(Type<T>) {
    apply(g, static_cast<const T*>(x.data_ptr()), static_cast<T*>(y.data_ptr()),
          Coefficients<T>(mean, scales(weight, inverse), bias, bias));
  });
  finish_output(*out, y);
}

void eval_infer(const Args& a, Spec* out) { infer_output(a[0], out); }

void eval_grad(GradArgs& g) {
  const Tensor& gy = g.grad();
  Dims dims = all_but_channels(gy);
  if (g.needs(2)) g.set(2, gy.sum(dims));
  if (!g.needs(0) && !g.needs(1)) return;
  Tensor inverse = rsqrt(add(g.input(4), g.scalar()));
  if (g.needs(0)) g.set(0, mul(gy, per_channel(g.has_input(1) ? mul(g.input(1), inverse) : inverse, gy)));
  if (g.needs(1)) {
    Tensor n = mul(sub(g.input(0), per_channel(g.input(3), gy)), per_channel(inverse, gy));
    g.set(1, mul(gy, n).sum(dims));
  }
}

Saves eval_saves(uint32_t needs) {
  return (needs & 1 ? save_input(1) | save_input(4) : 0) |
         (needs & 2 ? save_input(0) | save_input(3) | save_input(4) : 0);
}

const Op eval_op = {.name = "batch_norm",
                    .infer = eval_infer,
                    .cpu = eval_cpu,
                    .cuda = batch_norm_eval_cuda,
                    .grad = eval_grad,
                    .saves_for = eval_saves};

void check_arguments(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                     const Tensor& var, bool training) {
  check(x.dim() >= 2, "batch_norm: input must be (N, C, ...), got ", x.sizes());
  check(is_floating(x.dtype()), "batch_norm: not implemented for dtype ", x.dtype());
  check_channel_tensor(x, weight, "weight");
  check_channel_tensor(x, bias, "bias");
  check_channel_tensor(x, mean, "running_mean");
  check_channel_tensor(x, var, "running_var");
  check(mean.defined() == var.defined(), "batch_norm: running_mean and running_var must be given together");
  check(training || mean.defined(),
        "batch_norm: running_mean and running_var are needed outside of training");
}

}  // namespace

}  // namespace detail

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool) {
  using namespace detail;
  check_arguments(x, weight, bias, running_mean, running_var, training);
  if (!training) return dispatch(eval_op, {x, weight, bias, running_mean, running_var}, {}, Scalar(eps));
  Tensor out[kMaxOutputs];
  dispatch(batch_norm_op, {x, weight, bias}, {}, Scalar(eps), out);
  int64_t count = Geometry(x).count();
  if (running_mean.defined() && count > 0)
    move_running_statistics(running_mean, running_var, out[1], out[3], momentum, count);
  return out[0];
}

}  // namespace tarn::inline v1
