#include <tarn/autograd/custom_function.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include <tarn/autograd/anomaly.h>
#include <tarn/autograd/meta.h>
#include <tarn/autograd/saved.h>
#include <tarn/core/hooks.h>
#include <tarn/core/ops/copy.h>

namespace tarn::inline v1 {

using autograd::AutogradContext;
using autograd::variable_list;

namespace detail {

// The node of one call. Edges are those of the arguments that are tensors.
struct FunctionNode final : Node {
  FunctionNode(const char* name, FunctionBackward backward, const std::vector<const Tensor*>& arguments);
  void apply(autograd::NodeCall& call) override;
  void release_saved() override;
  std::string name() const override { return op_name; }

  void connect(Tensor* tensors, size_t count);
  variable_list unpack();

  AutogradContext context{*this};
  bool executable = false;  // an argument needs a gradient, and grad mode is on
  const bool* need = nullptr;
  std::vector<int> edge_of_argument;  // -1: not a tensor

 private:
  struct Saved {
    SavedTensor tensor;
    int output = -1;  // the number of the output that it is
  };
  bool contains(const variable_list& list, const Tensor& t) const;
  void connect_output(Tensor& t, uint32_t nr);
  void save(const Tensor* tensors, size_t count);
  variable_list call_backward(const bool* wanted, variable_list grads);

  FunctionBackward backward_;
  std::vector<Edge> edge_storage_;
  std::vector<GradMeta> output_storage_;
  std::vector<Saved> saved_;
  std::vector<TensorImpl*> inputs_;  // to compare with only
  bool released_ = false;
  std::mutex mutex_;
};

FunctionNode::FunctionNode(const char* name, FunctionBackward backward,
                           const std::vector<const Tensor*>& arguments)
    : Node(name), backward_(backward) {
  for (const Tensor* argument : arguments) {
    edge_of_argument.push_back(argument ? int(edge_storage_.size()) : -1);
    if (!argument) continue;
    bool needed = mode.grad && argument->defined() && needs_history(*argument);
    executable |= needed;
    edge_storage_.push_back(needed ? gradient_edge(*argument) : Edge());
    inputs_.push_back(argument->impl().get());
  }
  edges = edge_storage_.data();
  edge_count = uint32_t(edge_storage_.size());
  number();
  if (!autograd::AnomalyMode::is_enabled()) return;
  std::vector<const Tensor*> tensors;
  std::copy_if(arguments.begin(), arguments.end(), std::back_inserter(tensors), [](auto* t) { return t; });
  note_inputs(*this, tensors);
}

bool FunctionNode::contains(const variable_list& list, const Tensor& t) const {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& other) { return other.is_same(t); });
}

void FunctionNode::connect(Tensor* tensors, size_t count) {
  for (const Tensor& t : context.dirty_) {
    check(std::find(inputs_.begin(), inputs_.end(), t.impl().get()) != inputs_.end(), op_name,
          ": mark_dirty was given a tensor that is no input");
    bool returned = std::any_of(tensors, tensors + count, [&](const Tensor& out) { return out.is_same(t); });
    check(returned, op_name, ": an input marked as dirty must be returned");
  }
  if (executable) {
    for (size_t i = 0; i < count; ++i) connect_output(tensors[i], uint32_t(i));
    outputs = output_storage_.data();
    output_count = uint32_t(count);
    save(tensors, count);
    if (autograd::AnomalyMode::is_enabled()) note_outputs(*this, tensors, count);
  }
  context.to_save_.clear(), context.dirty_.clear(), context.non_differentiable_.clear();
  inputs_.clear();
}

void FunctionNode::connect_output(Tensor& t, uint32_t nr) {
  if (!t.defined()) {
    output_storage_.push_back({});
    return;
  }
  output_storage_.push_back({t.get().sizes, t.dtype(), t.device()});
  bool dirty = contains(context.dirty_, t);
  bool differentiable = is_floating(t.dtype()) && !contains(context.non_differentiable_, t);
  if (dirty) {
    check(!t.get().view, op_name,
          ": a view cannot be written in place by a function; write to a clone() of it");
    check(!t.requires_grad() || t.grad_fn(), op_name,
          ": a leaf that requires grad cannot be written in place");
    t.get().storage->version.fetch_add(1, std::memory_order_relaxed);
  } else if (t.get().view || needs_history(t) ||
             std::find(inputs_.begin(), inputs_.end(), t.impl().get()) != inputs_.end()) {
    // An input itself, a view of one, or a tensor that has a history: another handle, with this node's alone.
    t = make_alias(t, t.sizes(), t.strides(), t.storage_offset());
  }
  if (differentiable) set_history(t.get(), Ref<Node>::share(this), nr);
}

