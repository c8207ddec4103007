// any and all.
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

template <ReduceKind kind>
void truth_cpu(const Args& a, Tensor* out) {
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    Results<T> results(*out);
    reduce_elements<T>(a[0], DimSet(a.attrs<ReduceAttrs>().dims), {kind}, results.data());
    results.store();
  });
}

template <Reducer reducer>
void truth_cuda(const Args& a, Tensor* out) {
  reduce_cuda(a.op.name, a[0], DimSet(a.attrs<ReduceAttrs>().dims), reducer, *out);
}

const Op any_op = {.name = "any",
                   .kind = Kind::Reduce,
                   .infer = reduce_infer,
                   .cpu = truth_cpu<ReduceKind::Any>,
                   .cuda = truth_cuda<Reducer::Any>};
const Op all_op = {.name = "all",
                   .kind = Kind::Reduce,
                   .infer = reduce_infer,
                   .cpu = truth_cpu<ReduceKind::All>,
                   .cuda = truth_cuda<Reducer::All>};

Tensor truth_over(const Op& op, const Tensor& x, DimSet dims, bool keepdim) {
  return dispatch(op, {x}, ReduceAttrs{dims, keepdim, int64_t(x.dtype() == kByte ? kByte : kBool)});
}

}  // namespace

Tensor any(const Tensor& x) { return truth_over(any_op, x, all_dims(x), false); }
Tensor any(const Tensor& x, int64_t dim, bool keepdim) {
  return truth_over(any_op, x, dim_set("any", x, dim), keepdim);
}
Tensor any(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return truth_over(any_op, x, dim_set("any", x, dims), keepdim);
}
Tensor all(const Tensor& x) { return truth_over(all_op, x, all_dims(x), false); }
Tensor all(const Tensor& x, int64_t dim, bool keepdim) {
  return truth_over(all_op, x, dim_set("all", x, dim), keepdim);
}
Tensor all(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return truth_over(all_op, x, dim_set("all", x, dims), keepdim);
}

Tensor Tensor::any() const { return tarn::any(*this); }
Tensor Tensor::any(int64_t dim, bool keepdim) const { return tarn::any(*this, dim, keepdim); }
Tensor Tensor::any(IntArrayRef dims, bool keepdim) const { return tarn::any(*this, dims, keepdim); }
Tensor Tensor::all() const { return tarn::all(*this); }
Tensor Tensor::all(int64_t dim, bool keepdim) const { return tarn::all(*this, dim, keepdim); }
Tensor Tensor::all(IntArrayRef dims, bool keepdim) const { return tarn::all(*this, dims, keepdim); }

}  // namespace tarn::inline v1
