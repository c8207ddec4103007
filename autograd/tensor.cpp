// The methods of Tensor that concern autograd.
#include <tarn/core/tensor.h>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/meta.h>
#include <tarn/autograd/view.h>
#include <tarn/core/hooks.h>

namespace tarn::inline v1 {

using detail::AutogradMeta;

bool Tensor::requires_grad() const { return detail::needs_history(*this); }

Tensor& Tensor::requires_grad_(bool on) const {
  detail::TensorImpl& impl = get();
  if (on) {
    check(is_floating_point(), "requires_grad_: only floating-point tensors can require grad, this one is ",
          dtype());
    check(!is_inference() || InferenceMode::is_enabled(),
          "requires_grad_: this tensor was made in InferenceMode; call ", "clone() on it outside first");
    detail::meta_of(impl);
  } else {
    check(is_leaf(), "requires_grad_: this tensor has a history (", grad_fn() ? grad_fn()->op_name : "",
          "), only leaves ", "can be switched off; call detach() for a tensor without history");
  }
  impl.set(detail::kRequiresGrad, on);
  return const_cast<Tensor&>(*this);
}

bool Tensor::is_leaf() const { return grad_fn() == nullptr; }

autograd::Node* Tensor::grad_fn() const {
  detail::TensorImpl& impl = get();
  if (impl.view) detail::refresh_view(impl);
  return impl.autograd ? impl.autograd->grad_fn.get() : nullptr;
}

int64_t Tensor::output_nr() const { return grad_fn() ? get().autograd->output_nr : 0; }

Tensor& Tensor::mutable_grad() const { return detail::meta_of(get()).grad; }

const Tensor& Tensor::grad() const {
  static const Tensor none;
  const AutogradMeta* meta = get().autograd;
  return meta ? meta->grad : none;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  autograd::backward({*this}, {gradient}, retain_graph, create_graph);
}

void Tensor::retain_grad() const {
  check(requires_grad(), "retain_grad: this tensor does not require grad");
  autograd::Node* node = grad_fn();
  if (!node) return;
  AutogradMeta& meta = *get().autograd;
  if (meta.retain) return;
  meta.retain = detail::Ref<detail::RetainSlot>::adopt(new detail::RetainSlot);
  meta.retain->meta = &meta;
  detail::hooks_of(*node).retained.push_back({meta.output_nr, meta.retain});
}

bool Tensor::retains_grad() const { return get().autograd && get().autograd->retain; }

Tensor Tensor::_base() const {
  check(is_view(), "_base: this tensor is not a view");
  return Tensor(get().view->base);
}

Tensor& Tensor::detach_() const {
  check(!is_view(),
        "detach_: this tensor is a view, whose history is its base's; use detach() for a tensor without "
        "history");
  detail::TensorImpl& impl = get();
  impl.set(detail::kRequiresGrad, false);
  if (AutogradMeta* meta = impl.autograd) {
    if (meta->retain) detail::drop_retained(*meta);
    meta->hooks.reset();
    meta->grad_fn.reset();
    meta->output_nr = 0;
  }
  return const_cast<Tensor&>(*this);
}

}  // namespace tarn::inline v1
