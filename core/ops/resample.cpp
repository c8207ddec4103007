// resample: one sparse matrix per spatial dim, applied one after another. Its gradient is the transposed map,
// whose gradient is the map itself.
#include <tarn/core/ops/resample.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <tarn/core/cpu/scratch.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

// The weights of one dim: output i is the sum of weight(i, k) * input[start(i) + k].
struct Taps {
  int64_t in, out;
  std::vector<int64_t> start, count, first;
  std::vector<double> weights;

  Taps(int64_t in_, int64_t out_) : in(in_), out(out_) {}

  void add(int64_t from, std::initializer_list<double> values) {
    begin(from);
    for (double v : values) push(v);
  }
  void begin(int64_t from) {
    start.push_back(from);
    count.push_back(0);
    first.push_back(int64_t(weights.size()));
  }
  void push(double weight) {
    weights.push_back(weight);
    ++count.back();
  }
};

// PyTorch computes places in float unless the tensor is double, and those of nearest always.
template <class T>
T inputs_per_output(const ResampleAttrs& p, int d) {
  if (p.align_corners) return p.out[d] > 1 ? T(p.in[d] - 1) / T(p.out[d] - 1) : T(0);
  if (p.step_bits[d]) return T(std::bit_cast<double>(p.step_bits[d]));
  return T(p.in[d]) / T(p.out[d]);
}

template <class T>
T source_of(T step, int64_t i, bool align_corners) {
  return align_corners ? step * T(i) : step * (T(i) + T(0.5)) - T(0.5);
}

int64_t nearest_source(const ResampleAttrs& p, int d, int64_t i) {
  float step = inputs_per_output<float>(p, d);
  bool exact = p.mode == int64_t(Resampling::NearestExact);
  if (!exact && p.out[d] == p.in[d]) return i;
  if (!exact && p.out[d] == 2 * p.in[d]) return i / 2;
  float at = exact ? std::floor(float((double(i) + 0.5) * double(step))) : std::floor(float(i) * step);
  return int64_t(std::clamp(at, 0.0f, float(p.in[d] - 1)));
}

template <class T>
void add_linear(const ResampleAttrs& p, int d, int64_t i, Taps& taps) {
  if (p.out[d] == p.in[d]) return taps.add(i, {1});
  T at = std::max(T(0), source_of(inputs_per_output<T>(p, d), i, p.align_corners));
  int64_t low = std::min(int64_t(std::min(at, T(p.in[d]))), p.in[d] - 1);
  T part = std::clamp(at - T(low), T(0), T(1));
  if (low == p.in[d] - 1) return taps.add(low, {1});
  taps.add(low, {double(T(1) - part), double(part)});
}

