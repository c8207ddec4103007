// prod.
#include <tarn/core/autocast.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

void prod_cpu(const Args& a, Tensor* out) {
  reduce_into(a[0], DimSet(a.attrs<ReduceAttrs>().dims), ReduceKind::Prod, *out);
}

void prod_cuda(const Args& a, Tensor* out) {
  reduce_cuda("prod", a[0], DimSet(a.attrs<ReduceAttrs>().dims), Reducer::Prod, *out);
}

// y[i] = x[0] ... x[i-1] along the last dim, by doubling (Hillis and Steele, 1986): products alone, so that
// it may be differentiated again, zeros or not.
Tensor products_before(const Tensor& x) {
  int64_t n = x.size(-1);
  Tensor y = cat({ones_like(narrow(x, -1, 0, 1)), narrow(x, -1, 0, n - 1)}, -1);
  for (int64_t k = 1; k < n; k *= 2) {
    y = cat({narrow(y, -1, 0, k), mul(narrow(y, -1, k, n - k), narrow(y, -1, 0, n - k))}, -1);
  }
  return y;
}

// The product of all others, for each element along the last dim.
Tensor products_of_others(const Tensor& x) {
  return mul(products_before(x), flip(products_before(flip(x, {-1})), {-1}));
}

void prod_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  const Tensor& x = g.input(0);
  DimSet dims = DimSet(attrs.dims);
  Tensor grad = with_dims(g.grad(), x.sizes(), dims, attrs.keepdim);
  if (x.numel() == 0 || !dims) return g.set(0, expand(grad, x.sizes()));
  if (!any(eq(x, 0)).item<bool>()) {
    Tensor product = with_dims(g.output(), x.sizes(), dims, attrs.keepdim);
    return g.set(0, div(mul(grad, product), x));
  }
  bool everything = dims == all_dims(x);
  int64_t dim = dim_list(dims, int(x.dim()))[0];
  Tensor row = everything ? reshape(x, {-1}) : movedim(x, dim, -1);
  Tensor others = products_of_others(row);
  others = everything ? reshape(others, x.sizes()) : movedim(others, -1, dim);
  g.set(0, mul(grad, others));
}

const Op prod_op = {.name = "prod",
                    .kind = Kind::Reduce,
                    .infer = reduce_infer,
                    .cpu = prod_cpu,
                    .cuda = prod_cuda,
                    .grad = prod_grad,
                    .saves = save_input(0) | save_output()};

Tensor prod_over(const Tensor& given, DimSet dims, bool keepdim, std::optional<ScalarType> dtype) {
  Tensor x = autocast_to_float(given);
  ScalarType result = dtype.value_or(is_floating(x.dtype()) ? x.dtype() : kLong);
  bool convert = dtype && (is_floating(*dtype) != is_floating(x.dtype()) || *dtype == kBool);
  return dispatch(prod_op, {convert ? cast(x, result) : x}, ReduceAttrs{dims, keepdim, int64_t(result)});
}

}  // namespace

Tensor prod(const Tensor& x, std::optional<ScalarType> dtype) {
  return prod_over(x, all_dims(x), false, dtype);
}
Tensor prod(const Tensor& x, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return prod_over(x, dim_set("prod", x, dim), keepdim, dtype);
}

Tensor Tensor::prod(std::optional<ScalarType> dtype) const { return tarn::prod(*this, dtype); }
Tensor Tensor::prod(int64_t dim, bool keepdim, std::optional<ScalarType> dtype) const {
  return tarn::prod(*this, dim, keepdim, dtype);
}

}  // namespace tarn::inline v1
