// cumprod, cummax, cummin, logcumsumexp: running results along one dim.
#include <cmath>
#include <limits>

#include <tarn/core/cpu/slices.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/order_common.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

struct ScanAttrs {
  int64_t dim;
};

int64_t stride_along(const Tensor& t, int64_t dim) { return t.dim() ? t.strides()[dim] : 1; }

// scan(offset of the first element in x, in out[0], in the last output, number of elements) for each slice.
template <class Scan>
void for_slices(const Args& a, Tensor* out, const Scan& scan) {
  const Tensor& x = a[0];
  if (x.numel() == 0) return;
  int dim = int(a.attrs<ScanAttrs>().dim);
  int64_t n = x.dim() ? x.sizes()[dim] : 1;
  const Tensor& last = out[a.op.outputs - 1];
  parallel_for(0, x.numel() / n, std::max<int64_t>(1, (1 << 14) / n), [&](int64_t begin, int64_t end) {
    SliceWalk<3> walk(x.sizes(), dim, {x.strides(), out[0].strides(), last.strides()}, begin);
    for (int64_t i = begin; i < end; ++i, walk.next())
      scan(walk.offset(0), walk.offset(1), walk.offset(2), n);
  });
}

// Combines in double, or modulo 2^64: to[i] = combine(to[i - 1], from[i]).
template <class T, class Wide, class Combine>
void scan_elements(const Args& a, Tensor* out, Wide start, const Combine& combine) {
  const T* from = static_cast<const T*>(a[0].data_ptr());
  T* to = static_cast<T*>(out->data_ptr());
  int64_t dim = a.attrs<ScanAttrs>().dim;
  int64_t step = stride_along(a[0], dim), out_step = stride_along(*out, dim);
  for_slices(a, out, [&](int64_t in_offset, int64_t out_offset, int64_t, int64_t n) {
    Wide total = start;
    for (int64_t k = 0; k < n; ++k) {
      total = combine(total, Wide(from[in_offset + k * step]));
      to[out_offset + k * out_step] = T(total);
    }
  });
}

// The running result of the same scan from the other end.
template <class Scan>
Tensor reversed(const Tensor& x, int64_t dim, const Scan& scan) {
  return flip(scan(flip(x, {dim}), dim), {dim});
}

// --- cumprod ---

void cumprod_cpu(const Args& a, Tensor* out) {
  visit(out->dtype(), "cumprod", [&]<class T>(Type<T>) {
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    if constexpr (!std::is_same_v<T, bool>)
      scan_elements<T>(a, out, Wide(1), [](Wide p, Wide x) { return p * x; });
  });
}

Tensor reversed_sum(const Tensor& x, int64_t dim) {
  return reversed(x, dim, [](const Tensor& t, int64_t d) { return cumsum(t, d); });
}

// With zeros, O(n): outputs before the first zero are divided by x; that zero's gradient sums the products
// without it; behind it nothing counts.
Tensor cumprod_grad_at_zeros(const Tensor& grad, const Tensor& x, const Tensor& y, int64_t dim) {
  Tensor zero = eq(x, 0), zeros_so_far = cumsum(zero, dim);
  Tensor before = eq(zeros_so_far, 0), first = logical_and(zero, eq(zeros_so_far, 1));
  Tensor at_others = div(reversed_sum(mul(grad, y), dim), masked_fill(x, zero, 1));
  Tensor products = masked_fill(cumprod(masked_fill(x, first, 1), dim), before, 0);
  Tensor at_first = sum(mul(grad, products), {dim}, true);
  return where(before, at_others, where(first, at_first, zeros_like(at_others)));
}

// With zeros and differentiable again, O(n^2): entry (k, i) is the product of x[0..i] without x[k].
Tensor cumprod_grad_by_products(const Tensor& grad, const Tensor& x, int64_t dim) {
  Tensor row = movedim(x, dim, -1);
  int64_t n = row.size(-1);
  Dims sizes = row.sizes();
  sizes.push_back(n);
  Tensor places = arange(n, TensorOptions(kLong).device(x.device()));
  Tensor k = unsqueeze(places, 1);
  Tensor products = cumprod(masked_fill(expand(unsqueeze(row, -2), sizes), eq(k, places), 1), -1);
  products = masked_fill(products, lt(places, k), 0);
  return movedim(sum(mul(products, unsqueeze(movedim(grad, dim, -1), -2)), {-1}), -1, dim);
}

void cumprod_grad(GradArgs& g) {
  int64_t dim = g.attrs<ScanAttrs>().dim;
  const Tensor &x = g.input(0), &y = g.output();
  if (x.dim() == 0 || x.numel() == 0) return g.set(0, g.grad());
  if (!any(eq(x, 0)).item<bool>()) return g.set(0, div(reversed_sum(mul(g.grad(), y), dim), x));
  g.set(0, GradMode::is_enabled() ? cumprod_grad_by_products(g.grad(), x, dim)
                                  : cumprod_grad_at_zeros(g.grad(), x, y, dim));
}

const Op cumprod_op = {.name = "cumprod",
                       .infer = infer_like_first,
                       .cpu = cumprod_cpu,
                       .cuda = through_cpu<cumprod_cpu>,
                       .grad = cumprod_grad,
                       .saves = save_input(0) | save_output()};

// --- cummax, cummin: of equals the last place; from the first NaN on, NaN ---

template <bool largest, class T>
bool replaces(T x, T best) {
  if constexpr (std::is_integral_v<T>) {
    return largest ? x >= best : x <= best;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isnan(x) || (!std::isnan(best) && (largest ? x >= best : x <= best));
  } else {
    float a = x, b = best;
    return std::isnan(a) || (!std::isnan(b) && (largest ? a >= b : a <= b));
  }
}

