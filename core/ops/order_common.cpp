#include <tarn/core/ops/order_common.h>

#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1::detail {

void choose_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<OrderAttrs>();
  const Tensor& x = a[0];
  int dim = int(attrs.dim);
  check(x.dim() == 0 || x.sizes()[dim] > 0, a.op.name, ": dim ", dim, " of a tensor of shape ", x.sizes(),
        " is empty");
  DimSet dims = x.dim() == 0 ? 0 : DimSet(1) << dim;
  for (int i = 0; i < 2; ++i) {
    out[i].sizes = reduced_sizes(x.sizes(), dims, attrs.keepdim);
    out[i].dtype = i == 0 ? x.dtype() : kLong;
    out[i].device = x.device();
  }
}

void order_grad(GradArgs& g) {
  int64_t dim = g.attrs<OrderAttrs>().dim;
  const Dims& sizes = g.input_sizes(0);
  Tensor grad = g.grad(), places = g.output(1);
  if (sizes.empty()) return g.set(0, grad);
  if (grad.dim() < sizes.size()) {
    grad = unsqueeze(grad, dim);
    places = unsqueeze(places, dim);
  }
  g.set(0, scatter_add(zeros(sizes, grad.options()), dim, places, grad));
}

void run_on_cpu(const Args& a, Tensor* out, void (*cpu)(const Args& a, Tensor* out)) {
  NoGradGuard no_grad;
  std::vector<Tensor> moved;
  for (const In& in : a.inputs) moved.push_back((*in).defined() ? (*in).cpu() : *in);
  std::vector<In> inputs(moved.begin(), moved.end());
  Tensor results[kMaxOutputs];
  for (int i = 0; i < a.op.outputs; ++i) results[i] = make_tensor(out[i].sizes(), out[i].dtype());
  cpu({a.op, {inputs.data(), inputs.size()}, a.attributes, a.scalars}, results);
  for (int i = 0; i < a.op.outputs; ++i) out[i].copy_(results[i]);
}

Dims strides_along(const Tensor& out, const Tensor& x, int64_t dim) {
  Dims strides = out.strides();
  if (out.dim() < x.dim()) strides.insert(int(dim), 0);
  return strides;
}

}  // namespace tarn::inline v1::detail
