#include <tarn/core/ops/cross_entropy.h>

#include <vector>

#include <tarn/core/autocast.h>
#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/copy.h>
#include <tarn/core/cpu/reduce.h>
#include <tarn/core/cpu/slices.h>
#include <tarn/core/cpu/softmax_kernels.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

// A position is a place of target; it has a row of C class scores in x, along x's class dim.

namespace tarn::inline v1 {

using namespace detail;

namespace {

struct LossAttrs {
  int64_t reduction, ignore_index;
};

int class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

Dims position_sizes(IntArrayRef sizes) {
  Dims left(sizes);
  left.erase(sizes.size() == 1 ? 0 : 1);
  return left;
}

void check_loss_inputs(const Args& a) {
  const char* op = a.op.name;
  const Tensor &x = a[0], &target = a[1], &weight = a[2];
  check(target.defined(), op, ": the target is undefined");
  check(is_floating(x.dtype()), op, ": the class scores must be floating, got ", x.dtype());
  check(x.dim() >= 1, op, ": needs (N, C), (C) or (N, C, d1, ...), got a tensor without dims");
  check(is_integral(target.dtype()), op, ": class numbers must be integers, got ", target.dtype(),
        "; call to(kLong)");
  check(Dims(target.sizes()) == position_sizes(x.sizes()), op, ": class scores ", x.sizes(),
        " need a target of sizes ", position_sizes(x.sizes()), ", got ", target.sizes());
  if (!weight.defined()) return;
  check(weight.dim() == 1 && weight.numel() == x.sizes()[class_dim(x)], op, ": weight must be a vector of ",
        x.sizes()[class_dim(x)], " numbers, one per class, got sizes ", weight.sizes());
  check(weight.dtype() == x.dtype(), op, ": weight is ", weight.dtype(), ", the class scores are ",
        x.dtype());
}

void check_reduction(const char* op, int64_t reduction) {
  check(reduction >= Reduction::None && reduction <= Reduction::Sum, op,
        ": reduction must be Reduction::None, Mean or Sum, got ", reduction);
}

template <class T>
std::vector<T> values_as(const Tensor& t) {
  std::vector<T> values(size_t(t.numel()));
  Tensor dense = t;
  if (!t.is_contiguous()) {
    dense = make_tensor(t.sizes(), t.dtype(), t.device());
    copy_elements(dense, t);
  }
  row_loader<T>(t.dtype())(values.data(), dense.data_ptr(), 1, t.numel());
  return values;
}

// What both losses read: targets, weights and rows of scores.
template <class T>
class Positions {
 public:
  Positions(const char* op, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index)
      : op_(op),
        x_(x),
        dim_(class_dim(x)),
        ignore_index_(ignore_index),
        sizes_(target.sizes()),
        target_(values_as<int64_t>(target)) {
    if (weight.defined()) weight_ = values_as<T>(weight);
  }

  int64_t classes() const { return x_.sizes()[dim_]; }
  int64_t count() const { return int64_t(target_.size()); }
  const T* weights() const { return weight_.empty() ? nullptr : weight_.data(); }
  T weight(int64_t c) const { return weight_.empty() ? T(1) : weight_[size_t(c)]; }
  double weight_sum() const {
    if (weight_.empty()) return double(classes());
    double sum = 0;
    for (T w : weight_) sum += w;
    return sum;
  }

  // The class at position i; -1 if it is ignored.
  int64_t target(int64_t i) const {
    int64_t t = target_[size_t(i)];
    if (t == ignore_index_ && !fault(12)) return -1;
    check(t >= 0 && t < classes(), op_, ": target ", t, " at position ", i, " of sizes ", sizes_,
          " is not one of ", classes(), " classes");
    return t;
  }

  // Calls f(i, row, walk) for positions [begin, end); `row` is x's row as neighbours of type T. Operand 1 of
  // the walk is `out`.
  template <class F>
  void for_rows(const Tensor& out, int64_t begin, int64_t end, F f) const {
    SliceWalk<2> walk(x_.sizes(), dim_, {x_.strides(), out.strides()}, begin);
    std::vector<T> buffer;
    int64_t step = x_.strides()[dim_];
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      const char* at = static_cast<const char*>(x_.data_ptr()) + walk.offset(0) * int64_t(x_.element_size());
      const T* row = reinterpret_cast<const T*>(at);
      if (x_.dtype() != dtype_of<T> || step != 1) {
        buffer.resize(size_t(classes()));
        row_loader<T>(x_.dtype())(buffer.data(), at, step, classes());
        row = buffer.data();
      }
      f(i, row, walk.offset(1));
    }
  }

