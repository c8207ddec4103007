// Products of matrices, vectors and batches of matrices: one kernel, detail::gemm, under several shape rules.
#include <tarn/core/cpu/gemm.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

void check_dtypes(const Args& a) {
  ScalarType dtype = a[0].dtype();
  check(dtype != kBool, a.op.name, ": not implemented for dtype Bool; convert with to()");
  for (int i = 1; i < a.count(); ++i) {
    if (!a[i].defined()) continue;
    check(a[i].dtype() == dtype, a.op.name, ": dtypes differ: ", dtype, " and ", a[i].dtype(),
          "; convert one with to()");
  }
}

void set_spec(const Args& a, Dims sizes, Spec* out) {
  out->sizes = std::move(sizes);
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

MatrixBatch as_matrix(const Tensor& x) { return {x.data_ptr(), 0, x.strides()[0], x.strides()[1]}; }

MatrixBatch as_batch(const Tensor& x) {
  return {x.data_ptr(), x.strides()[0], x.strides()[1], x.strides()[2]};
}

// x read as a tensor of `sizes` by broadcasting: a batch of matrices, or with two sizes one matrix.
MatrixBatch broadcast_matrix(const Tensor& x, int rank) {
  int64_t s[3] = {};
  for (int d = 1; d <= x.dim(); ++d)
    if (x.sizes()[x.dim() - d] != 1) s[3 - d] = x.strides()[x.dim() - d];
  return {x.data_ptr(), rank == 3 ? s[0] : 0, s[1], s[2]};
}

// --- mm and addmm: inputs a, b, optional c; scalars alpha, beta (mm: none) ---

void mm_infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &y = a[1];
  check(x.dim() == 2 && y.dim() == 2, a.op.name, ": matrices must have 2 dims, got ", x.sizes(), " and ",
        y.sizes());
  check(x.sizes()[1] == y.sizes()[0], a.op.name, ": ", x.sizes(), " and ", y.sizes(),
        " do not multiply: ", x.sizes()[1], " columns and ", y.sizes()[0], " rows");
  check_dtypes(a);
  Dims sizes = {x.sizes()[0], y.sizes()[1]};
  if (a.count() > 2 && a[2].defined())
    check(broadcast_sizes(a[2].sizes(), sizes, a.op.name) == sizes, a.op.name, ": c of sizes ", a[2].sizes(),
          " does not broadcast to ", sizes);
  set_spec(a, sizes, out);
}

void bmm_infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &y = a[1];
  check(x.dim() == 3 && y.dim() == 3, a.op.name, ": batches of matrices must have 3 dims, got ", x.sizes(),
        " and ", y.sizes());
  check(x.sizes()[0] == y.sizes()[0], a.op.name, ": batch sizes differ: ", x.sizes(), " and ", y.sizes());
  check(x.sizes()[2] == y.sizes()[1], a.op.name, ": ", x.sizes(), " and ", y.sizes(),
        " do not multiply: ", x.sizes()[2], " columns and ", y.sizes()[1], " rows");
  check_dtypes(a);
  Dims sizes = {x.sizes()[0], x.sizes()[1], y.sizes()[2]};
  if (a.count() > 2 && a[2].defined())
    check(broadcast_sizes(a[2].sizes(), sizes, a.op.name) == sizes, a.op.name, ": c of sizes ", a[2].sizes(),
          " does not broadcast to ", sizes);
  set_spec(a, sizes, out);
}

void set_scalars(const Args& a, GemmProblem& p) {
  if (a.scalars.size() > 0) p.alpha = a.scalar(0).to_double();
  if (a.scalars.size() > 1) p.beta = a.scalar(1).to_double();
}

void mm_kernel(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &y = a[1];
  GemmProblem p{.dtype = x.dtype(),
                .batch = 1,
                .m = x.sizes()[0],
                .n = y.sizes()[1],
                .k = x.sizes()[1],
                .a = as_matrix(x),
                .b = as_matrix(y),
                .c = {},
                .out = out->data_ptr(),
                .device = out->device()};
  if (a.count() > 2 && a[2].defined()) p.c = broadcast_matrix(a[2], 2);
  set_scalars(a, p);
  gemm(p);
}

void bmm_kernel(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &y = a[1];
  GemmProblem p{.dtype = x.dtype(),
                .batch = x.sizes()[0],
                .m = x.sizes()[1],
                .n = y.sizes()[2],
                .k = x.sizes()[2],
                .a = as_batch(x),
                .b = as_batch(y),
                .c = {},
                .out = out->data_ptr(),
                .device = out->device()};
  if (a.count() > 2 && a[2].defined()) p.c = broadcast_matrix(a[2], 3);
  set_scalars(a, p);
  gemm(p);
}

