#include <tarn/nn/sequential.h>

#include <ostream>
#include <typeinfo>

namespace tarn::inline v1::nn {

void FunctionalImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Functional()"; }

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const NamedAnyModule& module : modules) push_back(module);
}

SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  for (const auto& item : modules) push_back(item.key(), item.value());
}

void SequentialImpl::push_back(std::string name, AnyModule module) {
  add_child(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

void SequentialImpl::check_index(size_t index) const {
  check(index < size(), "Sequential: index ", index, " is outside of ", size(), " modules");
}

std::shared_ptr<Module> SequentialImpl::ptr(size_t index) const {
  check_index(index);
  return modules_[index].ptr();
}

Tensor SequentialImpl::run(const Tensor& input) {
  check(!is_empty(), "Sequential: forward of an empty Sequential");
  Tensor x = input;
  for (size_t i = 0; i < size(); ++i) {
    AnyModule::TensorCall call = modules_[i].tensor_call();
    // Something other than Tensor -> Tensor: carry on with values of any type.
    if (!call) {
      std::vector<AnyValue> values{AnyValue(std::move(x))};
      for (; i < size(); ++i) values = {modules_[i].any_forward(std::move(values))};
      return values[0].get<Tensor>();
    }
    x = call(*modules_[i].ptr(), x);
  }
  return x;
}

AnyValue SequentialImpl::run_any(std::vector<AnyValue> values) {
  check(!is_empty(), "Sequential: forward of an empty Sequential");
  for (AnyModule& module : modules_) values = {module.any_forward(std::move(values))};
  return std::move(values[0]);
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  check(typeid(*this) == typeid(SequentialImpl), "clone: ", name(),
        " derives from SequentialImpl; override clone(), or hold a Sequential as a member");
  auto copy = std::make_shared<SequentialImpl>();
  for (size_t i = 0; i < size(); ++i) copy->push_back(children_[i].key(), modules_[i].clone(device));
  copy->training_ = training_;
  return copy;
}

void SequentialImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Sequential"; }

}  // namespace tarn::inline v1::nn