  int64_t grain() const { return std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, classes())); }

 private:
  const char* op_;
  const Tensor& x_;
  int dim_;
  int64_t ignore_index_;
  Dims sizes_;
  std::vector<int64_t> target_;
  std::vector<T> weight_;
};

template <class T>
T sum_of(const Tensor& values) {
  T sum = 0;
  reduce_elements<T>(values, (DimSet(1) << values.dim()) - 1, {ReduceKind::Sum}, &sum);
  return sum;
}

// From one loss and weight per position to outputs loss and total weight.
template <class T>
void finish_loss(const Tensor& losses, const Tensor& weights, int64_t reduction, const Tensor& loss,
                 const Tensor& total) {
  T weight = sum_of<T>(weights);
  fill_elements(total, weight);
  if (reduction == Reduction::None) return copy_elements(loss, losses);
  T sum = sum_of<T>(losses);
  fill_elements(loss, reduction == Reduction::Mean ? sum / weight : sum);
}

template <class F>
void visit_loss(const Tensor& x, F f) {
  if (x.dtype() == kDouble)
    f(Type<double>{});
  else
    f(Type<float>{});
}

ScalarType compute_dtype(const Tensor& x) { return x.dtype() == kDouble ? kDouble : kFloat; }

// --- nll_loss: outputs loss, total weight ---

void nll_infer(const Args& a, Spec* out) {
  check_loss_inputs(a);
  out[0].dtype = a[0].dtype();
  out[0].device = out[1].device = a[0].device();
  if (a.attrs<LossAttrs>().reduction == Reduction::None) out[0].sizes = position_sizes(a[0].sizes());
  out[1].dtype = compute_dtype(a[0]);
}

void nll_cpu(const Args& a, Tensor* out) {
  const auto& attrs = a.attrs<LossAttrs>();
  visit_loss(a[0], [&]<class T>(Type<T>) {
    Positions<T> positions("nll_loss", a[0], a[1], a[2], attrs.ignore_index);
    Tensor losses = make_tensor(a[1].sizes(), dtype_of<T>), weights = make_tensor(a[1].sizes(), dtype_of<T>);
    T* loss = losses.data_ptr<T>();
    T* weight = weights.data_ptr<T>();
    parallel_for(0, positions.count(), 1 << 12, [&](int64_t begin, int64_t end) {
      SliceWalk<1> walk(a[0].sizes(), class_dim(a[0]), {a[0].strides()}, begin);
      for (int64_t i = begin; i < end; ++i, walk.next()) {
        int64_t t = positions.target(i);
        weight[i] = t < 0 ? T(0) : positions.weight(t);
        int64_t at = t < 0 ? 0 : walk.offset(0) + t * a[0].strides()[class_dim(a[0])];
        T score = 0;
        if (t >= 0) {
          row_loader<T>(a[0].dtype())(
              &score, static_cast<char*>(a[0].data_ptr()) + at * int64_t(a[0].element_size()), 1, 1);
        }
        loss[i] = t < 0 ? T(0) : -weight[i] * score;
      }
    });
    finish_loss<T>(losses, weights, attrs.reduction, out[0], out[1]);
  });
}

void nll_cuda(const Args& a, Tensor* out) {
  NoGradGuard no_grad;
  const auto& attrs = a.attrs<LossAttrs>();
  ScalarType dtype = compute_dtype(a[0]);
  int dim = class_dim(a[0]);
  Tensor x = converted(a[0], dtype), target = converted(a[1], kLong), used = ne(target, attrs.ignore_index);
  Tensor place = mul(target, cast(used, kLong)), weight = cast(used, dtype);
  if (a[2].defined())
    weight = mul(weight, reshape(gather(converted(a[2], dtype), 0, reshape(place, {-1})), target.sizes()));
  Tensor losses = neg(mul(weight, squeeze(gather(x, dim, unsqueeze(place, dim)), dim)));
  // What gather makes of a target that is no class is NaN, unless nothing is to be read there.
  losses = masked_fill(losses, logical_not(used), 0);
  Tensor total = sum(weight), loss = losses;
  if (attrs.reduction != Reduction::None) loss = sum(losses);
  if (attrs.reduction == Reduction::Mean) loss = div(loss, total);
  copy_elements(out[0], loss);
  copy_elements(out[1], total);
}

// What each position's target, its weight and the gradient of its loss are, as tensors of target's sizes.
struct PositionTensors {
  Tensor target, weight, grad;  // 0 where ignored
};

