// norm.
#include <algorithm>
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

struct NormAttrs {
  int64_t dims, keepdim, dtype;
  int64_t kind;  // a ReduceKind; the scalar p gives the power of SumPowers
};

ReduceKind kind_of(double p) {
  if (p == 2) return ReduceKind::SumSquares;
  if (p == 1) return ReduceKind::SumAbs;
  if (p == 0) return ReduceKind::CountNonzero;
  if (std::isinf(p)) return p > 0 ? ReduceKind::MaxAbs : ReduceKind::MinAbs;
  return ReduceKind::SumPowers;
}

// Squares of floats overflow and vanish long before the floats do: where a sum of squares may have lost
// something, the norm is computed again in double.
void repair_norms(const Tensor& x, DimSet dims, float* norms, int64_t outputs) {
  auto suspicious = [](float v) { return !(v > 1e-15f && v < 1e18f); };
  if (std::none_of(norms, norms + outputs, suspicious)) return;
  std::vector<double> wide(static_cast<size_t>(outputs));
  reduce_elements<double>(x, dims, {ReduceKind::SumSquares}, wide.data());
  for (int64_t i = 0; i < outputs; ++i)
    if (suspicious(norms[i])) norms[i] = float(std::sqrt(wide[size_t(i)]));
}

void norm_cpu(const Args& a, Tensor* out) {
  const auto& attrs = a.attrs<NormAttrs>();
  DimSet dims = DimSet(attrs.dims);
  ReduceKind kind = ReduceKind(attrs.kind);
  double p = a.scalar().to_double();
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      Results<T> results(*out);
      reduce_elements<T>(a[0], dims, {kind, T(p)}, results.data());
      for (T& v : results) {
        if (kind == ReduceKind::SumSquares) v = std::sqrt(v);
        if (kind == ReduceKind::SumPowers) v = T(std::pow(double(v), 1 / p));
      }
      if constexpr (std::is_same_v<T, float>) {
        if (kind == ReduceKind::SumSquares) repair_norms(a[0], dims, results.data(), results.size());
      }
      results.store();
    }
  });
}

// Of squares in double where x is float: they overflow and vanish before the floats do.
void norm_cuda(const Args& a, Tensor* out) {
  NoGradGuard no_grad;
  DimSet set = DimSet(a.attrs<NormAttrs>().dims);
  double p = a.scalar().to_double();
  Tensor x = abs(converted(a[0], p == 2 ? kDouble : compute_dtype_of(a[0].dtype()))), value = x;
  Dims dims = dim_list(set, int(x.dim()));
  auto sum_over = [&](const Tensor& t) { return set ? sum(t, dims, true) : t; };
  if (std::isinf(p)) {
    if (set) value = p > 0 ? amax(x, dims, true) : amin(x, dims, true);
  } else if (p == 0) {
    value = sum_over(cast(ne(x, 0), x.dtype()));
  } else if (p == 1) {
    value = sum_over(x);
  } else {
    value = p == 2 ? sqrt(sum_over(square(x))) : pow(sum_over(pow(x, p)), 1 / p);
  }
  copy_elements(*out, reshape(value, out->sizes()));
}

void norm_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<NormAttrs>();
  check(is_floating(a[0].dtype()), "norm: needs a floating tensor, got ", a[0].dtype(),
        "; call to(kFloat) first");
  double p = a.scalar().to_double();
  check(!std::isnan(p), "norm: p is NaN");
  check(reduced_count(a[0].sizes(), DimSet(attrs.dims)) > 0 || (p >= 0 && !std::isinf(p)), "norm: p = ", p,
        " is not defined for no elements, got sizes ", a[0].sizes());
  out->sizes = reduced_sizes(a[0].sizes(), DimSet(attrs.dims), attrs.keepdim);
  out->dtype = ScalarType(attrs.dtype);
  out->device = a[0].device();
}

// The gradient is 0 where the norm is.
void norm_grad(GradArgs& g) {
  const auto& attrs = g.attrs<NormAttrs>();
  const Tensor& x = g.input(0);
  DimSet dims = DimSet(attrs.dims);
  Tensor grad = with_dims(g.grad(), x.sizes(), dims, attrs.keepdim);
  Tensor value = with_dims(g.output(), x.sizes(), dims, attrs.keepdim);
  double p = g.scalar().to_double();
  switch (ReduceKind(attrs.kind)) {
    case ReduceKind::CountNonzero:
      return g.set(0, zeros_like(x));
    case ReduceKind::SumAbs:
      return g.set(0, mul(grad, sign(x)));
    case ReduceKind::MaxAbs:
    case ReduceKind::MinAbs: {
      // Those that attain it share.
      Tensor hit = cast(eq(abs(x), value), x.dtype());
      Tensor ties = dims ? sum(hit, dim_list(dims, int(x.dim())), true) : hit;
      return g.set(0, mul(div(grad, ties), mul(hit, sign(x))));
    }
    default:
      break;
  }
  Tensor safe = where(ne(value, 0), value, 1);
  if (p == 2) return g.set(0, mul(x, div(grad, safe)));
  Tensor scaled = p >= 2 ? mul(x, pow(abs(x), p - 2))
                         : mul(sign(x), pow(p < 1 ? where(ne(x, 0), abs(x), 1) : abs(x), p - 1));
  Tensor not_zero = cast(ne(value, 0), x.dtype());
  g.set(0, mul(scaled, div(mul(grad, not_zero), pow(safe, p - 1))));
}

const Op norm_op = {.name = "norm",
                    .kind = Kind::Reduce,
                    .infer = norm_infer,
                    .cpu = norm_cpu,
                    .cuda = norm_cuda,
                    .grad = norm_grad,
                    .saves = save_input(0) | save_output()};

Tensor norm_over(const Tensor& x, const Scalar& p, DimSet dims, bool keepdim) {
  NormAttrs attrs{dims, keepdim, int64_t(x.dtype()), int64_t(kind_of(p.to_double()))};
  return dispatch(norm_op, {x}, attrs, Scalar(p.to_double()));
}

}  // namespace

Tensor norm(const Tensor& x, const Scalar& p) { return norm_over(x, p, all_dims(x), false); }
Tensor norm(const Tensor& x, const Scalar& p, IntArrayRef dims, bool keepdim) {
  return norm_over(x, p, dim_set("norm", x, dims), keepdim);
}

Tensor Tensor::norm(const Scalar& p) const { return tarn::norm(*this, p); }
Tensor Tensor::norm(const Scalar& p, IntArrayRef dims, bool keepdim) const {
  return tarn::norm(*this, p, dims, keepdim);
}

}  // namespace tarn::inline v1
