// nansum, nanmean, count_nonzero and aminmax, written with other reductions.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

Tensor nansum(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) {
  return sum(is_floating(x.dtype()) ? masked_fill(x, isnan(detach(x)), 0) : x, dims, keepdim, dtype);
}

Tensor nanmean(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) {
  check(is_floating(x.dtype()), "nanmean: needs a floating tensor, got ", x.dtype(),
        "; call to(kFloat) first");
  Tensor count = sum(logical_not(isnan(detach(x))), dims, keepdim);
  Tensor total = nansum(x, dims, keepdim, dtype);
  return div(total, cast(count, total.dtype()));
}

Tensor count_nonzero(const Tensor& x, IntArrayRef dims) { return sum(ne(detach(x), 0), dims); }

std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  Dims dims;
  if (dim) dims.push_back(wrap_dim(*dim, x.dim(), "aminmax"));
  int64_t reduced = dim && x.dim() > 0 ? x.sizes()[dims[0]] : x.numel();
  check(reduced > 0, "aminmax: a tensor of shape ", x.sizes(), " has no elements to compare");
  return {amin(x, dims, keepdim), amax(x, dims, keepdim)};
}

Tensor Tensor::nansum(IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  return tarn::nansum(*this, dims, keepdim, dtype);
}
Tensor Tensor::nanmean(IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  return tarn::nanmean(*this, dims, keepdim, dtype);
}
Tensor Tensor::count_nonzero(IntArrayRef dims) const { return tarn::count_nonzero(*this, dims); }
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, bool keepdim) const {
  return tarn::aminmax(*this, dim, keepdim);
}

}  // namespace tarn::inline v1
