#include <tarn/nn/module.h>

#include <algorithm>
#include <ostream>
#include <typeinfo>
#include <unordered_set>

#include <tarn/core/fault.h>
#include <tarn/core/mode.h>
#include <tarn/nn/any.h>

namespace tarn::inline v1::nn {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const char* function, const std::string& name) {
  check(!name.empty(), function, ": the name must not be empty");
  check(name.find('.') == std::string::npos, function, ": the name must not contain a dot, got '", name, "'");
}

}  // namespace

Module::~Module() = default;

std::string Module::name() const { return name_.empty() ? detail::demangle(typeid(*this)) : name_; }

std::shared_ptr<Module> Module::self(const char* function) const {
  auto pointer = std::const_pointer_cast<Module>(weak_from_this().lock());
  check(pointer != nullptr, function, ": module ", name(),
        " is not owned by a shared_ptr; make it with std::make_shared or a holder");
  return pointer;
}

std::vector<Module::Visit> Module::walk(const std::string& prefix, bool once) const {
  std::vector<Visit> out;
  std::unordered_set<const Module*> seen;
  // Depth first with a stack of our own: nested containers may be deep.
  std::vector<Visit> stack{{prefix, this, nullptr}};
  while (!stack.empty()) {
    Visit visit = std::move(stack.back());
    stack.pop_back();
    if (once && !seen.insert(visit.module).second) continue;
    const auto& items = visit.module->children_.items();
    for (auto item = items.rbegin(); item != items.rend(); ++item)
      if (item->value()) stack.push_back({join(visit.path, item->key()), item->value().get(), item->value()});
    out.push_back(std::move(visit));
  }
  return out;
}

// --- looking ---

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> out("parameter");
  std::unordered_set<const void*> seen;
  for (const Visit& visit : recurse ? walk("") : std::vector<Visit>{{"", this, nullptr}})
    for (const auto& item : visit.module->parameters_)
      if (item.value().defined() && seen.insert(item.value().impl().get()).second)
        out.insert(join(visit.path, item.key()), item.value());
  return out;
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> out("buffer");
  std::unordered_set<const void*> seen;
  for (const Visit& visit : recurse ? walk("") : std::vector<Visit>{{"", this, nullptr}})
    for (const auto& item : visit.module->buffers_)
      if (item.value().defined() && seen.insert(item.value().impl().get()).second)
        out.insert(join(visit.path, item.key()), item.value());
  return out;
}

std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }

std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

std::vector<std::shared_ptr<Module>> Module::children() const { return named_children().values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out("module");
  for (Visit& visit : walk(prefix)) {
    if (visit.pointer)
      out.insert(visit.path, visit.pointer);
    else if (include_self)
      out.insert(visit.path, self("modules"));
  }
  return out;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules("", include_self).values();
}

std::shared_ptr<Module> Module::get_submodule(const std::string& path) const {
  if (path.empty()) return self("get_submodule");
  const Module* at = this;
  std::shared_ptr<Module> found;
  for (size_t start = 0; start <= path.size();) {
    size_t dot = std::min(path.find('.', start), path.size());
    std::string name = path.substr(start, dot - start);
    const std::shared_ptr<Module>* child = at->children_.find(name);
    check(child && *child, "get_submodule: there is no '", name, "' in ", at->name(), ", path '", path, "'");
    found = *child;
    at = found.get();
    start = dot + 1;
  }
  return found;
}

namespace {

Tensor get_tensor(const Module& root, const std::string& path, const char* kind, bool parameters) {
  size_t dot = path.rfind('.');
  std::string name = path.substr(dot == std::string::npos ? 0 : dot + 1);
  std::shared_ptr<Module> owner =
      dot == std::string::npos ? nullptr : root.get_submodule(path.substr(0, dot));
  const Module& module = owner ? *owner : root;
  auto tensors = parameters ? module.named_parameters(false) : module.named_buffers(false);
  const Tensor* tensor = tensors.find(name);
  check(tensor != nullptr, "get_", kind, ": there is no ", kind, " '", name, "' in ", module.name(),
        ", path '", path, "'");
  return *tensor;
}

}  // namespace

Tensor Module::get_parameter(const std::string& path) const {
  return get_tensor(*this, path, "parameter", true);
}

Tensor Module::get_buffer(const std::string& path) const { return get_tensor(*this, path, "buffer", false); }

// --- state ---

