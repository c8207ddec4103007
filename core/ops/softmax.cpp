#include <tarn/core/ops/softmax.h>

#include <vector>

#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/slices.h>
#include <tarn/core/cpu/softmax_kernels.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

struct SoftmaxAttrs {
  int64_t dim;
};

void softmax_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), a.op.name, ": needs a floating tensor, got ", a[0].dtype(),
        "; call to(kFloat) first or give a dtype");
  infer_like_first(a, out);
  out->strides = strides_like(a[0]);
}

// Calls f(out row, rows...) for each slice of out along `dim`, with N operands of out's sizes. Rows that are
// not neighbours of type T go through buffers.
template <class T, int N, class F>
void for_slices(const Tensor& out, int dim, std::array<const Tensor*, N> in, F f) {
  if (out.numel() == 0) return;
  int64_t n = out.dim() ? out.sizes()[dim] : 1, slices = out.numel() / n;
  const Tensor* all[N + 1] = {&out};
  std::array<IntArrayRef, N + 1> strides;
  for (int k = 0; k <= N; ++k) {
    if (k > 0) all[k] = in[k - 1];
    strides[k] = all[k]->strides();
  }
  parallel_for(0, slices, std::max<int64_t>(1, (1 << 13) / n), [&](int64_t begin, int64_t end) {
    std::vector<T> buffers[N + 1];
    T* rows[N + 1];
    SliceWalk<N + 1> walk(out.sizes(), dim, strides, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      for (int k = 0; k <= N; ++k) {
        const Tensor& t = *all[k];
        char* at = static_cast<char*>(t.data_ptr()) + walk.offset(k) * int64_t(t.element_size());
        int64_t step = t.dim() ? t.strides()[dim] : 1;
        rows[k] = reinterpret_cast<T*>(at);
        if (t.dtype() == dtype_of<T> && (step == 1 || n == 1)) continue;
        buffers[k].resize(size_t(n));
        rows[k] = buffers[k].data();
        if (k > 0) row_loader<T>(t.dtype())(rows[k], at, step, n);
      }
      f(rows, n);
      if (!buffers[0].empty()) {
        char* at = static_cast<char*>(out.data_ptr()) + walk.offset(0) * int64_t(out.element_size());
        row_storer<T>(out.dtype())(at, rows[0], out.dim() ? out.strides()[dim] : 1, n);
      }
    }
  });
}

template <bool log>
void softmax_cpu(const Args& a, Tensor* out) {
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
      auto kernel = log ? kernels.log_softmax : kernels.softmax;
      for_slices<T, 1>(*out, int(a.attrs<SoftmaxAttrs>().dim), {&a[0]},
                       [&](T** rows, int64_t n) { kernel(rows[0], rows[1], n); });
    }
  });
}

// --- the gradients are ops of their own, one pass over g and y; theirs are written with public ops ---

template <bool log>
void softmax_grad_cpu(const Args& a, Tensor* out) {
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
      auto kernel = log ? kernels.log_softmax_grad : kernels.softmax_grad;
      for_slices<T, 2>(*out, int(a.attrs<SoftmaxAttrs>().dim), {&a[0], &a[1]},
                       [&](T** rows, int64_t n) { kernel(rows[0], rows[1], rows[2], n); });
    }
  });
}

void softmax_grad_grad(GradArgs& g);
void log_softmax_grad_grad(GradArgs& g);

constexpr Saves kSaveBoth = save_input(0) | save_input(1);
// Inputs: the gradient g of y, and y.
const Op softmax_grad_op = {.name = "softmax_backward",
                            .infer = softmax_infer,
                            .cpu = softmax_grad_cpu<false>,
                            .grad = softmax_grad_grad,
                            .saves = kSaveBoth};
const Op log_softmax_grad_op = {.name = "log_softmax_backward",
                                .infer = softmax_infer,
                                .cpu = softmax_grad_cpu<true>,
                                .grad = log_softmax_grad_grad,
                                .saves = kSaveBoth};

// out = (g - sum(g y)) y; with h = grad of out: dg = (h - sum(h y)) y, dy = h (g - sum(g y)) - g sum(h y).
void softmax_grad_grad(GradArgs& ga) {
  int64_t dim = ga.attrs<SoftmaxAttrs>().dim;
  const Tensor &h = ga.grad(), &g = ga.input(0), &y = ga.input(1);
  if (ga.needs(0)) ga.set(0, dispatch(softmax_grad_op, {h, y}, SoftmaxAttrs{dim}));
  if (ga.needs(1))
    ga.set(1, sub(mul(h, sub(g, sum(mul(g, y), dim, true))), mul(g, sum(mul(h, y), dim, true))));
}

// out = g - exp(y) sum(g); dg = h - sum(h exp(y)), dy = -h exp(y) sum(g).
void log_softmax_grad_grad(GradArgs& ga) {
  int64_t dim = ga.attrs<SoftmaxAttrs>().dim;
  const Tensor &h = ga.grad(), &g = ga.input(0), &y = ga.input(1);
  Tensor weighted = mul(h, exp(y));
  if (ga.needs(0)) ga.set(0, sub(h, sum(weighted, dim, true)));
  if (ga.needs(1)) ga.set(1, neg(mul(weighted, sum(g, dim, true))));
}

template <const Op& op>
void grad_by(GradArgs& g) {
  g.set(0, dispatch(op, {g.grad(), g.output()}, SoftmaxAttrs{g.attrs<SoftmaxAttrs>().dim}));
}

const Op softmax_op = {.name = "softmax",
                       .infer = softmax_infer,
                       .cpu = softmax_cpu<false>,
                       .grad = grad_by<softmax_grad_op>,
                       .saves = save_output()};
const Op log_softmax_op = {.name = "log_softmax",
                           .infer = softmax_infer,
                           .cpu = softmax_cpu<true>,
                           .grad = grad_by<log_softmax_grad_op>,
                           .saves = save_output()};

Tensor softmax_along(const Op& op, const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  return dispatch(op, {dtype ? cast(x, *dtype) : x}, SoftmaxAttrs{wrap_dim(dim, x.dim(), op.name)});
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_along(softmax_op, x, dim, dtype);
}
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_along(log_softmax_op, x, dim, dtype);
}

Tensor Tensor::softmax(int64_t dim, std::optional<ScalarType> dtype) const {
  return tarn::softmax(*this, dim, dtype);
}
Tensor Tensor::log_softmax(int64_t dim, std::optional<ScalarType> dtype) const {
  return tarn::log_softmax(*this, dim, dtype);
}

}  // namespace tarn::inline v1