PositionTensors position_tensors(const GradArgs& g, const Tensor& total, ScalarType dtype) {
  const auto& attrs = g.attrs<LossAttrs>();
  Tensor target = cast(g.input(1), kLong);
  Tensor used = ne(target, attrs.ignore_index);
  PositionTensors p;
  p.target = mul(target, cast(used, kLong));
  Tensor mask = cast(used, dtype);
  p.grad = attrs.reduction == Reduction::Mean ? div(g.grad(), cast(total, g.grad().dtype())) : g.grad();
  p.grad = mul(p.grad, mask);
  p.weight = g.has_input(2)
                 ? mul(reshape(index_select(g.input(2), 0, reshape(p.target, {-1})), target.sizes()), mask)
                 : mask;
  return p;
}

void nll_grad(GradArgs& g) {
  const Dims& sizes = g.input_sizes(0);
  int dim = sizes.size() == 1 ? 0 : 1;
  PositionTensors p = position_tensors(g, g.output(1), g.input_dtype(0));
  Tensor pull = neg(mul(p.grad, p.weight));
  g.set(0, zeros(sizes, pull.options()).scatter_add(dim, unsqueeze(p.target, dim), unsqueeze(pull, dim)));
}

const Op nll_op = {.name = "nll_loss",
                   .infer = nll_infer,
                   .cpu = nll_cpu,
                   .cuda = nll_cuda,
                   .grad = nll_grad,
                   .saves = save_input(1) | save_input(2) | save_output(1),
                   .outputs = 2,
                   .differentiable = 1,
                   .autocast = Autocast::Float32};

// --- cross_entropy: outputs loss, log_sum_exp of each position's row, total weight; scalar label_smoothing
// ---

void cross_entropy_infer(const Args& a, Spec* out) {
  check_loss_inputs(a);
  for (int i = 0; i < 3; ++i) {
    out[i].dtype = i == 0 ? a[0].dtype() : compute_dtype(a[0]);
    out[i].device = a[0].device();
  }
  out[1].sizes = position_sizes(a[0].sizes());
  if (a.attrs<LossAttrs>().reduction == Reduction::None) out[0].sizes = out[1].sizes;
}

void cross_entropy_cpu(const Args& a, Tensor* out) {
  const auto& attrs = a.attrs<LossAttrs>();
  visit_loss(a[0], [&]<class T>(Type<T>) {
    Positions<T> positions("cross_entropy", a[0], a[1], a[2], attrs.ignore_index);
    Tensor losses = make_tensor(a[1].sizes(), dtype_of<T>), weights = make_tensor(a[1].sizes(), dtype_of<T>);
    T *loss = losses.data_ptr<T>(), *weight = weights.data_ptr<T>(), *lse = out[1].data_ptr<T>();
    T smoothing = T(a.scalar().to_double()), spread = smoothing / T(positions.classes());
    T weight_sum = T(positions.weight_sum());
    const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
    parallel_for(0, positions.count(), positions.grain(), [&](int64_t begin, int64_t end) {
      positions.for_rows(a[0], begin, end, [&](int64_t i, const T* row, int64_t) {
        int64_t t = positions.target(i), n = positions.classes();
        lse[i] = t < 0 ? T(0) : kernels.log_sum_exp(row, n);
        weight[i] = t < 0 ? T(0) : positions.weight(t);
        loss[i] = t < 0 ? T(0) : (1 - smoothing) * weight[i] * (lse[i] - row[t]);
        if (t < 0 || smoothing == 0) return;
        T others = 0;
        for (int64_t c = 0; c < n; ++c) others += positions.weight(c) * row[c];
        loss[i] += spread * (weight_sum * lse[i] - others);
      });
    });
    finish_loss<T>(losses, weights, attrs.reduction, out[0], out[2]);
  });
}

// (N, C, d1, ...) as (N, C, d1 * ...).
struct Positioning {
  int64_t outer, classes, inner;
  explicit Positioning(const Tensor& x)
      : outer(x.dim() == 1 ? 1 : x.sizes()[0]), classes(x.sizes()[class_dim(x)]), inner(1) {
    for (int d = class_dim(x) + 1; d < x.dim(); ++d) inner *= x.sizes()[d];
  }
};

