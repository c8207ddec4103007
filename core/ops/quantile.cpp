// quantile and nanquantile: the sorted elements at rank q * (n - 1), written with other ops.
#include <tarn/core/autocast.h>
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

void check_arguments(const char* op, const Tensor& x, const Tensor& q, std::string_view interpolation) {
  check(x.dtype() == kFloat || x.dtype() == kDouble, op, ": needs a tensor of Float or Double, got ",
        x.dtype());
  check(q.dtype() == x.dtype(), op, ": q must have the dtype of the tensor, ", x.dtype(), ", got ",
        q.dtype());
  check(q.dim() <= 1, op, ": q must be a number or have 1 dim, got shape ", q.sizes());
  check(x.numel() > 0, op, ": a tensor of shape ", x.sizes(), " has no elements");
  check(all(logical_and(ge(q, 0), le(q, 1))).item<bool>(), op, ": q must lie between 0 and 1");
  bool known = false;
  for (std::string_view name : {"linear", "lower", "higher", "nearest", "midpoint"})
    known |= interpolation == name;
  check(known, op, ": interpolation must be linear, lower, higher, nearest or midpoint, got ", interpolation);
}

// The values of sorted (..., n) at fractional ranks (..., Q).
Tensor values_at(const Tensor& sorted, const Tensor& exact, std::string_view interpolation) {
  Tensor ranks = interpolation == "lower"     ? floor(exact)
                 : interpolation == "higher"  ? ceil(exact)
                 : interpolation == "nearest" ? round(exact)
                                              : exact;
  Tensor below = floor(detach(ranks));
  Tensor values = gather(sorted, -1, cast(below, kLong));
  if (interpolation != "linear" && interpolation != "midpoint") return values;
  Tensor above = gather(sorted, -1, cast(ceil(detach(ranks)), kLong));
  Tensor weights = interpolation == "midpoint" ? full_like(below, 0.5) : sub(ranks, below);
  return lerp(values, above, weights);
}

Tensor quantiles(const char* op, const Tensor& given, const Tensor& q, std::optional<int64_t> dim,
                 bool keepdim, std::string_view interpolation, bool ignore_nan) {
  Tensor x = autocast_to_float(given);
  check_arguments(op, x, q, interpolation);
  int d = dim ? wrap_dim(*dim, x.dim(), op) : 0;
  Tensor rows = !dim || x.dim() == 0 ? reshape(x, {-1}) : movedim(x, d, -1);
  Tensor sorted = std::get<0>(sort(rows, -1));
  Tensor nans = isnan(detach(sorted));
  Tensor some_q = reshape(q, {-1}), ranks;
  if (ignore_nan) {
    Tensor last = sub(cast(sum(logical_not(nans), {-1}, true), x.dtype()), 1);
    ranks = mul(some_q, masked_fill(last, lt(last, 0), 0));
  } else {
    // NaN is sorted last, so that the last rank yields it.
    int64_t last = sorted.size(-1) - 1;
    Dims sizes = sorted.sizes();
    sizes[sizes.size() - 1] = some_q.numel();
    ranks = masked_fill(expand(mul(some_q, last), sizes), any(nans, -1, true), last);
  }
  Tensor values = movedim(values_at(sorted, ranks, interpolation), -1, 0);
  if (keepdim && dim && x.dim() > 0) values = unsqueeze(values, d + 1);
  if (keepdim && !dim) {
    Dims sizes(int(x.dim()) + 1, 1);
    sizes[0] = values.sizes()[0];
    values = reshape(values, sizes);
  }
  return q.dim() == 0 ? select(values, 0, 0) : values;
}

Tensor number_like(const Tensor& x, double q) {
  ScalarType dtype = x.dtype() == kDouble ? kDouble : kFloat;
  return full({}, q, x.options().dtype(dtype));
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantiles("quantile", x, q, dim, keepdim, interpolation, false);
}
Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile(x, number_like(x, q), dim, keepdim, interpolation);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantiles("nanquantile", x, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return nanquantile(x, number_like(x, q), dim, keepdim, interpolation);
}

Tensor Tensor::quantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) const {
  return tarn::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::quantile(double q, std::optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) const {
  return tarn::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) const {
  return tarn::nanquantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(double q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) const {
  return tarn::nanquantile(*this, q, dim, keepdim, interpolation);
}

}  // namespace tarn::inline v1
