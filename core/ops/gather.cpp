// gather, scatter and scatter_add: one index per element, along one dim.
#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/along_dim.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// Along `dim` of x; `other` has index's sizes. An index that lies outside of x gives all bits set (NaN), or
// nothing is written: a kernel cannot throw.
void index_cuda(const char* op, IndexKind kind, const Tensor& index, const Tensor& other, const Tensor& x,
                int64_t dim) {
  if (index.numel() == 0) return;
  Dims sizes(index.sizes()), x_strides = without_dim(x.strides(), dim);
  Dims index_strides = without_dim(index.strides(), dim), other_strides = without_dim(other.strides(), dim);
  if (!sizes.empty()) sizes[int(dim)] = 1;
  bool gathers = kind == IndexKind::Gather;
  IndexCall call{};
  call.kind = kind;
  call.type = Elem(x.dtype());
  call.to = gathers ? other.data_ptr() : x.data_ptr();
  call.from = gathers ? x.data_ptr() : other.data_ptr();
  call.index = index.data_ptr<int64_t>();
  call.n = size_at(index, dim);
  call.index_step = stride_at(index, dim);
  call.other_step = stride_at(other, dim);
  call.size = size_at(x, dim);
  call.x_step = stride_at(x, dim);
  call.skip = -1;
  call.lines =
      walk_of<3>(sizes, {IntArrayRef(index_strides), IntArrayRef(other_strides), IntArrayRef(x_strides)});
  launch_cuda(op, &CudaTable::index, call);
}

// --- gather: inputs x, index ---

void gather_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->sizes = a[1].sizes();
}

void gather_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  visit_bytes(a[0].dtype(), [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out->data_ptr());
    const T* from = static_cast<const T*>(a[0].data_ptr());
    for_indexed("gather", a[1], *out, a[0], a.attrs<DimAttrs>().dim,
                [&](int64_t o, int64_t i) { to[o] = from[i]; });
  });
}

void gather_cuda(const Args& a, Tensor* out) {
  index_cuda("gather", IndexKind::Gather, a[1], *out, a[0], a.attrs<DimAttrs>().dim);
}

void gather_grad(GradArgs& g) {
  Tensor zero = make_tensor(g.input_sizes(0), g.grad().dtype(), g.grad().device());
  fill_elements(zero, 0);
  g.set(0, scatter_add(zero, g.attrs<DimAttrs>().dim, g.input(1), g.grad()));
}

const Op gather_op = {.name = "gather",
                      .infer = gather_infer,
                      .cpu = gather_cpu,
                      .cuda = gather_cuda,
                      .grad = gather_grad,
                      .saves = save_input(1)};

// --- scatter, scatter_add: inputs x, index, src of index's sizes ---

template <bool add>
void scatter_cpu(const Args& a, Tensor* out) {
  if (!a.inplace) copy_elements(*out, a[0]);
  if (a[1].numel() == 0) return;
  visit(a[0].dtype(), a.op.name, [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out->data_ptr());
    const T* from = static_cast<const T*>(a[2].data_ptr());
    for_indexed(a.op.name, a[1], a[2], *out, a.attrs<DimAttrs>().dim, [&](int64_t s, int64_t o) {
      if constexpr (add && std::is_integral_v<T>)
        to[o] = T(uint64_t(to[o]) + uint64_t(from[s]));  // wraps
      else if constexpr (add)
        to[o] = T(to[o] + from[s]);
      else
        to[o] = from[s];
    });
  });
}

template <bool add>
void scatter_cuda(const Args& a, Tensor* out) {
  if (!a.inplace) copy_elements(*out, a[0]);
  // Sums are made in the compute type.
  ScalarType dtype = add ? compute_dtype_of(out->dtype()) : out->dtype();
  Tensor target = converted(*out, dtype), src = converted(a[2], dtype);
  index_cuda(a.op.name, add ? IndexKind::ScatterAdd : IndexKind::Scatter, a[1], src, target,
             a.attrs<DimAttrs>().dim);
  finish_output(*out, target);
}

void scatter_add_grad(GradArgs& g) {
  if (g.needs(0)) g.set(0, g.grad());
  if (g.needs(2)) g.set(2, gather(g.grad(), g.attrs<DimAttrs>().dim, g.input(1)));
}

void scatter_grad(GradArgs& g) {
  int64_t dim = g.attrs<DimAttrs>().dim;
  if (g.needs(0)) g.set(0, scatter(g.grad(), dim, g.input(1), 0));
  if (g.needs(2)) g.set(2, gather(g.grad(), dim, g.input(1)));
}

const Op scatter_add_op = {.name = "scatter_add",
                           .infer = infer_like_first,
                           .cpu = scatter_cpu<true>,
                           .cuda = scatter_cuda<true>,
                           .grad = scatter_add_grad,
                           .saves = save_input(1),
                           .inplace = true};

const Op scatter_op = {.name = "scatter",
                       .infer = infer_like_first,
                       .cpu = scatter_cpu<false>,
                       .cuda = scatter_cuda<false>,
                       .grad = scatter_grad,
                       .saves = save_input(1),
                       .inplace = true};

Tensor filled_like_index(const Tensor& x, const Tensor& index, const Scalar& value) {
  Tensor one = make_tensor({}, x.dtype(), x.device());
  fill_elements(one, value);
  return expand(one, index.sizes());
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  int d = wrap_dim(dim, x.dim(), "gather");
  return dispatch(gather_op, {x, checked_index("gather", x, d, index)}, DimAttrs{d});
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  Scatter s = prepare("scatter_add", x, dim, index, src);
  return dispatch(scatter_add_op, {x, s.index, s.src}, DimAttrs{s.dim});
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  Scatter s = prepare("scatter", x, dim, index, src);
  return dispatch(scatter_op, {x, s.index, s.src}, DimAttrs{s.dim});
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter(x, dim, index, filled_like_index(x, index, value));
}

Tensor Tensor::gather(int64_t dim, const Tensor& index) const { return tarn::gather(*this, dim, index); }

Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tarn::scatter_add(*this, dim, index, src);
}

Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const {
  Scatter s = prepare("scatter_add_", *this, dim, index, src);
  dispatch_inplace(scatter_add_op, {*this, s.index, s.src}, DimAttrs{s.dim});
  return const_cast<Tensor&>(*this);
}

Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tarn::scatter(*this, dim, index, src);
}

Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
  return tarn::scatter(*this, dim, index, value);
}

Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src) const {
  Scatter s = prepare("scatter_", *this, dim, index, src);
  dispatch_inplace(scatter_op, {*this, s.index, s.src}, DimAttrs{s.dim});
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scatter_(dim, index, filled_like_index(*this, index, value));
}

}  // namespace tarn::inline v1
