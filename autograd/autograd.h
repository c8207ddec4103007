// Autograd's public face: backward(), grad() and the hooks of tensors, with libtorch's signatures.
#pragma once

#include <tarn/autograd/node.h>
#include <tarn/core/function.h>

namespace tarn::inline v1 {

namespace autograd {

// Adds the gradients of `tensors` to .grad of the leaves that require grad; with `inputs`, of those tensors
// only. grad_tensors[i] is the gradient of tensors[i] and may be left undefined for a tensor of one element
// (then it is 1). The graph's saved tensors are freed on the way unless retain_graph (default: create_graph).
// With create_graph the gradients themselves have a history.
TARN_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                       std::optional<bool> retain_graph = {}, bool create_graph = false,
                       const variable_list& inputs = {});

// The gradients of the sum of outputs[i] * grad_outputs[i] with respect to `inputs`. An Error if an input was
// not used, unless allow_unused: then its gradient is undefined.
TARN_API variable_list grad(const variable_list& outputs, const variable_list& inputs,
                            const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = {},
                            bool create_graph = false, bool allow_unused = false);

// Calls hook(leaf) each time a backward has added to leaf.grad(). Returns the index for
// remove_post_accumulate_grad_hook.
TARN_API unsigned register_post_accumulate_grad_hook(const Tensor& leaf,
                                                     detail::Function<void(const Tensor&)> hook);
TARN_API void remove_post_accumulate_grad_hook(const Tensor& leaf, unsigned index);

}  // namespace autograd

namespace detail {
TARN_API unsigned add_tensor_hook(const Tensor& t, Function<Tensor(const Tensor&)> hook);
}

template <class Hook>
unsigned Tensor::register_hook(Hook&& hook) const {
  if constexpr (std::is_void_v<std::invoke_result_t<Hook&, Tensor>>)
    return detail::add_tensor_hook(*this, [hook = std::forward<Hook>(hook)](const Tensor& grad) mutable {
      hook(grad);
      return Tensor();
    });
  else
    return detail::add_tensor_hook(*this, std::forward<Hook>(hook));
}

}  // namespace tarn::inline v1
