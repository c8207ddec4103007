// var, std, var_mean, std_mean.
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// The scalar is the correction. Outputs: variance or deviation, and of the *_mean ops the mean.

double divisor(IntArrayRef sizes, DimSet dims, const Scalar& correction) {
  return std::max(0.0, double(reduced_count(sizes, dims)) - correction.to_double());
}

// sum((x - m)^2) - sum(x - m)^2 / n, where m is the mean as it was rounded: the second term takes back what
// the rounding did.
template <class T, bool root>
void spread_into(const Args& a, DimSet dims, const T* means, T* out, int64_t outputs) {
  std::vector<T> deviations(static_cast<size_t>(outputs));
  reduce_elements<T>(a[0], dims, {ReduceKind::SumDeviations, T(0), means}, deviations.data());
  reduce_elements<T>(a[0], dims, {ReduceKind::SumSquaredDeviations, T(0), means}, out);
  T n = T(reduced_count(a[0].sizes(), dims)), by = T(divisor(a[0].sizes(), dims, a.scalar()));
  for (int64_t i = 0; i < outputs; ++i) {
    T squares = out[i] - deviations[size_t(i)] * deviations[size_t(i)] / n;
    T variance = (squares < 0 ? T(0) : squares) / by;
    out[i] = root ? std::sqrt(variance) : variance;
  }
}

template <bool root>
void var_cpu(const Args& a, Tensor* out) {
  DimSet dims = DimSet(a.attrs<ReduceAttrs>().dims);
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      Results<T> results(out[0]);
      std::vector<T> means(static_cast<size_t>(results.size()));
      means_into<T>(a[0], dims, means.data(), results.size());
      spread_into<T, root>(a, dims, means.data(), results.data(), results.size());
      results.store();
      if (a.op.outputs == 1) return;
      Results<T> mean(out[1]);
      std::copy(means.begin(), means.end(), mean.data());
      mean.store();
    }
  });
}

// In double: the mean's rounding does not show.
template <bool root>
void var_cuda(const Args& a, Tensor* out) {
  NoGradGuard no_grad;
  DimSet set = DimSet(a.attrs<ReduceAttrs>().dims);
  Tensor x = converted(a[0], kDouble), mean = x, squares = sub(x, x);
  if (set) {
    Dims dims = dim_list(set, int(x.dim()));
    mean = tarn::mean(x, dims, true);
    squares = sum(square(sub(x, mean)), dims, true);
  }
  Tensor variance = div(squares, divisor(x.sizes(), set, a.scalar()));
  copy_elements(out[0], reshape(root ? sqrt(variance) : variance, out[0].sizes()));
  if (a.op.outputs > 1) copy_elements(out[1], reshape(mean, out[1].sizes()));
}

void var_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), a.op.name, ": needs a floating tensor, got ", a[0].dtype(),
        "; call to(kFloat) first");
  for (int i = 0; i < a.op.outputs; ++i) reduce_infer(a, out + i);
}

template <bool root, bool with_mean>
void var_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  const Tensor& x = g.input(0);
  DimSet dims = DimSet(attrs.dims);
  Tensor result;
  if (g.grad(0).defined()) {
    Tensor grad = with_dims(g.grad(0), x.sizes(), dims, attrs.keepdim);
    if constexpr (root) {
      // d sqrt(v) = dv / (2 sqrt(v)); of a constant 0, as PyTorch has it.
      Tensor deviation = with_dims(g.output(), x.sizes(), dims, attrs.keepdim);
      Tensor not_zero = ne(deviation, 0);
      grad = mul(div(grad, mul(where(not_zero, deviation, 1), 2)), cast(not_zero, grad.dtype()));
    }
    Tensor centred = dims ? sub(x, mean(x, dim_list(dims, int(x.dim())), true)) : sub(x, x);
    result = mul(grad, mul(centred, 2 / divisor(x.sizes(), dims, g.scalar())));
  }
  if (with_mean && g.grad(1).defined()) {
    Tensor grad =
        spread(div(g.grad(1), double(reduced_count(x.sizes(), dims))), x.sizes(), dims, attrs.keepdim);
    result = result.defined() ? add(result, grad) : grad;
  }
  g.set(0, result);
}

const Op var_op = {.name = "var",
                   .kind = Kind::Reduce,
                   .infer = var_infer,
                   .cpu = var_cpu<false>,
                   .cuda = var_cuda<false>,
                   .grad = var_grad<false, false>,
                   .saves = save_input(0)};
const Op std_op = {.name = "std",
                   .kind = Kind::Reduce,
                   .infer = var_infer,
                   .cpu = var_cpu<true>,
                   .cuda = var_cuda<true>,
                   .grad = var_grad<true, false>,
                   .saves = save_input(0) | save_output()};
const Op var_mean_op = {.name = "var_mean",
                        .infer = var_infer,
                        .cpu = var_cpu<false>,
                        .cuda = var_cuda<false>,
                        .grad = var_grad<false, true>,
                        .saves = save_input(0),
                        .outputs = 2};
const Op std_mean_op = {.name = "std_mean",
                        .infer = var_infer,
                        .cpu = var_cpu<true>,
                        .cuda = var_cuda<true>,
                        .grad = var_grad<true, true>,
                        .saves = save_input(0) | save_output(),
                        .outputs = 2};

Tensor var_over(const Op& op, const Tensor& x, DimSet dims, const Scalar& correction, bool keepdim) {
  return dispatch(op, {x}, ReduceAttrs{dims, keepdim, int64_t(x.dtype())}, correction);
}

std::tuple<Tensor, Tensor> var_mean_over(const Op& op, const Tensor& x, DimSet dims, bool unbiased,
                                         bool keepdim) {
  Tensor out[2];
  dispatch(op, {x}, ReduceAttrs{dims, keepdim, int64_t(x.dtype())}, Scalar(int(unbiased)), out);
  return {out[0], out[1]};
}

}  // namespace

Tensor var(const Tensor& x, IntArrayRef dims, bool unbiased, bool keepdim) {
  return var_over(var_op, x, dim_set("var", x, dims), int(unbiased), keepdim);
}
Tensor var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return var_over(var_op, x, dim_set("var", x, dims), correction.value_or(1), keepdim);
}
Tensor std(const Tensor& x, IntArrayRef dims, bool unbiased, bool keepdim) {
  return var_over(std_op, x, dim_set("std", x, dims), int(unbiased), keepdim);
}
Tensor std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return var_over(std_op, x, dim_set("std", x, dims), correction.value_or(1), keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, bool unbiased, bool keepdim) {
  return var_mean_over(var_mean_op, x, dim_set("var_mean", x, dims), unbiased, keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, bool unbiased, bool keepdim) {
  return var_mean_over(std_mean_op, x, dim_set("std_mean", x, dims), unbiased, keepdim);
}

Tensor Tensor::var(IntArrayRef dims, bool unbiased, bool keepdim) const {
  return tarn::var(*this, dims, unbiased, keepdim);
}
Tensor Tensor::std(IntArrayRef dims, bool unbiased, bool keepdim) const {
  return tarn::std(*this, dims, unbiased, keepdim);
}

}  // namespace tarn::inline v1
