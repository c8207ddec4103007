#include <tarn/optim/sweep.h>

#include <tarn/core/ops/copy.h>

namespace tarn::inline v1::optim {

Tensor zeros_in_layout_of(const Tensor& x) {
  return detail::make_tensor(x.sizes(), x.strides(), x.dtype(), x.device()).zero_();
}

Tensor in_layout_of(const Tensor& x, const Tensor& like) {
  if (x.is_contiguous() && like.is_contiguous()) return x;
  if (detail::strides_like(like).empty()) return x.contiguous();
  if (x.strides() == like.strides()) return x;
  Tensor out = detail::make_tensor(like.sizes(), like.strides(), x.dtype(), x.device());
  return out.copy_(x);
}

Tensor usable_grad(const char* optimizer, const Tensor& param) {
  const Tensor& grad = param.grad();
  check(param.is_cpu(), optimizer, ": not implemented on ", param.device());
  check(grad.sizes() == param.sizes(), optimizer, ": the gradient has sizes ", grad.sizes(),
        ", its parameter ", param.sizes());
  check(grad.device() == param.device(), optimizer, ": the gradient is on ", grad.device(),
        ", its parameter on ", param.device());
  return grad.to(param.dtype());
}

detail::UpdateKernel kernel_for(const char* optimizer, const detail::UpdateKernels& kernels,
                                ScalarType dtype) {
  switch (dtype) {
    case kFloat:
      return kernels.f32;
    case kDouble:
      return kernels.f64;
    case kHalf:
      return kernels.f16;
    case kBFloat16:
      return kernels.bf16;
    default:
      fail(optimizer, ": parameters must be of a floating dtype, got ", dtype);
  }
}

}  // namespace tarn::inline v1::optim