void Module::train(bool on) {
  training_ = on;
  if (detail::fault(53)) return;
  for (const auto& child : children_)
    if (child.value()) child.value()->train(on);
}

void Module::to(Device device, ScalarType dtype, bool non_blocking) { convert(device, dtype, non_blocking); }

void Module::to(ScalarType dtype, bool non_blocking) { convert({}, dtype, non_blocking); }

void Module::to(Device device, bool non_blocking) { convert(device, {}, non_blocking); }

void Module::convert(const std::optional<Device>& device, const std::optional<ScalarType>& dtype,
                     bool non_blocking) {
  check(!dtype || is_floating(*dtype), "Module::to: dtype must be floating, got ", dtype.value_or(kFloat));
  NoGradGuard no_grad;
  auto move = [&](Tensor tensor) {
    ScalarType target = dtype && tensor.is_floating_point() ? *dtype : tensor.dtype();
    return tensor.data().to(device.value_or(tensor.device()), target, non_blocking);
  };
  auto convert_one = [&](const Tensor& tensor) {
    Tensor moved = move(tensor);
    if (moved.dtype() == tensor.dtype() && moved.device() == tensor.device()) return;
    Tensor grad = tensor.grad();
    if (grad.defined()) tensor.mutable_grad().reset();
    tensor.set_data(moved);
    if (grad.defined()) tensor.mutable_grad() = move(grad);
  };
  for (const Tensor& parameter : parameters()) convert_one(parameter);
  for (const Tensor& buffer : buffers()) convert_one(buffer);
}

void Module::zero_grad(bool set_to_none) {
  NoGradGuard no_grad;
  for (const Tensor& parameter : parameters()) {
    Tensor& grad = parameter.mutable_grad();
    if (!grad.defined()) continue;
    if (set_to_none)
      grad.reset();
    else
      grad = grad.detach().zero_();
  }
}

void Module::requires_grad_(bool on) {
  for (const Tensor& parameter : parameters()) parameter.requires_grad_(on);
}

OrderedDict<std::string, Tensor> Module::state() const {
  OrderedDict<std::string, Tensor> out("key");
  for (const Visit& visit : walk("", false)) {
    for (const auto& item : visit.module->parameters_)
      if (item.value().defined()) out.insert(join(visit.path, item.key()), item.value());
    for (const auto& item : visit.module->buffers_) {
      bool transient = false;
      for (const std::string& name : visit.module->transient_buffers_) transient |= name == item.key();
      if (item.value().defined() && !transient) out.insert(join(visit.path, item.key()), item.value());
    }
  }
  return out;
}

StateDict Module::state_dict() const {
  StateDict out;
  for (const auto& item : state()) out.insert(item.key(), item.value().detach());
  return out;
}

namespace {

// Files from before PyTorch 0.4.1, and those without its metadata, lack this counter; it keeps its value
// then.
bool may_be_missing(const std::string& key) {
  const std::string counter = "num_batches_tracked";
  return key.size() >= counter.size() &&
         key.compare(key.size() - counter.size(), counter.size(), counter) == 0;
}

// One number may be stored as shape [] or [1].
bool same_shape(const Tensor& mine, const Tensor& given) {
  if (detail::fault(54)) return mine.numel() == given.numel();
  return mine.sizes() == given.sizes() || (mine.dim() == 0 && given.dim() == 1 && given.numel() == 1);
}

void list(std::string& out, const char* title, const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  detail::append(out, str("\n  ", title, ":"));
  for (const std::string& key : keys) detail::append(out, str("\n    ", key));
}

}  // namespace

LoadReport Module::load_state_dict(const StateDict& given, bool strict) {
  OrderedDict<std::string, Tensor> mine = state();
  LoadReport report;
  std::vector<std::string> wrong_shapes;
  for (const auto& item : mine) {
    const Tensor* value = given.find(item.key());
    if (!value) {
      if (!may_be_missing(item.key())) report.missing_keys.push_back(item.key());
    } else if (!value->defined()) {
      report.missing_keys.push_back(item.key());
    } else if (!same_shape(item.value(), *value)) {
      wrong_shapes.push_back(
          str(item.key(), ": module ", item.value().sizes(), ", state dict ", value->sizes()));
    }
  }
  for (const auto& item : given)
    if (!mine.contains(item.key())) report.unexpected_keys.push_back(item.key());

  std::string problems;
  if (strict) list(problems, "missing keys", report.missing_keys);
  if (strict) list(problems, "unexpected keys", report.unexpected_keys);
  list(problems, "wrong shapes", wrong_shapes);
  check(problems.empty(), "load_state_dict: the state dict does not fit ", name(), problems);

  NoGradGuard no_grad;
  for (const auto& item : mine)
    if (const Tensor* value = given.find(item.key()); value && value->defined())
      item.value().copy_(value->reshape(item.value().sizes()));
  return report;
}

