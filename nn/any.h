// AnyModule: a module of any class, called through one type. What Sequential holds. Arguments and results
// travel as AnyValue; a mismatch with the class's forward is an Error that names the module and both types.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/nn/holder.h>

namespace tarn::inline v1::nn {

class AnyValue {
 public:
  AnyValue() = default;
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value)
      : value_(std::forward<T>(value)) {}

  // The value as T, or null if it is of another type.
  template <class T>
  T* try_get() {
    return std::any_cast<T>(&value_);
  }
  template <class T>
  T get() {
    T* value = try_get<T>();
    check(value != nullptr, "AnyValue: holds ", type_name(), ", asked for another type");
    return *value;
  }
  TARN_API std::string type_name() const;
  const std::type_info& type_info() const { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace tarn::inline v1::nn

namespace tarn::inline v1::detail {

TARN_API std::string demangle(const std::type_info& type);
[[noreturn]] TARN_API void wrong_argument(const nn::Module& module, size_t index, const nn::AnyValue& given,
                                          const std::type_info& expected);
[[noreturn]] TARN_API void wrong_count(const nn::Module& module, size_t given, size_t expected);

// The argument types of a forward that is neither overloaded nor a template.
template <class F>
struct Signature;
template <class R, class C, class... A>
struct Signature<R (C::*)(A...)> {
  template <template <class...> class To>
  using args = To<A...>;
};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (C::*)(A...)> {};

template <class M, class... A>
struct Caller {
  template <size_t... I>
  static nn::AnyValue call(M& module, std::vector<nn::AnyValue>& args, std::index_sequence<I...>) {
    return nn::AnyValue(module.forward(argument<A>(module, args, I)...));
  }
  template <class T>
  static T&& argument(M& module, std::vector<nn::AnyValue>& args, size_t i) {
    auto* value = args[i].try_get<std::remove_cvref_t<T>>();
    if (!value) wrong_argument(module, i, args[i], typeid(std::remove_cvref_t<T>));
    return static_cast<T&&>(*value);
  }
};

template <class M>
struct CallerOf {
  template <class... A>
  using Bind = Caller<M, A...>;
};

template <class M>
concept HasOneForward = requires {
  &M::forward;
};
template <class M>
concept TakesTensor = requires(M& m, Tensor& x) {
  m.forward(x);
};

template <class M, class... A>
nn::AnyValue call_with(M& module, std::vector<nn::AnyValue>& args, Caller<M, A...>) {
  if (args.size() == sizeof...(A))
    return Caller<M, A...>::call(module, args, std::index_sequence_for<A...>());
  // Later parameters may have defaults, which a pointer to member does not know.
  if constexpr (TakesTensor<M> && sizeof...(A) > 1)
    if (args.size() == 1)
      return nn::AnyValue(module.forward(Caller<M, A...>::template argument<Tensor&>(module, args, 0)));
  wrong_count(module, args.size(), sizeof...(A));
}

template <class M>
nn::AnyValue call_forward(nn::Module& base, std::vector<nn::AnyValue>& args) {
  M& module = static_cast<M&>(base);
  if constexpr (HasOneForward<M>) {
    using Call = typename Signature<decltype(&M::forward)>::template args<CallerOf<M>::template Bind>;
    return call_with(module, args, Call());
  } else {
    static_assert(TakesTensor<M>,
                  "a module in a Sequential needs forward(Tensor) if its forward is overloaded");
    if (args.size() != 1) wrong_count(module, args.size(), 1);
    return nn::AnyValue(module.forward(Caller<M>::template argument<Tensor&>(module, args, 0)));
  }
}

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1::nn {

class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
  requires std::is_base_of_v<Module, M>
  explicit AnyModule(std::shared_ptr<M> module)
      : module_(std::move(module)), call_(&detail::call_forward<M>), tensor_call_(tensor_call<M>()) {}
  template <class M>
  requires(std::is_base_of_v<Module, std::remove_cvref_t<M>>) explicit AnyModule(M&& module)
      : AnyModule(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))) {}
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}

  bool is_empty() const { return module_ == nullptr; }
  const std::shared_ptr<Module>& ptr() const { return module_; }
  template <class M>
  std::shared_ptr<M> ptr() const {
    auto module = std::dynamic_pointer_cast<M>(module_);
    check(module != nullptr, "AnyModule: holds ", module_ ? module_->name() : "nothing",
          ", asked for another class");
    return module;
  }
  // The module as its class, or as the holder of its class.
  template <class M>
  decltype(auto) get() const {
    if constexpr (requires { typename M::ContainedType; })
      return M(ptr<typename M::ContainedType>());
    else
      return static_cast<M&>(*ptr<M>());
  }
  const std::type_info& type_info() const { return typeid(*module_); }

  template <class... Args>
  AnyValue any_forward(Args&&... args) const {
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.push_back(to_value(std::forward<Args>(args))), ...);
    return any_forward(std::move(values));
  }
  AnyValue any_forward(std::vector<AnyValue>&& args) const {
    check(module_ != nullptr, "AnyModule: forward of an empty one");
    return call_(*module_, args);
  }
  template <class Result = Tensor, class... Args>
  Result forward(Args&&... args) const {
    return any_forward(std::forward<Args>(args)...).template get<Result>();
  }
  // The short way of Tensor -> Tensor, without boxes; null where forward is another.
  using TensorCall = Tensor (*)(Module&, const Tensor&);
  TensorCall tensor_call() const { return tensor_call_; }

  AnyModule clone(const std::optional<Device>& device = {}) const {
    AnyModule copy = *this;
    if (module_) copy.module_ = module_->clone(device);
    return copy;
  }

 private:
  template <class T>
  static AnyValue to_value(T&& value) {
    if constexpr (std::is_same_v<std::decay_t<T>, AnyValue>)
      return std::forward<T>(value);
    else
      return AnyValue(std::forward<T>(value));
  }
  template <class M>
  static TensorCall tensor_call() {
    if constexpr (requires(M & m, const Tensor& x) {
                    { m.forward(x) } -> std::same_as<Tensor>;
                  })
      return [](Module& module, const Tensor& x) { return static_cast<M&>(module).forward(x); };
    else
      return nullptr;
  }

  std::shared_ptr<Module> module_;
  AnyValue (*call_)(Module&, std::vector<AnyValue>&) = nullptr;
  TensorCall tensor_call_ = nullptr;
};

}  // namespace tarn::inline v1::nn
