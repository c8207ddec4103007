// Layer normalisation: as batch_norm.cpp, with statistics per row of the last dims.
#include <algorithm>

#include <tarn/core/cpu/isa.h>
#include <tarn/core/cpu/layer_norm.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

TARN_DECLARE_KERNELS(LayerNormKernels, layer_norm_kernels)

namespace tarn::inline v1 {

namespace detail {

namespace {

// Rows whose weight gradients are summed by one thread, in order. At most kMostPieces of them, for memory's
// sake.
constexpr int64_t kPieceElements = 32768;
constexpr int64_t kMostPieces = 64;

struct LayerNormAttrs {
  int64_t dims;  // how many of the last dims are normalised
};

struct Rows {
  int64_t rows = 1, size = 1;
  Rows(const Tensor& x, int64_t dims) {
    for (int d = 0; d < x.dim(); ++d) (d < x.dim() - dims ? rows : size) *= x.sizes()[d];
  }
  bool empty() const { return rows == 0 || size == 0; }
};

template <class T>
const LayerNormTable<T>& table() {
  if constexpr (std::is_same_v<T, float>)
    return layer_norm_kernels().f32;
  else
    return layer_norm_kernels().f64;
}

// x as the kernels take it: row-major, in the compute type.
Tensor prepared(const Tensor& x, ScalarType compute) {
  if (!x.defined()) return x;
  if (x.dtype() == compute) return dense(x);
  Tensor copy = make_tensor(x.sizes(), compute, x.device());
  copy_elements(copy, x);
  return copy;
}

ScalarType compute_type(const Tensor& x) { return x.dtype() == kDouble ? kDouble : kFloat; }

Tensor prepared_output(const Tensor& out, ScalarType compute) {
  return out.dtype() == compute ? out : make_tensor(out.sizes(), compute, out.device());
}

template <class T>
T* data_of(const Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

void infer(const Args& a, Spec* out) {
  const Tensor& x = a[0];
  infer_like_first(a, out);
  int64_t dims = a.attrs<LayerNormAttrs>().dims;
  Dims rows = x.sizes();
  for (int d = int(x.dim() - dims); d < x.dim(); ++d) rows[d] = 1;
  for (int i = 1; i < 3; ++i) {
    out[i].sizes = rows;
    out[i].dtype = kDouble;
    out[i].device = x.device();
  }
}

// Inputs x, weight, bias; outputs y, mean, 1 / sqrt(var + eps).
void cpu(const Args& a, Tensor* out) {
  Rows n(a[0], a.attrs<LayerNormAttrs>().dims);
  if (n.empty()) {
    fill_elements(out[1], 0);
    return fill_elements(out[2], 0);
  }
  ScalarType compute = compute_type(a[0]);
  Tensor x = prepared(a[0], compute), weight = prepared(a[1], compute), bias = prepared(a[2], compute);
  Tensor y = prepared_output(out[0], compute);
  visit_float(compute, "layer_norm", [&]<class T>(Type<T>) {
    parallel_for(0, n.rows, std::max<int64_t>(1, 16384 / n.size), [&](int64_t begin, int64_t end) {
      table<T>().forward(data_of<T>(x) + begin * n.size, data_of<T>(weight), data_of<T>(bias),
                         a.scalar().to_double(), end - begin, n.size, data_of<T>(y) + begin * n.size,
                         data_of<double>(out[1]) + begin, data_of<double>(out[2]) + begin);
    });
  });
  finish_output(out[0], y);
}

void cuda(const Args& a, Tensor* out) {
  Rows n(a[0], a.attrs<LayerNormAttrs>().dims);
  if (n.empty()) {
    fill_elements(out[1], 0);
    return fill_elements(out[2], 0);
  }
  ScalarType compute = compute_type(a[0]);
  Tensor x = row_major(a[0], compute), weight = row_major(a[1], compute), bias = row_major(a[2], compute);
  Tensor y = row_major_output(out[0], compute);
  launch_cuda("layer_norm", &CudaTable::layer_norm,
              LayerNormCall{.compute = compute_of(compute),
                            .x = x.data_ptr(),
                            .weight = address_of(weight),
                            .bias = address_of(bias),
                            .y = y.data_ptr(),
                            .mean = out[1].data_ptr<double>(),
                            .inverse = out[2].data_ptr<double>(),
                            .rows = n.rows,
                            .size = n.size,
                            .eps = a.scalar().to_double()});
  finish_output(out[0], y);
}

// --- backward: inputs gy, x, weight, mean, inverse; outputs gx, gweight, gbias ---

void backward_infer(const Args& a, Spec* out) {
  const Tensor& x = a[1];
  int64_t dims = a.attrs<LayerNormAttrs>().dims;
  for (int i = 0; i < 3; ++i) {
    out[i].sizes = i == 0 ? x.sizes() : x.sizes().slice(size_t(x.dim() - dims));
    out[i].dtype = i > 0 && a[2].defined() ? a[2].dtype() : x.dtype();
    out[i].device = x.device();
  }
}

template <class T>
void backward(const Rows& n, const T* x, const T* gy, const T* weight, const double* mean,
              const double* inverse, T* gx, T* gweight, T* gbias) {
  int64_t piece = std::max<int64_t>(1, kPieceElements / n.size);
  piece = std::max(piece, (n.rows + kMostPieces - 1) / kMostPieces);
  int64_t pieces = (n.rows + piece - 1) / piece;
  Scratch<T> sums(pieces * 2 * n.size);
  parallel_chunks(n.rows, piece, [&](int64_t i, int64_t begin, int64_t end) {
    T* sum = sums.data() + i * 2 * n.size;
    std::fill_n(sum, 2 * n.size, T(0));
    int64_t at = begin * n.size;
    table<T>().backward(x + at, gy + at, weight, mean + begin, inverse + begin, end - begin, n.size, gx + at,
                        sum, sum + n.size);
  });
  parallel_for(0, n.size, 1024, [&](int64_t begin, int64_t end) {
    std::fill(gweight + begin, gweight + end, T(0));
    std::fill(gbias + begin, gbias + end, T(0));
    for (int64_t i = 0; i < pieces; ++i)
      for (int64_t c = begin; c < end; ++c) {
        gweight[c] += sums[i * 2 * n.size + c];
        gbias[c] += sums[(i * 2 + 1) * n.size + c];
      }
  });
}

void backward_cpu(const Args& a, Tensor* out) {
  Rows n(a[1], a.attrs<LayerNormAttrs>().dims);
  if (n.empty()) {
    for (int i = 0; i < 3; ++i) fill_elements(out[i], 0);
    return;
  }
  ScalarType compute = compute_type(a[1]);
  Tensor gy = prepared(a[0], compute), x = prepared(a[1], compute), weight = prepared(a[2], compute);
  Tensor mean = dense(a[3]), inverse = dense(a[4]), made[3];
  for (int i = 0; i < 3; ++i) made[i] = prepared_output(out[i], compute);
  visit_float(compute, "layer_norm", [&]<class T>(Type<T>) {
    backward<T>(n, data_of<T>(x), data_of<T>(gy), data_of<T>(weight), data_of<double>(mean),
                data_of<double>(inverse), data_of<T>(made[0]), data_of<T>(made[1]), data_of<T>(made[2]));
  });
  for (int i = 0; i < 3; ++i) finish_output(out[i], made[i]);
}

void backward_cuda(const Args& a, Tensor* out) {
  Rows n(a[1], a.attrs<LayerNormAttrs>().dims);
  if (n.empty()) {
    for (int i = 0; i < 3; ++i) fill_elements(out[i], 0);
    return;
  }
  ScalarType compute = compute_type(a[1]);
  Tensor gy = row_major(a[0], compute), x = row_major(a[1], compute), weight = row_major(a[2], compute);
  Tensor mean = row_major(a[3], kDouble), inverse = row_major(a[4], kDouble), made[3];
  for (int i = 0; i < 3; ++i) made[i] = row_major_output(out[i], compute);
  launch_cuda("layer_norm_grad", &CudaTable::layer_norm_grad,
              LayerNormGradCall{.compute = compute_of(compute),
                                .gy = gy.data_ptr(),
                                .x = x.data_ptr(),
                                .weight = address_of(weight),
                                .mean = mean.data_ptr<double>(),
                                .inverse = inverse.data_ptr<double>(),
                                .gx = made[0].data_ptr(),
                                .gweight = made[1].data_ptr(),
                                .gbias = made[2].data_ptr(),
                                .rows = n.rows,
                                .size = n.size});
  for (int i = 0; i < 3; ++i) finish_output(out[i], made[i]);
}

// --- the gradient of the gradients ---

void accumulate(Tensor& sum, const Tensor& term) { sum = sum.defined() ? add(sum, term) : term; }

// With P(v) = v - mean(v) - n mean(v n) along a row, n the normalised x and h = gy w: gx = r P(h), gw =
// sum(gy n) and gb = sum(gy) over rows. P is its own transpose, and sum(v n) has the gradient r P(v) with
// respect to x.
void grad_of_backward(GradArgs& g) {
  const Tensor &gy = g.input(0), &x = g.input(1);
  int64_t count = g.attrs<LayerNormAttrs>().dims;
  Dims dims, lead;
  for (int64_t d = 0; d < x.dim(); ++d) (d < x.dim() - count ? lead : dims).push_back(d);
  auto mean_of = [&](const Tensor& v) { return v.mean(dims, true); };
  Tensor centred = sub(x, mean_of(x));
  Tensor r = rsqrt(add(mean_of(square(centred)), g.scalar())), n = mul(centred, r);
  auto project = [&](const Tensor& v) { return sub(sub(v, mean_of(v)), mul(n, mean_of(mul(v, n)))); };
  auto weighted = [&](const Tensor& v) { return g.has_input(2) ? mul(v, g.input(2)) : v; };
  const Tensor &ggx = g.grad(0), &ggw = g.grad(1), &ggb = g.grad(2);

  Tensor to_gy, to_x;
  if (ggx.defined()) {
    Tensor h = weighted(gy), to_h = mul(r, project(ggx)), projected = project(h);
    accumulate(to_gy, weighted(to_h));
    Tensor inner = add(add(mul(n, mean_of(mul(ggx, projected))), mul(mean_of(mul(h, n)), project(ggx))),
                       mul(mean_of(mul(ggx, n)), projected));
    accumulate(to_x, neg(mul(square(r), inner)));
    if (g.needs(2)) g.set(2, mul(gy, to_h));  // autograd sums it over rows
  }
  if (ggw.defined()) {
    accumulate(to_gy, mul(n, ggw));
    accumulate(to_x, mul(r, project(mul(gy, ggw))));
  }
  if (ggb.defined()) accumulate(to_gy, ggb.expand(x.sizes()));
  if (g.needs(0) && to_gy.defined()) g.set(0, to_gy);
  if (g.needs(1) && to_x.defined()) g.set(1, to_x);
}

const Op backward_op = {.name = "layer_norm_grad",
                        .infer = backward_infer,
                        .cpu = backward_cpu,
                        .cuda = backward_cuda,
                        .grad = grad_of_backward,
                        .saves = save_input(0) | save_input(1) | save_input(2),
                        .outputs = 3};

void grad(GradArgs& g) {
  Tensor weight = g.has_input(1) ? g.input(1) : Tensor(), grads[kMaxOutputs];
  dispatch(backward_op, {g.grad(), g.input(0), weight, g.output(1), g.output(2)}, g.attrs<LayerNormAttrs>(),
           g.scalar(), grads);
  for (int i = 0; i < 3; ++i)
    if (g.needs(i)) g.set(i, grads[i]);
}

const Op layer_norm_op = {.name = "layer_norm",
                          .infer = infer,
                          .cpu = cpu,
                          .cuda = cuda,
                          .grad = grad,
                          .saves = save_input(0) | save_input(1) | save_output(1) | save_output(2),
                          .outputs = 3,
                          .differentiable = 1};

void check_parameter(const Tensor& x, const Tensor& t, IntArrayRef shape, const char* name) {
  if (!t.defined()) return;
  check(t.sizes() == shape, "layer_norm: ", name, " ", t.sizes(), " must have the normalized shape ", shape);
  bool fits = t.dtype() == x.dtype() || (t.dtype() == kFloat && element_size(x.dtype()) == 2);
  check(fits, "layer_norm: input is ", x.dtype(), ", ", name, " is ", t.dtype(), "; convert one with to()");
}

}  // namespace

}  // namespace detail

Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  using namespace detail;
  size_t dims = normalized_shape.size();
  check(dims > 0, "layer_norm: the normalized shape must have at least 1 dim");
  check(size_t(x.dim()) >= dims && x.sizes().slice(size_t(x.dim()) - dims) == normalized_shape,
        "layer_norm: input ", x.sizes(), " does not end in the normalized shape ", normalized_shape);
  check(is_floating(x.dtype()), "layer_norm: not implemented for dtype ", x.dtype());
  check_parameter(x, weight, normalized_shape, "weight");
  check_parameter(x, bias, normalized_shape, "bias");
  Tensor out[kMaxOutputs];
  dispatch(layer_norm_op, {x, weight, bias}, LayerNormAttrs{int64_t(dims)}, Scalar(eps), out);
  return out[0];
}

}  // namespace tarn::inline v1
