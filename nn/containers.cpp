#include <tarn/nn/containers.h>

#include <ostream>

namespace tarn::inline v1::nn {

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  add_child(std::to_string(size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  check(index <= size(), "ModuleList: cannot insert at ", index, " of ", size(), " modules");
  check(module != nullptr, "ModuleList: the module is empty; construct it first");
  std::vector<std::shared_ptr<Module>> all = std::move(modules_);
  all.insert(all.begin() + index, std::move(module));
  modules_.clear();
  clear_children();  // the names of those behind it change
  for (std::shared_ptr<Module>& each : all) push_back(std::move(each));
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  check(index < size(), "ModuleList: index ", index, " is outside of ", size(), " modules");
  return modules_[index];
}

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  copy->training_ = training_;
  return copy;
}

void ModuleListImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::ModuleList"; }

ModuleDictImpl::ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  update(modules);
}

ModuleDictImpl::ModuleDictImpl(const Items& modules) { update(modules); }

void ModuleDictImpl::insert(const std::string& name, std::shared_ptr<Module> module) {
  if (contains(name))
    replace_child(name, std::move(module));
  else
    add_child(name, std::move(module));
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& name) {
  std::shared_ptr<Module> module = children_[name];
  unregister_module(name);
  return module;
}

std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : children_) copy->insert(item.key(), item.value()->clone(device));
  copy->training_ = training_;
  return copy;
}

void ModuleDictImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::ModuleDict"; }

}  // namespace tarn::inline v1::nn
