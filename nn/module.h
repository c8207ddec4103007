// Module: the base of layers and models, a tree of named children, parameters and buffers.
//
// struct NetImpl : nn::Module {
//   NetImpl() : fc(register_module("fc", nn::Linear(784, 10))) {}
//   Tensor forward(const Tensor& x) { return fc(x.flatten(1)); }
//   nn::Linear fc;
// };
// TARN_MODULE(Net);
//
// Modules are shared: a child may have several parents, and a parameter reached twice is one parameter.
// Running forward of one module from several threads is safe in eval mode; changing a module needs it to
// itself.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <tarn/core/ordered_dict.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::nn {

template <class Contained>
class ModuleHolder;

using StateDict = OrderedDict<std::string, Tensor>;

// What load_state_dict found to be different between a module and a state dict.
struct LoadReport {
  std::vector<std::string> missing_keys;     // the module has them, the dict does not
  std::vector<std::string> unexpected_keys;  // the dict has them, the module does not
};

class TARN_API Module : public std::enable_shared_from_this<Module> {
 public:
  Module() = default;
  // The name is what printing shows; without it the class's.
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  virtual ~Module();

  std::string name() const;

  // --- the tree; paths are like "layer1.0.conv1" ---
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;
  // This module, then its descendants, each once. With `include_self` the module must be owned by a
  // shared_ptr.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& prefix = "",
                                                                  bool include_self = true) const;
  std::shared_ptr<Module> get_submodule(const std::string& path) const;
  Tensor get_parameter(const std::string& path) const;
  Tensor get_buffer(const std::string& path) const;

  // --- state ---
  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return training_; }
  // Parameters and buffers move; a dtype changes those of floating type alone.
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  void cpu() { to(Device(kCPU)); }
  void cuda() { to(Device(kCUDA)); }
  virtual void zero_grad(bool set_to_none = true);
  void requires_grad_(bool on = true);
  // Parameters and persistent buffers by path, as PyTorch names them; aliases without history.
  StateDict state_dict() const;
  // Copies values in, after all keys and shapes are checked: on an Error, which lists every difference,
  // nothing has changed. Without `strict` missing and unexpected keys are only reported; a wrong shape stays
  // an Error.
  LoadReport load_state_dict(const StateDict& state, bool strict = true);

  // Calls f on this module and its descendants, each once: f(Module&), f(path, Module&),
  // f(shared_ptr<Module>) or f(path, shared_ptr<Module>).
  template <class F>
  void apply(const F& f, const std::string& prefix = "") {
    apply_to(*this, f, prefix);
  }
  template <class F>
  void apply(const F& f, const std::string& prefix = "") const {
    apply_to(*this, f, prefix);
  }

  // A deep copy. Classes get it from Cloneable<Derived>; a plain Module refuses.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const;

  // This module as the class of a holder or module, or null.
  template <class M>
  auto* as() noexcept {
    if constexpr (requires { typename M::ContainedType; })
      return dynamic_cast<typename M::ContainedType*>(this);
    else
      return dynamic_cast<M*>(this);
  }
  template <class M>
  const auto* as() const noexcept {
    return const_cast<Module*>(this)->as<M>();
  }

  // One line without the children.
  virtual void pretty_print(std::ostream& out) const;
  friend TARN_API std::ostream& operator<<(std::ostream& out, const Module& module);

  // --- building the tree ---
  // Names may not be empty, hold a dot or be taken.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  // A buffer that is not persistent stays out of state_dict().
  Tensor& register_buffer(std::string name, Tensor tensor, bool persistent = true);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, const ModuleHolder<M>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  // Puts another module in the place of a registered one.
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    replace_child(name, module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, const ModuleHolder<M>& holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  // Where this module was last registered, from the root: "layer1.0.conv1"; empty for a root. For messages.
  const std::string& path() const { return path_; }

  // The children, without copying: what containers and traversal use.
  const OrderedDict<std::string, std::shared_ptr<Module>>& child_items() const { return children_; }

 protected:
  // Called by a parent's clone() on the fresh copy of this child, `other` being the original.
  virtual void clone_(Module& other, const std::optional<Device>& device);

  // A child that is not the tree's business to look at closely: name checked, path set.
  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  void clear_children() { children_.clear(); }
  void clear_registry();
  void copy_tensors_from(const Module& other, const std::optional<Device>& device);

  OrderedDict<std::string, Tensor> parameters_{"parameter"};
  OrderedDict<std::string, Tensor> buffers_{"buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"submodule"};
  bool training_ = true;

 private:
  struct Visit {
    std::string path;
    const Module* module;
    std::shared_ptr<Module> pointer;  // null for the module the walk started from
  };
  // This module and its descendants, parents first, each once (or as often as it is reached).
  std::vector<Visit> walk(const std::string& prefix, bool once = true) const;
  std::shared_ptr<Module> self(const char* function) const;
  void set_path(const std::string& path);
  void print(std::ostream& out, const std::string& indent) const;
  // What load_state_dict would write to: (path, tensor) with PyTorch's keys.
  OrderedDict<std::string, Tensor> state() const;
  void convert(const std::optional<Device>& device, const std::optional<ScalarType>& dtype,
               bool non_blocking);

  template <class Self, class F>
  static void apply_to(Self& self, const F& f, const std::string& prefix) {
    for (const Visit& visit : self.walk(prefix)) {
      auto& module = const_cast<Self&>(static_cast<const Self&>(*visit.module));
      constexpr bool wants_module = std::is_invocable_v<const F&, decltype(module)>;
      constexpr bool wants_path = std::is_invocable_v<const F&, const std::string&, decltype(module)>;
      if constexpr (wants_module) {
        f(module);
      } else if constexpr (wants_path) {
        f(visit.path, module);
      } else {
        std::shared_ptr<Module> pointer = visit.pointer ? visit.pointer : self.self("apply");
        if constexpr (std::is_invocable_v<const F&, const std::shared_ptr<Module>&>)
          f(pointer);
        else
          f(visit.path, pointer);
      }
    }
  }

  template <class Derived>
  friend class Cloneable;

  std::string name_;
  std::string path_;
  std::vector<std::string> transient_buffers_;
};

// Shared pointers print as what they point to.
TARN_API std::ostream& operator<<(std::ostream& out, const std::shared_ptr<Module>& module);

// Gives a module class clone(). Derived::reset() (re)makes and registers parameters, buffers and children; it
// runs on the copy, whose tensors then take the original's values.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

  virtual void reset() = 0;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override {
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    copy->clear_registry();
    copy->reset();
    copy->copy_tensors_from(*this, device);
    return copy;
  }

 private:
  void clone_(Module& other, const std::optional<Device>& device) final {
    auto clone = std::dynamic_pointer_cast<Derived>(other.clone(device));
    check(clone != nullptr, "clone: a submodule's class changed while cloning ", name());
    static_cast<Derived&>(*this) = *clone;
  }
};

}  // namespace tarn::inline v1::nn
