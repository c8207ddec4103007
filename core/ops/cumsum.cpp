// cumsum and cumsum_.
#include <tarn/core/cpu/slices.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/order_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

struct ScanAttrs {
  int64_t dim;
};

// Floats are added up in double: a running sum has no tree to keep its error small.
template <class T>
void cumsum_slices(const Tensor& x, const Tensor& out, int dim) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  int64_t n = x.dim() ? x.sizes()[dim] : 1, slices = x.numel() / n;
  int64_t step = x.dim() ? x.strides()[dim] : 1, out_step = out.dim() ? out.strides()[dim] : 1;
  const T* from = static_cast<const T*>(x.data_ptr());
  T* to = static_cast<T*>(out.data_ptr());
  parallel_for(0, slices, std::max<int64_t>(1, (1 << 14) / n), [&](int64_t begin, int64_t end) {
    SliceWalk<2> walk(x.sizes(), dim, {x.strides(), out.strides()}, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      Sum sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        sum += Sum(from[walk.offset(0) + k * step]);
        to[walk.offset(1) + k * out_step] = T(sum);
      }
    }
  });
}

void cumsum_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  visit(out->dtype(), "cumsum", [&]<class T>(Type<T>) {
    if constexpr (!std::is_same_v<T, bool>) cumsum_slices<T>(a[0], *out, int(a.attrs<ScanAttrs>().dim));
  });
}

void cumsum_grad(GradArgs& g) {
  int64_t dim = g.attrs<ScanAttrs>().dim;
  if (g.input_sizes(0).empty()) return g.set(0, g.grad());
  g.set(0, flip(cumsum(flip(g.grad(), {dim}), dim), {dim}));
}

const Op cumsum_op = {.name = "cumsum",
                      .infer = infer_like_first,
                      .cpu = cumsum_cpu,
                      .cuda = through_cpu<cumsum_cpu>,
                      .grad = cumsum_grad,
                      .inplace = true};

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  ScalarType result = dtype.value_or(is_floating(x.dtype()) ? x.dtype() : kLong);
  check(result != kBool, "cumsum: sums of Bool do not fit in Bool; give an integer dtype");
  return dispatch(cumsum_op, {cast(x, result)}, ScanAttrs{wrap_dim(dim, x.dim(), "cumsum")});
}

Tensor Tensor::cumsum(int64_t dim, std::optional<ScalarType> dtype) const {
  return tarn::cumsum(*this, dim, dtype);
}

Tensor& Tensor::cumsum_(int64_t dim, std::optional<ScalarType> dtype) const {
  check(!dtype || *dtype == this->dtype(), "cumsum_: the tensor is ", this->dtype(), ", the dtype asked for ",
        *dtype);
  check(this->dtype() != kBool, "cumsum_: sums of Bool do not fit in Bool");
  dispatch_inplace(cumsum_op, {*this}, ScanAttrs{wrap_dim(dim, this->dim(), "cumsum_")});
  return const_cast<Tensor&>(*this);
}

}  // namespace tarn::inline v1