// Keys' cubic convolution, at distance x.
template <class T>
T cubic(T x, T a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

template <class T>
void add_cubic(const ResampleAttrs& p, int d, int64_t i, Taps& taps) {
  int64_t last = p.in[d] - 1;
  T at = source_of(inputs_per_output<T>(p, d), i, p.align_corners);
  // Far outside all four taps are one border element anyhow.
  at = std::clamp(at, T(-4), T(p.in[d]) + 4);
  int64_t low = int64_t(std::floor(at));
  T part = at - T(low);
  int64_t start = std::clamp<int64_t>(low - 1, 0, last), end = std::clamp<int64_t>(low + 2, 0, last);
  std::vector<double> weights(size_t(end - start + 1), 0.0);
  for (int64_t k = -1; k <= 2; ++k)
    weights[size_t(std::clamp<int64_t>(low + k, 0, last) - start)] += double(cubic(part - T(k), T(-0.75)));
  taps.begin(start);
  for (double w : weights) taps.push(w);
}

// The filter is widened by the step, so that each input counts. As Pillow does.
template <class T>
void add_antialiased(const ResampleAttrs& p, int d, int64_t i, Taps& taps) {
  bool is_cubic = p.mode == int64_t(Resampling::Cubic);
  T step = inputs_per_output<T>(p, d), shrink = step >= 1 ? 1 / step : T(1);
  T support = T(is_cubic ? 2 : 1) * std::max(step, T(1));
  T center = step * (T(i) + T(0.5)), size = T(p.in[d]);
  int64_t start = int64_t(std::clamp(center - support + T(0.5), T(0), size));
  int64_t end = int64_t(std::clamp(center + support + T(0.5), T(0), size));
  T total = 0;
  std::vector<T> weights;
  for (int64_t k = start; k < end; ++k) {
    T x = (T(k) - center + T(0.5)) * shrink;
    weights.push_back(is_cubic ? cubic(x, T(-0.5)) : std::max(T(0), T(1) - std::abs(x)));
    total += weights.back();
  }
  taps.begin(start);
  for (T w : weights) taps.push(double(total != 0 ? w / total : w));
}

void add_window(const ResampleAttrs& p, int d, int64_t i, Taps& taps) {
  int64_t start, end, size;
  if (p.mode == int64_t(Resampling::Adaptive)) {
    start = i * p.in[d] / p.out[d];
    end = ((i + 1) * p.in[d] + p.out[d] - 1) / p.out[d];
    size = end - start;
  } else {
    int64_t at = i * p.stride[d] - p.padding[d];
    start = std::clamp<int64_t>(at, 0, p.in[d]);
    end = std::clamp<int64_t>(at + p.kernel[d], start, p.in[d]);
    size = p.count_include_pad ? std::min(at + p.kernel[d], p.in[d] + p.padding[d]) - at : end - start;
  }
  double weight =
      p.divisor ? (d == 0 ? 1.0 / double(p.divisor) : 1.0) : 1.0 / double(std::max<int64_t>(size, 1));
  taps.begin(start);
  for (int64_t k = start; k < end; ++k) taps.push(weight);
}

template <class T>
Taps taps_of(const ResampleAttrs& p, int d) {
  Taps taps(p.in[d], p.out[d]);
  for (int64_t i = 0; i < p.out[d]; ++i) switch (Resampling(p.mode)) {
      case Resampling::Nearest:
      case Resampling::NearestExact:
        taps.add(nearest_source(p, d, i), {1});
        break;
      case Resampling::Linear:
        p.antialias ? add_antialiased<T>(p, d, i, taps) : add_linear<T>(p, d, i, taps);
        break;
      case Resampling::Cubic:
        p.antialias ? add_antialiased<T>(p, d, i, taps) : add_cubic<T>(p, d, i, taps);
        break;
      default:
        add_window(p, d, i, taps);
    }
  return taps;
}

// from (outer, in, inner) -> to (outer, out, inner).
template <class T>
void apply(const Taps& taps, int64_t outer, int64_t inner, const T* from, T* to) {
  for (int64_t o = 0; o < outer; ++o, from += taps.in * inner)
    for (int64_t i = 0; i < taps.out; ++i, to += inner) {
      std::fill_n(to, inner, T(0));
      const double* weights = taps.weights.data() + taps.first[size_t(i)];
      const T* rows = from + taps.start[size_t(i)] * inner;
      for (int64_t k = 0; k < taps.count[size_t(i)]; ++k)
        for (int64_t c = 0; c < inner; ++c) to[c] += T(weights[k]) * rows[k * inner + c];
    }
}

// from (outer, out, inner) -> to (outer, in, inner), in the order of the outputs.
template <class T>
void apply_adjoint(const Taps& taps, int64_t outer, int64_t inner, const T* from, T* to) {
  for (int64_t o = 0; o < outer; ++o, to += taps.in * inner) {
    std::fill_n(to, taps.in * inner, T(0));
    for (int64_t i = 0; i < taps.out; ++i, from += inner) {
      const double* weights = taps.weights.data() + taps.first[size_t(i)];
      T* rows = to + taps.start[size_t(i)] * inner;
      for (int64_t k = 0; k < taps.count[size_t(i)]; ++k)
        for (int64_t c = 0; c < inner; ++c) rows[k * inner + c] += T(weights[k]) * from[c];
    }
  }
}

// One plane of `rank` dims, dim after dim; `spare` has room for two intermediate planes of `room` elements.
template <class T>
void resample_plane(const std::vector<Taps>& taps, bool adjoint, const T* from, T* to, T* spare,
                    int64_t room) {
  int rank = int(taps.size());
  for (int d = 0; d < rank; ++d) {
    int64_t outer = 1, inner = 1;
    for (int e = 0; e < d; ++e) outer *= adjoint ? taps[size_t(e)].in : taps[size_t(e)].out;
    for (int e = d + 1; e < rank; ++e) inner *= adjoint ? taps[size_t(e)].out : taps[size_t(e)].in;
    T* target = d == rank - 1 ? to : spare + (d % 2) * room;
    (adjoint ? apply_adjoint<T> : apply<T>)(taps[size_t(d)], outer, inner, from, target);
    from = target;
  }
}

// The largest plane between two passes.
int64_t spare_room(const ResampleAttrs& p, int rank) {
  int64_t room = 1;
  for (int done = 1; done < rank; ++done) {
    int64_t size = 1;
    for (int d = 0; d < rank; ++d) size *= (d < done) != bool(p.adjoint) ? p.out[d] : p.in[d];
    room = std::max(room, size);
  }
  return room;
}

void infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<ResampleAttrs>();
  infer_like_first(a, out);
  out->strides = {};
  for (int d = 0; d + 2 < a[0].dim(); ++d) out->sizes[2 + d] = p.adjoint ? p.in[d] : p.out[d];
}

void cpu(const Args& a, Tensor* out) {
  const auto& p = a.attrs<ResampleAttrs>();
  if (out->numel() == 0) return;
  if (a[0].numel() == 0) return fill_elements(*out, 0);
  ScalarType compute = a[0].dtype() == kDouble ? kDouble : kFloat;
  Tensor x = dense(a[0]), y = *out;
  if (x.dtype() != compute) {
    x = make_tensor(a[0].sizes(), compute, a[0].device());
    copy_elements(x, a[0]);
  }
  if (y.dtype() != compute) y = make_tensor(out->sizes(), compute, out->device());
  int rank = int(x.dim()) - 2;
  int64_t planes = x.sizes()[0] * x.sizes()[1], room = spare_room(p, rank);
  visit_float(compute, "resample", [&]<class T>(Type<T>) {
    std::vector<Taps> taps;
    for (int d = 0; d < rank; ++d) taps.push_back(taps_of<T>(p, d));
    int64_t from = x.numel() / planes, to = y.numel() / planes;
    parallel_for(0, planes, std::max<int64_t>(1, 8192 / (from + to)), [&](int64_t begin, int64_t end) {
      Scratch<T> spare(2 * room);
      for (int64_t i = begin; i < end; ++i)
        resample_plane(taps, p.adjoint, static_cast<const T*>(x.data_ptr()) + i * from,
                       static_cast<T*>(y.data_ptr()) + i * to, spare.data(), room);
    });
  });
  if (!y.is_same(*out)) copy_elements(*out, y);
}

void grad(GradArgs& g) {
  ResampleAttrs p = g.attrs<ResampleAttrs>();
  p.adjoint = !p.adjoint;
  g.set(0, resample(g.grad(), p));
}

const Op resample_op = {.name = "resample", .infer = infer, .cpu = cpu, .grad = grad};

}  // namespace

Tensor resample(const Tensor& x, const ResampleAttrs& attrs) { return dispatch(resample_op, {x}, attrs); }

}  // namespace tarn::inline v1::detail
