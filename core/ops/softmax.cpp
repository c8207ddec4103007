#include <tarn/core/ops/softmax.h>

#include <vector>

#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/copy.h>
#include <tarn/core/cpu/slices.h>
#include <tarn/core/cpu/softmax_kernels.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
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

// The dim whose elements are neighbours in all tensors; -1 if there is none worth working along.
int column_dim(int along, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (int d = 0; d < first.dim(); ++d) {
    bool neighbours = d != along && first.sizes()[d] >= 8;
    for (const Tensor* t : tensors)
      neighbours = neighbours && t->strides()[d] == 1 && t->strides()[along] != 1;
    if (neighbours) return d;
  }
  return -1;
}

// Calls f(pointers to the first row of a run of columns, row steps, rows, columns).
template <class T, int N, class F>
void for_columns(const Tensor& out, int along, int column, std::array<const Tensor*, N> in, F f) {
  const Tensor* all[N + 1] = {&out};
  std::array<IntArrayRef, N + 1> strides;
  std::array<int64_t, N + 1> steps;
  for (int k = 0; k <= N; ++k) {
    if (k > 0) all[k] = in[k - 1];
    strides[k] = all[k]->strides();
    steps[k] = strides[k][along];
  }
  Dims others = out.sizes();
  int64_t n = others[along], columns = others[column];
  others[column] = 1;
  int64_t tiles = (columns + kSoftmaxColumns - 1) / kSoftmaxColumns, slices = out.numel() / (n * columns);
  int64_t grain = std::max<int64_t>(1, (1 << 13) / (n * std::min(columns, kSoftmaxColumns)));
  parallel_for(0, slices * tiles, grain, [&](int64_t begin, int64_t end) {
    SliceWalk<N + 1> walk(others, along, strides, begin / tiles);
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i % tiles * kSoftmaxColumns;
      T* at[N + 1];
      for (int k = 0; k <= N; ++k) at[k] = static_cast<T*>(all[k]->data_ptr()) + walk.offset(k) + first;
      f(at, steps, n, std::min(kSoftmaxColumns, columns - first));
      if (i % tiles == tiles - 1) walk.next();
    }
  });
}

// x in T, with neighbours where x has them.
template <class T>
Tensor widened(const Tensor& x) {
  if (x.dtype() == dtype_of<T>) return x;
  Tensor wide = make_tensor(x.sizes(), strides_like(x), dtype_of<T>, x.device());
  copy_elements(wide, x);
  return wide;
}

template <class T, bool log>
void softmax_into(const Tensor& x, int dim, const Tensor& out) {
  const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
  int column = out.numel() > 0 ? column_dim(dim, {&x, &out}) : -1;
  if (column < 0) {
    auto kernel = log ? kernels.log_softmax : kernels.softmax;
    return for_slices<T, 1>(out, dim, {&x}, [&](T** rows, int64_t n) { kernel(rows[0], rows[1], n); });
  }
  if (x.dtype() != dtype_of<T>) {
    Tensor wide = widened<T>(x);
    softmax_into<T, log>(wide, dim, wide);
    return copy_elements(out, wide);
  }
  for_columns<T, 1>(out, dim, column, {&x}, [&](T** at, const auto& step, int64_t n, int64_t columns) {
    kernels.columns(at[0], step[0], at[1], step[1], n, columns, log);
  });
}

template <bool log>
void softmax_cpu(const Args& a, Tensor* out) {
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>)
      softmax_into<T, log>(a[0], int(a.attrs<SoftmaxAttrs>().dim), *out);
  });
}

// --- the gradients are ops of their own, one pass over g and y; theirs are written with public ops ---

template <class T, bool log>
void softmax_grad_into(const Tensor& g, const Tensor& y, int dim, const Tensor& out) {
  const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
  int column = out.numel() > 0 ? column_dim(dim, {&g, &y, &out}) : -1;
  if (column < 0) {
    auto kernel = log ? kernels.log_softmax_grad : kernels.softmax_grad;
    return for_slices<T, 2>(out, dim, {&g, &y},
                            [&](T** rows, int64_t n) { kernel(rows[0], rows[1], rows[2], n); });
  }
  if (g.dtype() != dtype_of<T> || y.dtype() != dtype_of<T>) {
    Tensor wide = make_tensor(out.sizes(), out.strides(), dtype_of<T>, out.device());
    softmax_grad_into<T, log>(widened<T>(g), widened<T>(y), dim, wide);
    return copy_elements(out, wide);
  }
  for_columns<T, 2>(out, dim, column, {&g, &y}, [&](T** at, const auto& step, int64_t n, int64_t columns) {
    kernels.grad_columns(at[0], step[0], at[1], step[1], at[2], step[2], n, columns, log);
  });
}

template <bool log>
void softmax_grad_cpu(const Args& a, Tensor* out) {
  visit_compute(a[0].dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T>)
      softmax_grad_into<T, log>(a[0], a[1], int(a.attrs<SoftmaxAttrs>().dim), *out);
  });
}

// Inputs: x, or the gradient and y.
template <SoftmaxKind kind>
void softmax_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  ScalarType compute = compute_dtype_of(a[0].dtype());
  Tensor in = row_major(a[0], compute), y = a.count() > 1 ? row_major(a[1], compute) : Tensor();
  Tensor target = row_major_output(*out, compute);
  int dim = int(a.attrs<SoftmaxAttrs>().dim);
  SoftmaxCall call{.kind = kind,
                   .compute = compute_of(compute),
                   .out = target.data_ptr(),
                   .a = in.data_ptr(),
                   .b = address_of(y),
                   .outer = 1,
                   .n = 1,
                   .inner = 1};
  for (int d = 0; d < in.dim(); ++d) (d < dim ? call.outer : d == dim ? call.n : call.inner) *= in.sizes()[d];
  launch_cuda(a.op.name, &CudaTable::softmax, call);
  finish_output(*out, target);
}

void softmax_grad_grad(GradArgs& g);
void log_softmax_grad_grad(GradArgs& g);

constexpr Saves kSaveBoth = save_input(0) | save_input(1);
// Inputs: the gradient g of y, and y.
const Op softmax_grad_op = {.name = "softmax_backward",
                            .infer = softmax_infer,
                            .cpu = softmax_grad_cpu<false>,
                            .cuda = softmax_cuda<SoftmaxKind::SoftmaxGrad>,
                            .grad = softmax_grad_grad,
                            .saves = kSaveBoth};
const Op log_softmax_grad_op = {.name = "log_softmax_backward",
                                .infer = softmax_infer,
                                .cpu = softmax_grad_cpu<true>,
                                .cuda = softmax_cuda<SoftmaxKind::LogSoftmaxGrad>,
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
                       .cuda = softmax_cuda<SoftmaxKind::Softmax>,
                       .grad = grad_by<softmax_grad_op>,
                       .saves = save_output()};
const Op log_softmax_op = {.name = "log_softmax",
                           .infer = softmax_infer,
                           .cpu = softmax_cpu<true>,
                           .cuda = softmax_cuda<SoftmaxKind::LogSoftmax>,
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