Saves factors_saved(uint32_t needs) {
  return (needs & 1 ? save_input(1) : 0) | (needs & 2 ? save_input(0) : 0);
}

// alpha * (x times y), for matrices or batches of them.
Tensor multiply(const Tensor& x, const Tensor& y, const Scalar& alpha);

Scalar alpha_of(const GradArgs& g) { return g.scalars.size() > 0 ? g.scalar(0) : Scalar(1); }

void product_grad(GradArgs& g) {
  if (g.needs(0)) g.set(0, multiply(g.grad(), g.input(1).mT(), alpha_of(g)));
  if (g.needs(1)) g.set(1, multiply(g.input(0).mT(), g.grad(), alpha_of(g)));
  if (g.inputs() > 2 && g.needs(2))
    g.set(2, g.scalar(1).to_double() == 1 ? g.grad() : mul(g.grad(), g.scalar(1)));
}

const Op mm_op = {.name = "mm",
                  .kind = Kind::Contraction,
                  .infer = mm_infer,
                  .cpu = mm_kernel,
                  .cuda = mm_kernel,
                  .grad = product_grad,
                  .saves_for = factors_saved,
                  .autocast = Autocast::Lower};
const Op addmm_op = {.name = "addmm",
                     .kind = Kind::Contraction,
                     .infer = mm_infer,
                     .cpu = mm_kernel,
                     .cuda = mm_kernel,
                     .grad = product_grad,
                     .saves_for = factors_saved,
                     .autocast = Autocast::Lower};
const Op bmm_op = {.name = "bmm",
                   .kind = Kind::Contraction,
                   .infer = bmm_infer,
                   .cpu = bmm_kernel,
                   .cuda = bmm_kernel,
                   .grad = product_grad,
                   .saves_for = factors_saved,
                   .autocast = Autocast::Lower};
const Op baddbmm_op = {.name = "baddbmm",
                       .kind = Kind::Contraction,
                       .infer = bmm_infer,
                       .cpu = bmm_kernel,
                       .cuda = bmm_kernel,
                       .grad = product_grad,
                       .saves_for = factors_saved,
                       .autocast = Autocast::Lower};

Tensor multiply(const Tensor& x, const Tensor& y, const Scalar& alpha) {
  bool matrices = x.dim() == 2;
  if (alpha.to_double() == 1) return dispatch(matrices ? mm_op : bmm_op, {x, y});
  return dispatch(matrices ? addmm_op : baddbmm_op, {x, y, Tensor()}, {}, {alpha, Scalar(0)});
}

// --- mv ---

void mv_infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &v = a[1];
  check(x.dim() == 2 && v.dim() == 1, "mv: a matrix (n, k) and a vector (k) are needed, got ", x.sizes(),
        " and ", v.sizes());
  check(x.sizes()[1] == v.sizes()[0], "mv: ", x.sizes(), " and ", v.sizes(),
        " do not multiply: ", x.sizes()[1], " columns and ", v.sizes()[0], " elements");
  check_dtypes(a);
  set_spec(a, {x.sizes()[0]}, out);
}

void mv_kernel(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &v = a[1];
  gemm({.dtype = x.dtype(),
        .batch = 1,
        .m = x.sizes()[0],
        .n = 1,
        .k = x.sizes()[1],
        .a = as_matrix(x),
        .b = {v.data_ptr(), 0, v.strides()[0], 1},
        .c = {},
        .out = out->data_ptr(),
        .device = out->device()});
}

void mv_grad(GradArgs& g) {
  if (g.needs(0)) g.set(0, outer(g.grad(), g.input(1)));
  if (g.needs(1)) g.set(1, mv(g.input(0).t(), g.grad()));
}

const Op mv_op = {.name = "mv",
                  .kind = Kind::Contraction,
                  .infer = mv_infer,
                  .cpu = mv_kernel,
                  .cuda = mv_kernel,
                  .grad = mv_grad,
                  .saves_for = factors_saved,
                  .autocast = Autocast::Lower};

// --- dot ---

void dot_infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &y = a[1];
  check(x.dim() == 1 && y.dim() == 1, "dot: two vectors are needed, got ", x.sizes(), " and ", y.sizes());
  check(x.sizes()[0] == y.sizes()[0], "dot: vectors must have the same size, got ", x.sizes(), " and ",
        y.sizes());
  check_dtypes(a);
  set_spec(a, {}, out);
}

void dot_kernel(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &y = a[1];
  gemm({.dtype = x.dtype(),
        .batch = 1,
        .m = 1,
        .n = 1,
        .k = x.sizes()[0],
        .a = {x.data_ptr(), 0, 1, x.strides()[0]},
        .b = {y.data_ptr(), 0, y.strides()[0], 1},
        .c = {},
        .out = out->data_ptr(),
        .device = out->device()});
}