void cross_entropy_cuda(const Args& a, Tensor* out) {
  const auto& attrs = a.attrs<LossAttrs>();
  ScalarType dtype = compute_dtype(a[0]);
  Positioning p(a[0]);
  Tensor x = row_major(a[0], dtype), target = row_major(a[1], kLong), weight = row_major(a[2], dtype);
  bool each = attrs.reduction == Reduction::None;
  Tensor loss = row_major_output(out[0], dtype);
  Tensor losses = each ? loss : make_tensor(a[1].sizes(), dtype, x.device());
  Tensor weights = make_tensor(a[1].sizes(), dtype, x.device());
  launch_cuda("cross_entropy", &CudaTable::cross_entropy,
              CrossEntropyCall{.compute = compute_of(dtype),
                               .x = x.data_ptr(),
                               .target = static_cast<const int64_t*>(target.data_ptr()),
                               .weight = address_of(weight),
                               .losses = losses.data_ptr(),
                               .weights = weights.data_ptr(),
                               .log_sums = out[1].data_ptr(),
                               .loss = each ? nullptr : loss.data_ptr(),
                               .total = out[2].data_ptr(),
                               .outer = p.outer,
                               .classes = p.classes,
                               .inner = p.inner,
                               .ignore_index = attrs.ignore_index,
                               .smoothing = a.scalar().to_double(),
                               .reduction = int(attrs.reduction)});
  finish_output(out[0], loss);
}

void cross_entropy_backward_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  const auto& attrs = a.attrs<LossAttrs>();
  ScalarType dtype = compute_dtype(a[1]);
  Positioning p(a[1]);
  Tensor grad = row_major(a[0], dtype), x = row_major(a[1], dtype), target = row_major(a[2], kLong);
  Tensor weight = row_major(a[3], dtype), dx = row_major_output(*out, dtype);
  launch_cuda("cross_entropy_backward", &CudaTable::cross_entropy_grad,
              CrossEntropyGradCall{.compute = compute_of(dtype),
                                   .out = dx.data_ptr(),
                                   .grad = grad.data_ptr(),
                                   .x = x.data_ptr(),
                                   .target = static_cast<const int64_t*>(target.data_ptr()),
                                   .weight = address_of(weight),
                                   .log_sums = a[4].data_ptr(),
                                   .total = a[5].data_ptr(),
                                   .outer = p.outer,
                                   .classes = p.classes,
                                   .inner = p.inner,
                                   .ignore_index = attrs.ignore_index,
                                   .smoothing = a.scalar().to_double(),
                                   .reduction = int(attrs.reduction)});
  finish_output(*out, dx);
}

// Inputs: gradient of the loss, x, target, weight, log_sum_exp, total weight. In one pass over x:
// dx[c] = g ((1 - e) w[t] + e / C sum(w)) softmax(x)[c] - g e / C w[c], and at t less g (1 - e) w[t].
void cross_entropy_backward_cpu(const Args& a, Tensor* out) {
  const auto& attrs = a.attrs<LossAttrs>();
  visit_loss(a[1], [&]<class T>(Type<T>) {
    Positions<T> positions("cross_entropy", a[1], a[2], a[3], attrs.ignore_index);
    std::vector<T> grads = values_as<T>(a[0]);
    const T *lse = a[4].const_data_ptr<T>(), total = *a[5].const_data_ptr<T>();
    T smoothing = T(a.scalar().to_double()), spread = smoothing / T(positions.classes());
    T weight_sum = T(positions.weight_sum());
    const SoftmaxKernels<T>& kernels = softmax_kernels().get<T>();
    int64_t n = positions.classes(), step = out->strides()[class_dim(a[1])];
    bool direct = out->dtype() == dtype_of<T> && step == 1;
    parallel_for(0, positions.count(), positions.grain(), [&](int64_t begin, int64_t end) {
      std::vector<T> buffer(direct ? 0 : size_t(n));
      positions.for_rows(*out, begin, end, [&](int64_t i, const T* row, int64_t offset) {
        char* at = static_cast<char*>(out->data_ptr()) + offset * int64_t(out->element_size());
        T* to = direct ? reinterpret_cast<T*>(at) : buffer.data();
        int64_t t = positions.target(i);
        if (t < 0) {
          std::fill(to, to + n, T(0));
        } else {
          T g = grads[grads.size() == 1 ? 0 : size_t(i)];
          if (attrs.reduction == Reduction::Mean) g /= total;
          T own = g * (1 - smoothing) * positions.weight(t);
          kernels.cross_entropy_grad(to, row, lse[i], own + g * spread * weight_sum, g * spread,
                                     positions.weights(), n);
          to[t] -= own;
        }
        if (!direct) row_storer<T>(out->dtype())(at, to, step, n);
      });
    });
  });
}