void FunctionNode::save(const Tensor* tensors, size_t count) {
  for (const Tensor& t : context.to_save_) {
    Saved saved;
    if (t.defined()) {
      auto same = [&](const Tensor& out) {
        return out.defined() && (out.is_same(t) || (out.get().storage == t.get().storage && t.get().view &&
                                                    out.sizes() == t.sizes() && !needs_history(t)));
      };
      const Tensor* out = std::find_if(tensors, tensors + count, same);
      if (out != tensors + count && needs_history(*out)) saved.output = int(out - tensors);
      bool needs_edge = saved.output < 0 && needs_history(t);
      saved.tensor = SavedTensor(t, needs_edge ? gradient_edge(t) : Edge(), op_name);
    }
    saved_.push_back(std::move(saved));
  }
}

variable_list FunctionNode::unpack() {
  check(!released_, "backward: the graph is gone through a second time, but the tensors that ", op_name,
        " saved were freed the first time; pass retain_graph=true to the first backward");
  variable_list out;
  for (size_t i = 0; i < saved_.size(); ++i) {
    const Saved& saved = saved_[i];
    Edge own;
    bool is_output = saved.output >= 0;
    if (is_output && mode.grad) own = {Ref<Node>::share(this), uint32_t(saved.output)};
    out.push_back(saved.tensor.unpack(op_name, "saved tensor", int(i), is_output ? &own : nullptr));
  }
  return out;
}

void FunctionNode::release_saved() {
  std::lock_guard lock(mutex_);
  released_ = !saved_.empty();
  saved_.clear();
}

// The context is the user's: threads that go through one graph take turns.
variable_list FunctionNode::call_backward(const bool* wanted, variable_list grads) {
  std::lock_guard lock(mutex_);
  struct Reset {
    const bool*& need;
    ~Reset() { need = nullptr; }
  } reset{need};
  need = wanted;
  return backward_(&context, std::move(grads));
}

void FunctionNode::apply(autograd::NodeCall& call) {
  variable_list grads(call.grads, call.grads + output_count);
  for (uint32_t i = 0; i < output_count && context.materialize_grads_; ++i)
    if (!grads[i].defined() && is_floating(outputs[i].dtype))
      grads[i] = make_tensor(outputs[i].sizes, outputs[i].dtype, outputs[i].device).zero_();
  variable_list results = call_backward(call.need, std::move(grads));
  size_t wanted = edge_of_argument.size();
  while (results.size() > wanted && !results.back().defined()) results.pop_back();
  check(results.size() == wanted, op_name, ": backward returned ", results.size(), " gradients for ", wanted,
        " arguments of forward");
  for (size_t i = 0; i < wanted; ++i) {
    if (!results[i].defined()) continue;
    check(edge_of_argument[i] >= 0, op_name, ": backward returned a gradient for argument ", i,
          " of forward, which is no tensor");
    call.results[edge_of_argument[i]] = std::move(results[i]);
  }
}

FunctionCall::FunctionCall(const char* name, FunctionBackward backward, std::vector<const Tensor*> arguments)
    : node_(Ref<Node>::adopt(new FunctionNode(name, backward, arguments))) {}

FunctionCall::~FunctionCall() = default;

AutogradContext* FunctionCall::context() { return &static_cast<FunctionNode&>(*node_).context; }

void FunctionCall::finish(Tensor* outputs, size_t count) {
  static_cast<FunctionNode&>(*node_).connect(outputs, count);
}

const char* class_name(const std::type_info& type) {
  int status = 0;
  // Never freed: nodes point to it.
  const char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  return status == 0 ? name : type.name();
}

const Tensor* argument_tensor(const std::optional<Tensor>& t) { return t && t->defined() ? &*t : nullptr; }

}  // namespace detail

namespace autograd {

variable_list AutogradContext::get_saved_variables() const { return node_.unpack(); }

bool AutogradContext::needs_input_grad(size_t i) const {
  check(i < node_.edge_count, "needs_input_grad: forward of ", node_.op_name, " has ", node_.edge_count,
        " tensors among its arguments, asked for number ", i);
  return node_.need ? node_.need[i] : node_.edges[i].is_valid();
}

}  // namespace autograd

}  // namespace tarn::inline v1