template <bool largest>
void extremes_cpu(const Args& a, Tensor* out) {
  int64_t dim = a.attrs<ScanAttrs>().dim;
  int64_t step = stride_along(a[0], dim), value_step = stride_along(out[0], dim),
          place_step = stride_along(out[1], dim);
  visit(a[0].dtype(), a.op.name, [&]<class T>(Type<T>) {
    const T* from = static_cast<const T*>(a[0].data_ptr());
    T* values = static_cast<T*>(out[0].data_ptr());
    auto* places = static_cast<int64_t*>(out[1].data_ptr());
    for_slices(a, out, [&](int64_t in, int64_t value, int64_t place, int64_t n) {
      T best = from[in];
      int64_t where = 0;
      for (int64_t k = 0; k < n; ++k) {
        T x = from[in + k * step];
        if (replaces<largest>(x, best)) best = x, where = k;
        values[value + k * value_step] = best;
        places[place + k * place_step] = where;
      }
    });
  });
}

void extremes_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  infer_like_first(a, out + 1);
  out[1].dtype = kLong;
}

void extremes_grad(GradArgs& g) {
  const Dims& sizes = g.input_sizes(0);
  if (sizes.empty()) return g.set(0, g.grad());
  g.set(0, scatter_add(zeros(sizes, g.grad().options()), g.attrs<ScanAttrs>().dim, g.output(1), g.grad()));
}

template <bool largest>
constexpr Op extremes_op = {.name = largest ? "cummax" : "cummin",
                            .infer = extremes_infer,
                            .cpu = extremes_cpu<largest>,
                            .cuda = through_cpu<extremes_cpu<largest>>,
                            .grad = extremes_grad,
                            .saves = save_output(1),
                            .outputs = 2,
                            .differentiable = 1};

std::tuple<Tensor, Tensor> extremes(const Op& op, const Tensor& x, int64_t dim) {
  Tensor out[2];
  dispatch(op, {x}, ScanAttrs{wrap_dim(dim, x.dim(), op.name)}, {}, out);
  return {out[0], out[1]};
}

// --- logcumsumexp ---

// log(exp(a) + exp(b)); two equal infinities stay what they are.
double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  double least = std::min(a, b), most = std::max(a, b);
  if (least == most && std::isinf(least)) return least;
  return std::log1p(std::exp(least - most)) + most;
}

void logcumsumexp_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), "logcumsumexp: needs a floating tensor, got ", a[0].dtype(),
        "; call to(kFloat) first");
  infer_like_first(a, out);
}

void logcumsumexp_cpu(const Args& a, Tensor* out) {
  visit(out->dtype(), "logcumsumexp", [&]<class T>(Type<T>) {
    if constexpr (!std::is_integral_v<T>) scan_elements<T>(a, out, -double(INFINITY), log_add_exp);
  });
}

// The sum over i >= k of g[i] exp(x[k] - y[i]), in logarithms: positive and negative g apart, as TensorFlow
// and PyTorch do it.
void logcumsumexp_grad(GradArgs& g) {
  int64_t dim = g.attrs<ScanAttrs>().dim;
  ScalarType compute = g.grad().dtype() == kDouble ? kDouble : kFloat;
  Tensor grad = cast(g.grad(), compute), x = cast(g.input(0), compute), y = cast(g.output(), compute);
  if (x.dim() == 0 || x.numel() == 0) return g.set(0, grad);
  double lowest =
      compute == kDouble ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  auto part = [&](const Tensor& positive_grad) {
    Tensor counts = gt(positive_grad, 0);
    Tensor logs = where(counts, log(where(counts, positive_grad, 1)), lowest);
    Tensor sums = reversed(sub(logs, y), dim, [](const Tensor& t, int64_t d) { return logcumsumexp(t, d); });
    return exp(add(sums, x));
  };
  g.set(0, sub(part(grad), part(neg(grad))));
}

const Op logcumsumexp_op = {.name = "logcumsumexp",
                            .infer = logcumsumexp_infer,
                            .cpu = logcumsumexp_cpu,
                            .cuda = through_cpu<logcumsumexp_cpu>,
                            .grad = logcumsumexp_grad,
                            .saves = save_input(0) | save_output()};

}  // namespace

Tensor cumprod(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  ScalarType result = dtype.value_or(is_floating(x.dtype()) ? x.dtype() : kLong);
  check(result != kBool, "cumprod: products in Bool are not made; give an integer dtype");
  return dispatch(cumprod_op, {cast(x, result)}, ScanAttrs{wrap_dim(dim, x.dim(), "cumprod")});
}
std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return extremes(extremes_op<true>, x, dim);
}
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return extremes(extremes_op<false>, x, dim);
}
Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  return dispatch(logcumsumexp_op, {x}, ScanAttrs{wrap_dim(dim, x.dim(), "logcumsumexp")});
}

Tensor Tensor::cumprod(int64_t dim, std::optional<ScalarType> dtype) const {
  return tarn::cumprod(*this, dim, dtype);
}
Tensor& Tensor::cumprod_(int64_t dim, std::optional<ScalarType> dtype) const {
  check(!dtype || *dtype == this->dtype(), "cumprod_: the tensor is ", this->dtype(),
        ", the dtype asked for ", *dtype);
  // The gradient needs what is overwritten here.
  bool differentiable = GradMode::is_enabled() && requires_grad();
  return copy_(tarn::cumprod(differentiable ? clone() : *this, dim, this->dtype()));
}
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return tarn::cummax(*this, dim); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return tarn::cummin(*this, dim); }
Tensor Tensor::logcumsumexp(int64_t dim) const { return tarn::logcumsumexp(*this, dim); }

}  // namespace tarn::inline v1
