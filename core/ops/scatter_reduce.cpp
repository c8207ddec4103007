// scatter_reduce: scatter_add with other sums. "sum" and "mean" are made of scatter_add; products and
// extremes have a kernel, over an x whose named elements were replaced by the identity where they do not take
// part.
#include <cmath>
#include <limits>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/along_dim.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

enum class Reduce : int64_t { Sum, Mean, Prod, Max, Min };

struct ReduceAttrs {
  int64_t dim;
  Reduce reduce;
};

Reduce reduce_named(const char* op, std::string_view name) {
  constexpr std::pair<const char*, Reduce> kNames[] = {{"sum", Reduce::Sum},
                                                       {"mean", Reduce::Mean},
                                                       {"prod", Reduce::Prod},
                                                       {"amax", Reduce::Max},
                                                       {"amin", Reduce::Min}};
  for (const auto& [known, reduce] : kNames)
    if (name == known) return reduce;
  fail(op, ": reduce must be sum, prod, mean, amax or amin, got \"", name, "\"");
}

// NaN wins over every number.
template <class T>
T combined(Reduce reduce, T a, T b) {
  if (reduce == Reduce::Prod) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) * uint64_t(b));  // wraps
    else
      return T(a * b);
  }
  if constexpr (!std::is_integral_v<T>)
    if (std::isnan(double(a)) || std::isnan(double(b))) return std::isnan(double(a)) ? a : b;
  return (reduce == Reduce::Max) == (a < b) ? b : a;
}

// --- inputs x, index, src of index's sizes. 16-bit floats are multiplied in float ---

template <class T>
void reduce_into(const Args& a, const Tensor& out) {
  const auto& p = a.attrs<ReduceAttrs>();
  T* to = static_cast<T*>(out.data_ptr());
  const T* from = static_cast<const T*>(a[2].data_ptr());
  for_indexed("scatter_reduce", a[1], a[2], out, p.dim,
              [&](int64_t s, int64_t o) { to[o] = combined<T>(p.reduce, to[o], from[s]); });
}

void scatter_reduce_cpu(const Args& a, Tensor* out) {
  bool wide = out->dtype() == kHalf || out->dtype() == kBFloat16;
  if (!wide) {
    copy_elements(*out, a[0]);
    if (a[1].numel() == 0) return;
    return visit(out->dtype(), "scatter_reduce", [&]<class T>(Type<T>) {
      if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>) reduce_into<T>(a, *out);
    });
  }
  Tensor sums = make_tensor(out->sizes(), kFloat), src = make_tensor(a[2].sizes(), kFloat);
  copy_elements(sums, a[0]);
  copy_elements(src, a[2]);
  In inputs[] = {a[0], a[1], src};
  if (a[1].numel() > 0) reduce_into<float>(Args{a.op, inputs, a.attributes, a.scalars}, sums);
  copy_elements(*out, sums);
}

Tensor reduced(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Reduce reduce);

// Ties share the gradient.
void extreme_grad(GradArgs& g, int64_t dim) {
  const Tensor &x = g.input(0), &index = g.input(1), &src = g.input(2), &y = g.output();
  ScalarType dtype = g.grad().dtype();
  Tensor mine = cast(detach(eq(x, y)), dtype);
  Tensor theirs = cast(detach(eq(src, gather(y, dim, index))), dtype);
  Tensor share = div(g.grad(), clamp_min(scatter_add(mine, dim, index, theirs), 1));
  if (g.needs(0)) g.set(0, mul(share, mine));
  if (g.needs(2)) g.set(2, mul(gather(share, dim, index), theirs));
}

