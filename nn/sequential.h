// Sequential: modules called one after the other. Holds modules of any class, Functional for plain functions,
// and other Sequentials; each gets what the one before returned.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tarn/core/function.h>
#include <tarn/nn/any.h>

namespace tarn::inline v1::nn {

// A function of one tensor as a module: Functional(relu), Functional(leaky_relu, 0.2), or a lambda.
class TARN_API FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = tarn::detail::Function<Tensor(const Tensor&)>;

  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  // Later arguments of the function are kept and passed with each call.
  template <class F, class... Args>
  requires(sizeof...(Args) > 0) explicit FunctionalImpl(F function, Args... args)
      : FunctionalImpl(Function([function, args...](const Tensor& x) { return function(x, args...); })) {}

  Tensor forward(const Tensor& input) { return function_(input); }
  Tensor operator()(const Tensor& input) { return function_(input); }
  void reset() override {}
  void pretty_print(std::ostream& out) const override;

 private:
  Function function_;
};
TARN_MODULE(Functional);

// A module with a name, for Sequential({{"conv", Conv2d(...)}, {"relu", ReLU()}}).
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module) : name_(std::move(name)), module_(std::forward<M>(module)) {}
  NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}

  const std::string& name() const { return name_; }
  AnyModule& module() { return module_; }
  const AnyModule& module() const { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

// What a Sequential can hold: a module, a holder, a shared_ptr of a module, or a function of one tensor.
template <class M>
concept SequentialItem =
    std::is_constructible_v<AnyModule, M&&> || std::is_constructible_v<FunctionalImpl::Function, M&&>;

class TARN_API SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  template <class... Modules>
  requires((... && SequentialItem<Modules>)&&sizeof...(Modules) > 0 &&
           !(sizeof...(Modules) == 1 &&
             (... && std::is_same_v<std::remove_cvref_t<Modules>,
                                    SequentialImpl>))) explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }

  // The last module's result. The first one takes all inputs.
  template <class Result = Tensor, class... Inputs>
  Result forward(Inputs&&... inputs) {
    if constexpr (sizeof...(Inputs) == 1 && std::is_same_v<Result, Tensor> &&
                  (... && std::is_same_v<std::remove_cvref_t<Inputs>, Tensor>))
      return run(inputs...);
    else
      return run_any([&] {
               std::vector<AnyValue> values;
               (values.push_back(AnyValue(std::forward<Inputs>(inputs))), ...);
               return values;
             }())
          .template get<Result>();
  }

  template <SequentialItem M>
  void push_back(M&& module) {
    push_back(std::to_string(size()), std::forward<M>(module));
  }
  template <SequentialItem M>
  void push_back(std::string name, M&& module) {
    if constexpr (std::is_constructible_v<AnyModule, M&&>)
      push_back(std::move(name), AnyModule(std::forward<M>(module)));
    else
      push_back(std::move(name), AnyModule(Functional(FunctionalImpl::Function(std::forward<M>(module)))));
  }
  void push_back(AnyModule module) { push_back(std::to_string(size()), std::move(module)); }
  void push_back(std::string name, AnyModule module);
  void push_back(const NamedAnyModule& module) { push_back(module.name(), module.module()); }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  // The module at a place, as its class.
  template <class M>
  M& at(size_t index) {
    return *ptr<M>(index);
  }
  std::shared_ptr<Module> ptr(size_t index) const;
  template <class M>
  std::shared_ptr<M> ptr(size_t index) const {
    check_index(index);
    return modules_[index].ptr<M>();
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override;
  void reset() override {}
  void pretty_print(std::ostream& out) const override;

 private:
  void check_index(size_t index) const;
  Tensor run(const Tensor& input);
  AnyValue run_any(std::vector<AnyValue> values);

  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules)
      : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

}  // namespace tarn::inline v1::nn
