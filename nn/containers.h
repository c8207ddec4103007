// ModuleList and ModuleDict: modules in a list or under names, registered but not called; forward is the
// owner's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tarn/nn/holder.h>

namespace tarn::inline v1::nn {

class TARN_API ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 &&
           !(sizeof...(Modules) == 1 &&
             (... && std::is_same_v<std::remove_cvref_t<Modules>,
                                    ModuleListImpl>))) explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }

  void push_back(std::shared_ptr<Module> module);
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  template <class M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>>
  void push_back(M&& module) {
    push_back(std::shared_ptr<Module>(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))));
  }
  void insert(size_t index, std::shared_ptr<Module> module);
  template <class M>
  void insert(size_t index, const ModuleHolder<M>& holder) {
    insert(index, std::shared_ptr<Module>(holder.ptr()));
  }
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
  std::shared_ptr<Module> ptr(size_t index) const;
  template <class M>
  std::shared_ptr<M> ptr(size_t index) const {
    auto module = std::dynamic_pointer_cast<M>(ptr(index));
    check(module != nullptr, "ModuleList: module ", index, " is a ", ptr(index)->name(),
          ", asked for another class");
    return module;
  }
  template <class M>
  M& at(size_t index) const {
    return *ptr<M>(index);
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override;
  void reset() override {}
  void pretty_print(std::ostream& out) const override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
TARN_MODULE(ModuleList);

class TARN_API ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Items = OrderedDict<std::string, std::shared_ptr<Module>>;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  explicit ModuleDictImpl(const Items& modules);

  // Takes the place of a module of that name, if there is one.
  void insert(const std::string& name, std::shared_ptr<Module> module);
  template <class M>
  void insert(const std::string& name, const ModuleHolder<M>& holder) {
    insert(name, std::shared_ptr<Module>(holder.ptr()));
  }
  template <class M>
  void update(const M& modules) {
    for (const auto& item : modules) {
      if constexpr (requires { item.key(); })
        insert(item.key(), item.value());
      else
        insert(item.first, item.second);
    }
  }
  std::shared_ptr<Module> pop(const std::string& name);
  void clear() { clear_children(); }

  const Items& items() const { return children_; }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  size_t size() const { return children_.size(); }
  bool empty() const { return children_.is_empty(); }
  bool contains(const std::string& name) const { return children_.contains(name); }
  auto begin() const { return children_.begin(); }
  auto end() const { return children_.end(); }
  std::shared_ptr<Module> operator[](const std::string& name) const { return children_[name]; }
  template <class M>
  M& at(const std::string& name) const {
    auto module = std::dynamic_pointer_cast<M>(children_[name]);
    check(module != nullptr, "ModuleDict: '", name, "' is a ", children_[name]->name(),
          ", asked for another class");
    return *module;
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override;
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
};
TARN_MODULE(ModuleDict);

}  // namespace tarn::inline v1::nn
