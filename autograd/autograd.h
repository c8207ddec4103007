// Autograd's public face: backward(), grad() and the hooks of tensors, with libtorch's signatures.
#pragma once

#include <mutex>

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

// Owns a hook: removes it at its end, or when remove() is called. Safe to use while another thread runs the
// hook, which it then does not wait for.
class TARN_API RemovableHandle {
 public:
  RemovableHandle() = default;
  explicit RemovableHandle(detail::Function<void()> remove) : remove_(std::move(remove)) {}
  RemovableHandle(RemovableHandle&& other) noexcept { swap(other); }
  RemovableHandle& operator=(RemovableHandle other) noexcept {
    swap(other);
    return *this;
  }
  ~RemovableHandle() { remove(); }
  void remove();
  // The hook stays for good.
  void keep() { remove_ = {}; }

 private:
  void swap(RemovableHandle& other) noexcept { std::swap(remove_, other.remove_); }
  detail::Function<void()> remove_;
};

// As Tensor::register_hook() and register_post_accumulate_grad_hook(), owned by what they return.
template <class Hook>
[[nodiscard]] RemovableHandle scoped_hook(const Tensor& t, Hook hook);
template <class Hook>
[[nodiscard]] RemovableHandle scoped_post_accumulate_grad_hook(const Tensor& leaf, Hook hook);
// hook(grad_inputs, grad_outputs) after the node's gradients were computed; hook(grad_outputs) before. Each
// may return a list that replaces its first argument. t.grad_fn() is a tensor's node.
template <class Hook>
[[nodiscard]] RemovableHandle scoped_hook(Node* node, Hook hook);
template <class Hook>
[[nodiscard]] RemovableHandle scoped_pre_hook(Node* node, Hook hook);

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

namespace detail {

// A hook that can be taken away: what is registered stays, and does nothing from then on.
template <class Signature>
class HookSlot {
 public:
  explicit HookSlot(Function<Signature> f) : f_(std::move(f)) {}
  Function<Signature> get() const {
    std::lock_guard lock(mutex_);
    return f_;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    f_ = {};
  }

 private:
  mutable std::mutex mutex_;
  Function<Signature> f_;
};

template <class Signature, class Hook>
std::shared_ptr<HookSlot<Signature>> hook_slot(Hook hook) {
  return std::make_shared<HookSlot<Signature>>(Function<Signature>(std::move(hook)));
}

template <class Slot>
autograd::RemovableHandle handle_of(std::shared_ptr<Slot> slot) {
  return autograd::RemovableHandle([slot = std::move(slot)] { slot->clear(); });
}

using NodeHook = autograd::variable_list(const autograd::variable_list&, const autograd::variable_list&);
using NodePreHook = autograd::variable_list(const autograd::variable_list&);
TARN_API autograd::RemovableHandle add_node_hook(Node* node, Function<NodeHook> hook);
TARN_API autograd::RemovableHandle add_node_pre_hook(Node* node, Function<NodePreHook> hook);

}  // namespace detail

namespace autograd {

template <class Hook>
RemovableHandle scoped_hook(const Tensor& t, Hook hook) {
  using Result = std::invoke_result_t<Hook&, const Tensor&>;
  auto slot = tarn::detail::hook_slot<Result(const Tensor&)>(std::move(hook));
  t.register_hook([slot](const Tensor& grad) -> Tensor {
    auto f = slot->get();
    if constexpr (std::is_void_v<Result>)
      return f ? (f(grad), Tensor()) : Tensor();
    else
      return f ? Tensor(f(grad)) : Tensor();
  });
  return tarn::detail::handle_of(std::move(slot));
}

template <class Hook>
RemovableHandle scoped_post_accumulate_grad_hook(const Tensor& leaf, Hook hook) {
  auto slot = tarn::detail::hook_slot<void(const Tensor&)>(std::move(hook));
  register_post_accumulate_grad_hook(leaf, [slot](const Tensor& t) {
    if (auto f = slot->get()) f(t);
  });
  return tarn::detail::handle_of(std::move(slot));
}

template <class Hook>
RemovableHandle scoped_hook(Node* node, Hook hook) {
  return tarn::detail::add_node_hook(
      node, [hook = std::move(hook)](const variable_list& in, const variable_list& out) mutable {
        if constexpr (std::is_void_v<std::invoke_result_t<Hook&, const variable_list&, const variable_list&>>)
          return hook(in, out), in;
        else
          return hook(in, out);
      });
}

template <class Hook>
RemovableHandle scoped_pre_hook(Node* node, Hook hook) {
  return tarn::detail::add_node_pre_hook(node, [hook = std::move(hook)](const variable_list& grads) mutable {
    if constexpr (std::is_void_v<std::invoke_result_t<Hook&, const variable_list&>>)
      return hook(grads), grads;
    else
      return hook(grads);
  });
}

}  // namespace autograd

}  // namespace tarn::inline v1
