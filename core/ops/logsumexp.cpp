// logsumexp.
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// Shifted by the largest element, where that is finite.
void logsumexp_cpu(const Args& a, Tensor* out) {
  DimSet dims = DimSet(a.attrs<ReduceAttrs>().dims);
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      Results<T> results(*out);
      std::vector<T> shifts(static_cast<size_t>(results.size()));
      reduce_elements<T>(a[0], dims, {ReduceKind::Max}, shifts.data());
      for (T& s : shifts)
        if (std::isinf(s)) s = 0;
      reduce_elements<T>(a[0], dims, {ReduceKind::SumExp, T(0), shifts.data()}, results.data());
      for (int64_t i = 0; i < results.size(); ++i) {
        T& value = results.data()[i];
        value = std::log(value) + shifts[size_t(i)];
      }
      results.store();
    }
  });
}

void logsumexp_cuda(const Args& a, Tensor* out) {
  NoGradGuard no_grad;
  DimSet set = DimSet(a.attrs<ReduceAttrs>().dims);
  Tensor x = converted(a[0], compute_dtype_of(a[0].dtype()));
  if (!set) return copy_elements(*out, x);
  Dims dims = dim_list(set, int(x.dim()));
  Tensor most = x.numel() ? amax(x, dims, true) : zeros(reduced_sizes(x.sizes(), set, true), x.options());
  Tensor shift = masked_fill(most, isinf(most), 0);
  Tensor value = add(log(sum(exp(sub(x, shift)), dims, true)), shift);
  copy_elements(*out, reshape(value, out->sizes()));
}

void logsumexp_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), "logsumexp: needs a floating tensor, got ", a[0].dtype(),
        "; call to(kFloat) first");
  reduce_infer(a, out);
}

void logsumexp_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  const Tensor& x = g.input(0);
  DimSet dims = DimSet(attrs.dims);
  Tensor value = with_dims(g.output(), x.sizes(), dims, attrs.keepdim);
  g.set(0, mul(with_dims(g.grad(), x.sizes(), dims, attrs.keepdim), exp(sub(x, value))));
}

const Op logsumexp_op = {.name = "logsumexp",
                         .kind = Kind::Reduce,
                         .infer = logsumexp_infer,
                         .cpu = logsumexp_cpu,
                         .cuda = logsumexp_cuda,
                         .grad = logsumexp_grad,
                         .saves = save_input(0) | save_output()};

}  // namespace

Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return dispatch(logsumexp_op, {x}, ReduceAttrs{dim_set("logsumexp", x, dims), keepdim, int64_t(x.dtype())});
}

Tensor Tensor::logsumexp(IntArrayRef dims, bool keepdim) const {
  return tarn::logsumexp(*this, dims, keepdim);
}

}  // namespace tarn::inline v1