// --- building ---

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("register_parameter", name);
  check(!buffers_.contains(name) && !children_.contains(name), "register_parameter: '", name,
        "' already defined in ", this->name());
  if (tensor.defined()) {
    tensor.requires_grad_(requires_grad);
    tensor.get().set(detail::kParameter, true);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor, bool persistent) {
  check_name("register_buffer", name);
  check(!parameters_.contains(name) && !children_.contains(name), "register_buffer: '", name,
        "' already defined in ", this->name());
  if (!persistent) transient_buffers_.push_back(name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("register_module", name);
  check(!parameters_.contains(name) && !buffers_.contains(name), "register_module: '", name,
        "' already defined in ", this->name());
  check(module != nullptr, "register_module: module '", name, "' is empty; construct it first");
  for (const Visit& visit : module->walk(""))
    check(visit.module != this, "register_module: '", name, "' holds ", this->name(),
          " itself; a module cannot be its own descendant");
  module->set_path(join(path_, name));
  children_.insert(std::move(name), std::move(module));
}

void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  check(children_.contains(name), "replace_module: there is no submodule '", name, "' in ", this->name());
  check(module != nullptr, "replace_module: module '", name, "' is empty; construct it first");
  module->set_path(join(path_, name));
  children_[name] = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  check(children_.contains(name), "unregister_module: there is no submodule '", name, "' in ", this->name());
  children_.erase(name);
}

// Children are registered before their parent is, so that a path grows at its front.
void Module::set_path(const std::string& path) {
  for (const Visit& visit : walk(path)) const_cast<Module*>(visit.module)->path_ = visit.path;
}

// --- copies ---

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  fail("clone: ", name(), " cannot be cloned; derive it from nn::Cloneable<", name(),
       "> and create parameters and submodules in reset()");
}

// A class without Cloneable inside one with it: reset() of the parent has made it anew, only the values are
// missing.
void Module::clone_(Module& other, const std::optional<Device>& device) { copy_tensors_from(other, device); }

void Module::clear_registry() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
  transient_buffers_.clear();
}

void Module::copy_tensors_from(const Module& other, const std::optional<Device>& device) {
  NoGradGuard no_grad;
  auto copy = [&](OrderedDict<std::string, Tensor>& mine, const OrderedDict<std::string, Tensor>& theirs) {
    check(mine.size() == theirs.size(), "clone: reset() of ", name(), " made ", mine.size(), " tensors of ",
          theirs.size(), "; register them all in reset()");
    for (const auto& item : theirs) {
      const Tensor& source = item.value();
      if (!source.defined()) continue;
      Tensor& target = mine[item.key()];
      check(target.defined(), "clone: reset() of ", name(), " left '", item.key(), "' undefined");
      target.set_data(source.data().to(device.value_or(source.device()), source.dtype(), false, true));
      target.requires_grad_(source.requires_grad());
    }
  };
  copy(parameters_, other.parameters_);
  copy(buffers_, other.buffers_);
  check(children_.size() == other.children_.size(), "clone: reset() of ", name(), " made ", children_.size(),
        " submodules of ", other.children_.size(), "; register them all in reset()");
  for (const auto& item : other.children_) children_[item.key()]->clone_(*item.value(), device);
  for (const auto& item : children_) item.value()->set_path(join(path_, item.key()));
  training_ = other.training_;
}

// --- printing ---

void Module::pretty_print(std::ostream& out) const { out << name(); }

void Module::print(std::ostream& out, const std::string& indent) const {
  pretty_print(out);
  if (children_.is_empty()) return;
  out << "(\n";
  for (const auto& child : children_) {
    out << indent << "  (" << child.key() << "): ";
    child.value()->print(out, indent + "  ");
    out << '\n';
  }
  out << indent << ")";
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  module.print(out, "");
  return out;
}

std::ostream& operator<<(std::ostream& out, const std::shared_ptr<Module>& module) { return out << *module; }

}  // namespace tarn::inline v1::nn