// The product of the others: the whole divided by the factor itself, or without it where it is zero. Zeros
// are replaced by ones; more than one zero in a product leaves no gradient.
void prod_grad(GradArgs& g, int64_t dim) {
  const Tensor &x = g.input(0), &index = g.input(1), &src = g.input(2);
  if (g.needs(0)) {
    Tensor nonzero_x = masked_fill(x, eq(x, 0), 1);
    g.set(0, div(mul(g.grad(), reduced(nonzero_x, dim, index, src, Reduce::Prod)), nonzero_x));
  }
  if (!g.needs(2)) return;
  Tensor zero = eq(src, 0);
  Tensor zeros = gather(scatter_add(zeros_like(x), dim, index, cast(zero, x.dtype())), dim, index);
  check(!GradMode::is_enabled() || zeros.numel() == 0 || zeros.amax().item().to_double() < 2,
        "scatter_reduce: products with more than one zero in src have no second gradients");
  Tensor lone = logical_and(zero, eq(zeros, 1));
  Tensor without = reduced(x, dim, index, masked_fill(src, lone, 1), Reduce::Prod);
  Tensor whole = reduced(x, dim, index, src, Reduce::Prod);
  Tensor divided = div(gather(mul(g.grad(), whole), dim, index), masked_fill(src, zero, 1));
  Tensor out = where(lone, gather(mul(g.grad(), without), dim, index), divided);
  g.set(2, masked_fill(out, gt(zeros, 1), 0));
}

void scatter_reduce_grad(GradArgs& g) {
  const auto& p = g.attrs<ReduceAttrs>();
  p.reduce == Reduce::Prod ? prod_grad(g, p.dim) : extreme_grad(g, p.dim);
}

const Op scatter_reduce_op = {.name = "scatter_reduce",
                              .infer = infer_like_first,
                              .cpu = scatter_reduce_cpu,
                              .grad = scatter_reduce_grad,
                              .saves = save_input(0) | save_input(1) | save_input(2) | save_output()};

Tensor reduced(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Reduce reduce) {
  return dispatch(scatter_reduce_op, {x, index, src}, ReduceAttrs{dim, reduce});
}

// --- means: sums by counts, integers rounded down ---

Tensor mean_of(const Tensor& sum, const Tensor& base, int64_t dim, const Tensor& index, const Tensor& src,
               bool include_self) {
  ScalarType dtype = is_floating(base.dtype()) ? kFloat : kLong;
  TensorOptions options = TensorOptions(dtype).device(base.device());
  Tensor count = ones(base.sizes(), options);
  if (!include_self) count = scatter(count, dim, index, 0);
  count = scatter_add(count, dim, index, ones(src.sizes(), options));
  count = masked_fill(count, eq(count, 0), 1);
  if (dtype == kLong) return cast(floor_divide(cast(sum, kLong), count), sum.dtype());
  return div(sum, cast(count, sum.dtype()));
}

template <class T>
Scalar extreme(bool lowest) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>)
    return lowest ? Limits::lowest() : Limits::max();
  else
    return lowest ? -INFINITY : INFINITY;
}

// What the reduction of nothing is.
Scalar identity(Reduce reduce, ScalarType dtype) {
  if (reduce == Reduce::Prod) return 1;
  if (reduce == Reduce::Sum || reduce == Reduce::Mean) return 0;
  Scalar value;
  visit(dtype, "scatter_reduce", [&]<class T>(Type<T>) { value = extreme<T>(reduce == Reduce::Max); });
  return value;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  Reduce kind = reduce_named("scatter_reduce", reduce);
  Scatter s = prepare("scatter_reduce", x, dim, index, src);
  Tensor base = include_self ? x : scatter(x, s.dim, s.index, identity(kind, x.dtype()));
  if (kind != Reduce::Sum && kind != Reduce::Mean) return reduced(base, s.dim, s.index, s.src, kind);
  Tensor sum = scatter_add(base, s.dim, s.index, s.src);
  return kind == Reduce::Sum ? sum : mean_of(sum, x, s.dim, s.index, s.src, include_self);
}

Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self) const {
  return tarn::scatter_reduce(*this, dim, index, src, reduce, include_self);
}

Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                                bool include_self) const {
  // The gradients of products and extremes read the old values.
  return copy_(tarn::scatter_reduce(clone(), dim, index, src, reduce, include_self));
}

}  // namespace tarn::inline v1
