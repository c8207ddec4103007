// sum and mean.
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// --- sum ---

void sum_cpu(const Args& a, Tensor* out) {
  reduce_into(a[0], DimSet(a.attrs<ReduceAttrs>().dims), ReduceKind::Sum, *out);
}

void sum_cuda(const Args& a, Tensor* out) {
  reduce_cuda("sum", a[0], DimSet(a.attrs<ReduceAttrs>().dims), Reducer::Sum, *out);
}

void sum_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  g.set(0, spread(g.grad(), g.input_sizes(0), DimSet(attrs.dims), attrs.keepdim));
}

const Op sum_op = {.name = "sum",
                   .kind = Kind::Reduce,
                   .infer = reduce_infer,
                   .cpu = sum_cpu,
                   .cuda = sum_cuda,
                   .grad = sum_grad};

Tensor sum_over(const Tensor& x, DimSet dims, bool keepdim, std::optional<ScalarType> dtype) {
  ScalarType result = dtype.value_or(is_floating(x.dtype()) ? x.dtype() : kLong);
  bool convert = dtype && (is_floating(*dtype) != is_floating(x.dtype()) || *dtype == kBool);
  return dispatch(sum_op, {convert ? cast(x, result) : x}, ReduceAttrs{dims, keepdim, int64_t(result)});
}

// --- mean ---

void mean_cpu(const Args& a, Tensor* out) {
  visit_compute(out->dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      Results<T> results(*out);
      means_into<T>(a[0], DimSet(a.attrs<ReduceAttrs>().dims), results.data(), results.size());
      results.store();
    }
  });
}

void mean_cuda(const Args& a, Tensor* out) {
  DimSet dims = DimSet(a.attrs<ReduceAttrs>().dims);
  reduce_cuda("mean", a[0], dims, Reducer::Sum, *out, double(reduced_count(a[0].sizes(), dims)));
}

void mean_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  DimSet dims = DimSet(attrs.dims);
  double count = double(reduced_count(g.input_sizes(0), dims));
  g.set(0, spread(div(g.grad(), count), g.input_sizes(0), dims, attrs.keepdim));
}

const Op mean_op = {.name = "mean",
                    .kind = Kind::Reduce,
                    .infer = reduce_infer,
                    .cpu = mean_cpu,
                    .cuda = mean_cuda,
                    .grad = mean_grad};

Tensor mean_over(const Tensor& x, DimSet dims, bool keepdim, std::optional<ScalarType> dtype) {
  ScalarType result = dtype.value_or(x.dtype());
  check(is_floating(result), "mean: needs a floating dtype, got ", result,
        "; call to(kFloat) first or give a dtype");
  Tensor in = is_floating(x.dtype()) ? x : cast(x, result);
  return dispatch(mean_op, {in}, ReduceAttrs{dims, keepdim, int64_t(result)});
}

}  // namespace

Tensor sum(const Tensor& x, std::optional<ScalarType> dtype) {
  return sum_over(x, all_dims(x), false, dtype);
}
Tensor sum(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) {
  return sum_over(x, dim_set("sum", x, dims), keepdim, dtype);
}

Tensor mean(const Tensor& x, std::optional<ScalarType> dtype) {
  return mean_over(x, all_dims(x), false, dtype);
}
Tensor mean(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) {
  return mean_over(x, dim_set("mean", x, dims), keepdim, dtype);
}

Tensor Tensor::sum(std::optional<ScalarType> dtype) const { return tarn::sum(*this, dtype); }
Tensor Tensor::sum(IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  return tarn::sum(*this, dims, keepdim, dtype);
}
Tensor Tensor::mean(std::optional<ScalarType> dtype) const { return tarn::mean(*this, dtype); }
Tensor Tensor::mean(IntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  return tarn::mean(*this, dims, keepdim, dtype);
}

}  // namespace tarn::inline v1
