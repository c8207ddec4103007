// linear: x (..., in), weight (out, in), optional bias (out). The leading dims of x are rows of one matrix
// product, and the bias is where its sums start.
#include <tarn/core/cpu/gemm.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

void infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &weight = a[1], &bias = a[2];
  check(weight.dim() == 2, "linear: weight must be (out, in), got ", weight.sizes());
  check(x.dim() >= 1, "linear: input must be (..., in), got ", x.sizes());
  int64_t features = x.sizes().back();
  check(features == weight.sizes()[1], "linear: input ", x.sizes(), " has ", features, " features, weight ",
        weight.sizes(), " expects ", weight.sizes()[1]);
  check(is_floating(x.dtype()), "linear: not implemented for dtype ", x.dtype());
  check(weight.dtype() == x.dtype(), "linear: input is ", x.dtype(), ", weight is ", weight.dtype(),
        "; convert one with to()");
  if (bias.defined()) {
    check(bias.dim() <= 1 && (bias.numel() == weight.sizes()[0] || bias.numel() == 1), "linear: bias ",
          bias.sizes(), " does not fit weight ", weight.sizes(), ", which has ", weight.sizes()[0],
          " outputs");
    check(bias.dtype() == x.dtype(), "linear: input is ", x.dtype(), ", bias is ", bias.dtype(),
          "; convert one with to()");
  }
  out->sizes = x.sizes();
  out->sizes[int(x.dim()) - 1] = weight.sizes()[0];
  out->dtype = x.dtype();
  out->device = x.device();
}

// Whether the leading dims of x are rows at one distance.
bool has_even_rows(const Tensor& x) {
  for (int d = 0; d + 2 < x.dim(); ++d)
    if (x.sizes()[d] != 1 && x.strides()[d] != x.strides()[d + 1] * x.sizes()[d + 1]) return false;
  return true;
}

MatrixBatch rows_of(const Tensor& x) {
  return {x.data_ptr(), 0, x.dim() > 1 ? x.strides()[int(x.dim()) - 2] : 0, x.strides()[int(x.dim()) - 1]};
}

void kernel(const Args& a, Tensor* out) {
  const Tensor &weight = a[1], &bias = a[2];
  Tensor x = has_even_rows(a[0]) ? a[0] : dense(a[0]);
  int64_t in = weight.sizes()[1], outputs = weight.sizes()[0],
          rows = outputs == 0 ? 0 : out->numel() / outputs;
  GemmProblem p{.dtype = x.dtype(),
                .batch = 1,
                .m = rows,
                .n = outputs,
                .k = in,
                .a = rows_of(x),
                .b = {weight.data_ptr(), 0, weight.strides()[1], weight.strides()[0]},
                .c = {},
                .out = out->data_ptr(),
                .device = out->device()};
  if (bias.defined()) p.c = {bias.data_ptr(), 0, 0, bias.numel() > 1 ? bias.strides()[0] : 0};
  gemm(p);
}

// x (..., features) as one matrix.
Tensor as_rows(const Tensor& x) {
  if (x.dim() == 2) return x;
  return x.reshape({numel_of(x.sizes().slice(0, size_t(x.dim() - 1)), "linear"), x.size(-1)});
}

void grad(GradArgs& g) {
  const Tensor& dy = g.grad();
  if (g.needs(0)) g.set(0, matmul(dy, g.input(1)));
  if (g.needs(1)) g.set(1, mm(as_rows(dy).t(), as_rows(g.input(0))));
  if (g.needs(2)) g.set(2, dy);  // autograd sums it to the bias's sizes
}

Saves saves_for(uint32_t needs) { return (needs & 1 ? save_input(1) : 0) | (needs & 2 ? save_input(0) : 0); }

const Op linear_op = {.name = "linear",
                      .kind = Kind::Contraction,
                      .infer = infer,
                      .cpu = kernel,
                      .cuda = kernel,
                      .grad = grad,
                      .saves_for = saves_for,
                      .autocast = Autocast::Lower};

}  // namespace

}  // namespace detail

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() == 1) {
    Tensor y = matmul(x, weight);
    return bias.defined() ? add(y, bias) : y;
  }
  return detail::dispatch(detail::linear_op, {x, weight, bias});
}

}  // namespace tarn::inline v1