void cross_entropy_backward_infer(const Args& a, Spec* out) {
  out->sizes = a[1].sizes();
  out->strides = strides_like(a[1]);
  out->dtype = a[1].dtype();
  out->device = a[1].device();
}

const Op cross_entropy_backward_op = {.name = "cross_entropy_backward",
                                      .infer = cross_entropy_backward_infer,
                                      .cpu = cross_entropy_backward_cpu,
                                      .cuda = cross_entropy_backward_cuda};

// The same in public ops, for when the gradient itself will be differentiated.
Tensor cross_entropy_backward_by_ops(GradArgs& g) {
  const Tensor& x = g.input(0);
  int dim = class_dim(x);
  double smoothing = g.scalar().to_double(), spread = smoothing / double(x.sizes()[dim]);
  PositionTensors p = position_tensors(g, g.output(2), x.dtype());
  Tensor own = mul(mul(p.grad, p.weight), 1 - smoothing);
  Tensor dx =
      zeros(x.sizes(), x.options()).scatter_add(dim, unsqueeze(p.target, dim), unsqueeze(neg(own), dim));
  if (smoothing == 0) return add(dx, mul(softmax(x, dim), unsqueeze(own, dim)));
  Dims one(int(x.dim()), 1);
  one[dim] = x.sizes()[dim];
  Tensor weights = g.has_input(2) ? reshape(g.input(2), one) : ones(one, x.options());
  Tensor scale = add(own, mul(mul(p.grad, spread), sum(weights)));
  dx = add(dx, mul(softmax(x, dim), unsqueeze(scale, dim)));
  return sub(dx, mul(unsqueeze(mul(p.grad, spread), dim), weights));
}

void cross_entropy_grad(GradArgs& g) {
  if (GradMode::is_enabled()) return g.set(0, cross_entropy_backward_by_ops(g));
  Tensor weight = g.has_input(2) ? g.input(2) : Tensor();
  g.set(0, dispatch(cross_entropy_backward_op,
                    {g.grad(), g.input(0), g.input(1), weight, g.output(1), g.output(2)},
                    LossAttrs(g.attrs<LossAttrs>()), g.scalars));
}

const Op cross_entropy_op = {
    .name = "cross_entropy",
    .infer = cross_entropy_infer,
    .cpu = cross_entropy_cpu,
    .cuda = cross_entropy_cuda,
    .grad = cross_entropy_grad,
    .saves = save_input(0) | save_input(1) | save_input(2) | save_output(1) | save_output(2),
    .outputs = 3,
    .differentiable = 1,
    .autocast = Autocast::Float32};

// Targets that are probabilities: -sum over classes of weight * target * log_softmax(x).
Tensor cross_entropy_of_probabilities(const Tensor& logits, Tensor target, const Tensor& weight,
                                      int64_t reduction, double label_smoothing) {
  Tensor x = autocast_to_float(logits);
  int dim = class_dim(x);
  int64_t classes = x.sizes()[dim];
  if (label_smoothing > 0) target = add(mul(target, 1 - label_smoothing), label_smoothing / double(classes));
  Tensor products = mul(log_softmax(x, dim), target);
  if (weight.defined()) {
    check(weight.dim() == 1 && weight.numel() == classes, "cross_entropy: weight must be a vector of ",
          classes, " numbers, one per class, got sizes ", weight.sizes());
    Dims one(int(x.dim()), 1);
    one[dim] = classes;
    products = mul(products, reshape(weight, one));
  }
  if (reduction == Reduction::None) return neg(sum(products, dim));
  Tensor total = neg(sum(products));
  return reduction == Reduction::Sum ? total : div(total, double(x.numel()) / double(classes));
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  check_reduction("nll_loss", reduction);
  Tensor out[2];
  dispatch(nll_op, {x, target, weight}, LossAttrs{reduction, ignore_index}, {}, out);
  return out[0];
}

Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  check_reduction("cross_entropy", reduction);
  check(label_smoothing >= 0 && label_smoothing <= 1,
        "cross_entropy: label_smoothing must be between 0 and 1, got ", label_smoothing);
  if (target.defined() && is_floating(target.dtype()) && x.dim() > 0 && x.sizes() == target.sizes())
    return cross_entropy_of_probabilities(x, target, weight, reduction, label_smoothing);
  Tensor out[3];
  dispatch(cross_entropy_op, {x, target, weight}, LossAttrs{reduction, ignore_index}, Scalar(label_smoothing),
           out);
  return out[0];
}

}  // namespace tarn::inline v1
