// diff, trapezoid, cumulative_trapezoid, cov, corrcoef, dist, argwhere: written with other ops.
#include <algorithm>
#include <cmath>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

Tensor all_but_first(const Tensor& x, int64_t dim) { return slice(x, dim, 1); }
Tensor all_but_last(const Tensor& x, int64_t dim) { return slice(x, dim, 0, -1); }

// --- the trapezoidal rule ---

int integrated_dim(const char* op, const Tensor& y, int64_t dim) {
  check(y.dim() > 0, op, ": needs a tensor of at least 1 dim");
  check(y.dtype() != kBool, op, ": not implemented for dtype Bool");
  return wrap_dim(dim, y.dim(), op);
}

// Differences of the points x along dim d of y, of a shape that broadcasts with y's.
Tensor widths_of(const char* op, const Tensor& y, const Tensor& x, int d) {
  check(x.dim() >= 1 && x.dim() <= y.dim(), op, ": x of shape ", x.sizes(), " does not fit y of shape ",
        y.sizes());
  Dims sizes(int(y.dim()), 1);
  if (x.dim() == 1) {
    sizes[d] = x.sizes()[0];
  } else {
    for (int64_t i = 0, lead = y.dim() - x.dim(); i < x.dim(); ++i) sizes[int(lead + i)] = x.sizes()[i];
  }
  check(sizes[d] == y.sizes()[d], op, ": x of shape ", x.sizes(), " must have as many points as y of shape ",
        y.sizes(), " along dim ", d);
  Tensor points = reshape(x, sizes);
  return sub(all_but_first(points, d), all_but_last(points, d));
}

Tensor sums_of_pairs(const Tensor& y, int d) { return add(all_but_first(y, d), all_but_last(y, d)); }

// --- cov ---

// Weights (N) of the observations; undefined where there are none.
Tensor observation_weights(const Tensor& fweights, const Tensor& aweights, int64_t n) {
  for (const Tensor* w : {&fweights, &aweights}) {
    if (!w->defined()) continue;
    const char* name = w == &fweights ? "fweights" : "aweights";
    check(w->dim() == 1 && w->numel() == n, "cov: ", name, " must have shape [", n, "], got ", w->sizes());
    bool right = w == &fweights ? is_integral(w->dtype()) : is_floating(w->dtype());
    check(right, "cov: ", name, " must be ", w == &fweights ? "integers" : "floating", ", got ", w->dtype());
    check(!any(lt(*w, 0)).item<bool>(), "cov: ", name, " must not be negative");
  }
  if (!aweights.defined()) return fweights;
  return fweights.defined() ? mul(fweights, aweights) : aweights;
}

}  // namespace

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  check(x.dim() > 0, "diff: needs a tensor of at least 1 dim");
  check(n >= 0, "diff: n must not be negative, got ", n);
  int d = wrap_dim(dim, x.dim(), "diff");
  std::vector<Tensor> parts;
  if (prepend && prepend->defined()) parts.push_back(*prepend);
  parts.push_back(x);
  if (append && append->defined()) parts.push_back(*append);
  if (n == 0) return clone(x);
  Tensor y = parts.size() > 1 ? cat(parts, d) : x;
  for (int64_t i = std::min(n, y.size(d)); i > 0; --i) {
    Tensor after = all_but_first(y, d), before = all_but_last(y, d);
    y = y.dtype() == kBool ? logical_xor(after, before) : sub(after, before);
  }
  return y.is_same(x) ? clone(x) : y;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  int d = integrated_dim("trapezoid", y, dim);
  return div(sum(mul(widths_of("trapezoid", y, x, d), sums_of_pairs(y, d)), {d}), 2);
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  int d = integrated_dim("trapezoid", y, dim);
  return mul(div(sum(sums_of_pairs(y, d), {d}), 2), dx.to_double());
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  int d = integrated_dim("cumulative_trapezoid", y, dim);
  Tensor areas = mul(widths_of("cumulative_trapezoid", y, x, d), sums_of_pairs(y, d));
  return div(cumsum(areas, d), 2);
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  int d = integrated_dim("cumulative_trapezoid", y, dim);
  return mul(cumsum(sums_of_pairs(y, d), d), dx.to_double() / 2);
}

Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights) {
  check(x.dim() <= 2, "cov: needs a tensor of at most 2 dims, got shape ", x.sizes());
  check(x.dtype() != kBool, "cov: not implemented for dtype Bool");
  Tensor rows = x.dim() < 2 ? reshape(x, {1, -1}) : x;
  int64_t n = rows.size(1);
  Tensor frequencies = fweights.value_or(Tensor()), reliabilities = aweights.value_or(Tensor());
  Tensor w = observation_weights(frequencies, reliabilities, n);
  auto weighted = [&w](const Tensor& t) { return w.defined() ? mul(t, w) : t; };
  Tensor total = w.defined() ? sum(w) : scalar_tensor(n, x.options().dtype(kLong));
  Tensor average = div(sum(weighted(rows), {1}, true), total);
  Tensor divisor = reliabilities.defined() && correction != 0
                       ? sub(total, div(mul(sum(mul(w, reliabilities)), correction), total))
                       : sub(total, correction);
  divisor = masked_fill(divisor, le(divisor, 0), 0);
  Tensor centred = sub(rows, average);
  Tensor other = weighted(centred);
  ScalarType dtype = promote_types(centred.dtype(), other.dtype());
  return squeeze(div(mm(cast(centred, dtype), t(cast(other, dtype))), divisor));
}

Tensor corrcoef(const Tensor& x) {
  check(x.dim() <= 2, "corrcoef: needs a tensor of at most 2 dims, got shape ", x.sizes());
  Tensor c = cov(x);
  if (c.dim() == 0) return div(c, c);
  Tensor deviations = sqrt(diagonal(c));
  return clamp(div(div(c, unsqueeze(deviations, 1)), unsqueeze(deviations, 0)), Scalar(-1), Scalar(1));
}

Tensor dist(const Tensor& a, const Tensor& b, const Scalar& p) { return norm(sub(a, b), p); }

Tensor argwhere(const Tensor& x) { return nonzero(x); }

Tensor Tensor::diff(int64_t n, int64_t dim) const { return tarn::diff(*this, n, dim); }
Tensor Tensor::cov(int64_t correction) const { return tarn::cov(*this, correction); }
Tensor Tensor::corrcoef() const { return tarn::corrcoef(*this); }
Tensor Tensor::dist(const Tensor& other, const Scalar& p) const { return tarn::dist(*this, other, p); }
Tensor Tensor::argwhere() const { return tarn::argwhere(*this); }

}  // namespace tarn::inline v1