void dot_grad(GradArgs& g) {
  if (g.needs(0)) g.set(0, mul(g.grad(), g.input(1)));
  if (g.needs(1)) g.set(1, mul(g.grad(), g.input(0)));
}

const Op dot_op = {.name = "dot",
                   .kind = Kind::Contraction,
                   .infer = dot_infer,
                   .cpu = dot_kernel,
                   .cuda = dot_kernel,
                   .grad = dot_grad,
                   .saves_for = factors_saved,
                   .autocast = Autocast::Widest};

// --- matmul over batches ---

void check_matmul(const Tensor& a, const Tensor& b) {
  check(a.dim() > 0 && b.dim() > 0, "matmul: both tensors must have at least 1 dim, got ", a.sizes(), " and ",
        b.sizes());
  int64_t columns = a.sizes().back(), rows = b.sizes()[b.dim() == 1 ? 0 : b.dim() - 2];
  check(columns == rows, "matmul: ", a.sizes(), " and ", b.sizes(), " do not multiply: ", columns, " and ",
        rows);
  // Under autocast the product itself casts them.
  check(a.dtype() == b.dtype() || mode.autocast, "matmul: dtypes differ: ", a.dtype(), " and ", b.dtype(),
        "; convert one with to()");
}

Dims batch_of(const Tensor& x) { return x.sizes().slice(0, size_t(x.dim() - 2)); }

Dims with_matrix(Dims batch, int64_t rows, int64_t cols) {
  batch.push_back(rows);
  batch.push_back(cols);
  return batch;
}

// x as (batch, rows, cols), its batch dims broadcast to `batch`.
Tensor to_batches(const Tensor& x, const Dims& batch) {
  int64_t rows = x.size(-2), cols = x.size(-1), count = numel_of(batch, "matmul");
  return x.expand(with_matrix(batch, rows, cols)).reshape({count, rows, cols});
}

Tensor matmul_batches(const Tensor& a, const Tensor& b) {
  Dims batch = broadcast_sizes(batch_of(a), batch_of(b), "matmul");
  Tensor product = bmm(to_batches(a, batch), to_batches(b, batch));
  return product.view(with_matrix(batch, a.size(-2), b.size(-1)));
}

// A matrix or vector on the right of a batch: all the batch's rows at once.
Tensor matmul_rows(const Tensor& a, const Tensor& b) {
  Dims sizes = a.sizes().slice(0, size_t(a.dim() - 1));
  Tensor rows = a.reshape({numel_of(sizes, "matmul"), a.size(-1)});
  if (b.dim() == 1) return mv(rows, b).view(sizes);
  sizes.push_back(b.size(1));
  return mm(rows, b).view(sizes);
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor mm(const Tensor& a, const Tensor& b) { return dispatch(mm_op, {a, b}); }
Tensor bmm(const Tensor& a, const Tensor& b) { return dispatch(bmm_op, {a, b}); }
Tensor mv(const Tensor& matrix, const Tensor& vector) { return dispatch(mv_op, {matrix, vector}); }
Tensor dot(const Tensor& a, const Tensor& b) { return dispatch(dot_op, {a, b}); }

Tensor outer(const Tensor& a, const Tensor& b) {
  check(a.dim() == 1 && b.dim() == 1, "outer: two vectors are needed, got ", a.sizes(), " and ", b.sizes());
  return mul(a.unsqueeze(1), b.unsqueeze(0));
}

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  check(c.defined(), "addmm: the tensor to add is undefined");
  return dispatch(addmm_op, {a, b, c}, {}, {alpha, beta});
}

Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  check(c.defined(), "baddbmm: the tensor to add is undefined");
  return dispatch(baddbmm_op, {a, b, c}, {}, {alpha, beta});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  if (b.dim() <= 2 && a.dim() > 2) return matmul_rows(a, b);
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(a, b);
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (a.dim() == 1 && b.dim() == 2) return mm(a.unsqueeze(0), b).squeeze(0);
  if (a.dim() == 1) return matmul_batches(a.unsqueeze(0), b).squeeze(-2);
  return matmul_batches(a, b);
}

Tensor Tensor::mm(const Tensor& other) const { return tarn::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tarn::bmm(*this, other); }
Tensor Tensor::mv(const Tensor& other) const { return tarn::mv(*this, other); }
Tensor Tensor::dot(const Tensor& other) const { return tarn::dot(*this, other); }
Tensor Tensor::matmul(const Tensor& other) const { return tarn::matmul(*this, other); }
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  return tarn::addmm(*this, a, b, beta, alpha);
}

}  // namespace tarn::inline v1
