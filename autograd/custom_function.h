// Function<T>: an operation with a gradient of its own, as in libtorch.
//
//   struct Cube : autograd::Function<Cube> {
//     static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
//       ctx->save_for_backward({x});
//       return x * x * x;
//     }
//     static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads)
//     {
//       Tensor x = ctx->get_saved_variables()[0];
//       return {grads[0] * 3 * x * x};
//     }
//   };
//   Tensor y = Cube::apply(x);
//
// forward() runs without recording and returns a Tensor or a variable_list. backward() gets a gradient per
// output and returns one per argument of forward(), undefined for what is no tensor; it is recorded under
// create_graph, so that it may be differentiated again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <tarn/autograd/node.h>
#include <tarn/core/ivalue.h>

namespace tarn::inline v1 {

namespace detail {
struct FunctionNode;
}

namespace autograd {

using tensor_list = variable_list;

// What forward() leaves for backward().
class TARN_API AutogradContext {
 public:
  // Tensors that backward() reads, inputs and outputs. A write to one of them in place is noticed.
  void save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
  // In backward(). An Error after the graph was freed by a backward without retain_graph.
  variable_list get_saved_variables() const;
  // Anything that is no input or output.
  std::map<std::string, IValue> saved_data;

  // Inputs that forward() wrote in place and returns.
  void mark_dirty(const variable_list& inputs) { dirty_ = inputs; }
  // Outputs that have no gradient. Integers have none anyway.
  void mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }
  // Whether backward() gets zeros (true, the default) or an undefined tensor for an output that was not used.
  void set_materialize_grads(bool on) { materialize_grads_ = on; }
  // In backward(): whether the gradient of tensor i among forward()'s arguments is wanted. As in libtorch,
  // arguments that are no tensors are not counted.
  bool needs_input_grad(size_t i) const;

 private:
  friend struct detail::FunctionNode;
  explicit AutogradContext(detail::FunctionNode& node) : node_(node) {}

  detail::FunctionNode& node_;
  variable_list to_save_, dirty_, non_differentiable_;
  bool materialize_grads_ = true;
};

}  // namespace autograd

namespace detail {

using FunctionBackward = autograd::variable_list (*)(autograd::AutogradContext*, autograd::variable_list);

// One call of a Function: makes the node before forward(), connects the outputs after it.
class TARN_API FunctionCall {
 public:
  // `arguments`: of forward(), null for those that are no tensors.
  FunctionCall(const char* name, FunctionBackward backward, std::vector<const Tensor*> arguments);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  autograd::AutogradContext* context();
  void finish(Tensor* outputs, size_t count);

 private:
  Ref<Node> node_;
};

// "ns::Cube" of a class; the text lives forever.
TARN_API const char* class_name(const std::type_info& type);

inline const Tensor* argument_tensor(const Tensor& t) { return &t; }
TARN_API const Tensor* argument_tensor(const std::optional<Tensor>& t);
template <class T>
const Tensor* argument_tensor(const T&) {
  return nullptr;
}

}  // namespace detail

namespace autograd {

template <class T>
struct Function {
  template <class X = T, class... Args>
  static auto apply(Args&&... args) {
    auto backward = [](AutogradContext* ctx, variable_list grads) -> variable_list {
      return X::backward(ctx, std::move(grads));
    };
    static const char* const name = tarn::detail::class_name(typeid(X));
    tarn::detail::FunctionCall call(name, backward, {tarn::detail::argument_tensor(args)...});
    auto outputs = [&] {
      AutoGradMode no_grad(false);
      return X::forward(call.context(), std::forward<Args>(args)...);
    }();
    if constexpr (std::is_same_v<decltype(outputs), Tensor>)
      call.finish(&outputs, 1);
    else
      call.finish(outputs.data(), outputs.size());
    return outputs;
  }
};

}  // namespace autograd

}  // namespace tarn::inline v1
