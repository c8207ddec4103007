#include <tarn/autograd/autograd.h>

#include <tarn/autograd/engine.h>
#include <tarn/autograd/meta.h>
#include <tarn/core/fault.h>

namespace tarn::inline v1::autograd {

namespace {

Tensor one_like(const Tensor& t) {
  NoGradGuard no_grad;
  Tensor one = detail::make_tensor(t.sizes(), t.dtype(), t.device());
  one.fill_(1);
  return one;
}

struct Roots {
  std::vector<Edge> edges;
  variable_list grads;
};

Roots roots_of(const char* op, const variable_list& tensors, const variable_list& grads) {
  check(!tensors.empty(), op, ": at least one tensor is needed");
  check(grads.empty() || grads.size() == tensors.size(), op, ": ", tensors.size(),
        " tensors were given, but ", grads.size(), " gradients");
  Roots roots;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    Edge edge = detail::gradient_edge(t);
    check(edge.is_valid(), op, ": tensor ", i, " of sizes ", t.sizes(),
          " does not require grad and has no grad_fn");
    Tensor grad = i < grads.size() ? grads[i] : Tensor();
    if (!grad.defined()) {
      check(t.numel() == 1, op, ": the gradient of tensor ", i,
            " can be left out only if it has one element, not sizes ", t.sizes(),
            "; pass a gradient, or call sum() first");
      grad = one_like(t);
    }
    check(grad.sizes() == t.sizes(), op, ": the gradient given for tensor ", i, " has sizes ", grad.sizes(),
          ", the tensor ", t.sizes());
    roots.edges.push_back(std::move(edge));
    roots.grads.push_back(detail::fit_gradient(std::move(grad),
                                               roots.edges[i].function->outputs[roots.edges[i].input_nr],
                                               *roots.edges[i].function, int(i)));
  }
  return roots;
}

std::vector<Edge> target_edges(const char* op, const variable_list& inputs) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(inputs[i].requires_grad(), op, ": input ", i, " of sizes ", inputs[i].sizes(),
          " does not require grad");
    edges.push_back(detail::gradient_edge(inputs[i]));
  }
  return edges;
}

}  // namespace

void backward(const variable_list& tensors, const variable_list& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph, const variable_list& inputs) {
  Roots roots = roots_of("backward", tensors, grad_tensors);
  for (const Tensor& input : inputs)
    if (!input.is_leaf()) input.retain_grad();
  std::vector<Edge> targets = target_edges("backward", inputs);
  detail::run_backward(roots.edges, std::move(roots.grads),
                       {.retain_graph = retain_graph.value_or(create_graph),
                        .create_graph = create_graph,
                        .targets = targets});
}

variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs, std::optional<bool> retain_graph, bool create_graph,
                   bool allow_unused) {
  check(!inputs.empty(), "grad: at least one input is needed");
  Roots roots = roots_of("grad", outputs, grad_outputs);
  std::vector<Edge> targets = target_edges("grad", inputs);
  variable_list grads = detail::run_backward(roots.edges, std::move(roots.grads),
                                             {.retain_graph = retain_graph.value_or(create_graph),
                                              .create_graph = create_graph,
                                              .targets = targets,
                                              .accumulate = false});
  for (size_t i = 0; i < grads.size() && !allow_unused; ++i)
    check(grads[i].defined(), "grad: input ", i, " of sizes ", inputs[i].sizes(),
          " was not used to compute the outputs; ",
          "pass allow_unused=true to get an undefined gradient for it");
  return grads;
}

unsigned register_post_accumulate_grad_hook(const Tensor& leaf, detail::Function<void(const Tensor&)> hook) {
  check(leaf.requires_grad() && leaf.is_leaf(),
        "register_post_accumulate_grad_hook: a leaf that requires grad is needed");
  auto& list = detail::meta_of(leaf.get()).post_accumulate;
  if (!list) list = detail::Ref<detail::HookList>::adopt(new detail::HookList);
  list->hooks.push_back([hook = std::move(hook)](const Tensor& t) {
    hook(t);
    return Tensor();
  });
  return unsigned(list->hooks.size() - 1);
}

namespace {
void remove_from(const char* op, const detail::Ref<detail::HookList>& list, unsigned index) {
  check(list && index < list->hooks.size(), op, ": there is no hook ", index);
  list->hooks[index] = {};
}
}  // namespace

void remove_post_accumulate_grad_hook(const Tensor& leaf, unsigned index) {
  remove_from("remove_post_accumulate_grad_hook", detail::meta_of(leaf.get()).post_accumulate, index);
}

void RemovableHandle::remove() {
  detail::Function<void()> remove = std::exchange(remove_, {});
  if (remove && !detail::fault(73)) remove();
}

}  // namespace tarn::inline v1::autograd

namespace tarn::inline v1::detail {

namespace {

struct PreHookInSlot final : autograd::FunctionPreHook {
  explicit PreHookInSlot(std::shared_ptr<HookSlot<NodePreHook>> slot) : slot(std::move(slot)) {}
  autograd::variable_list operator()(const autograd::variable_list& grads) override {
    Function<NodePreHook> f = slot->get();
    return f ? f(grads) : grads;
  }
  std::shared_ptr<HookSlot<NodePreHook>> slot;
};

struct PostHookInSlot final : autograd::FunctionPostHook {
  explicit PostHookInSlot(std::shared_ptr<HookSlot<NodeHook>> slot) : slot(std::move(slot)) {}
  autograd::variable_list operator()(const autograd::variable_list& inputs,
                                     const autograd::variable_list& outputs) override {
    Function<NodeHook> f = slot->get();
    return f ? f(inputs, outputs) : inputs;
  }
  std::shared_ptr<HookSlot<NodeHook>> slot;
};

}  // namespace

autograd::RemovableHandle add_node_hook(Node* node, Function<NodeHook> hook) {
  check(node != nullptr, "scoped_hook: the node is null; a leaf has none");
  auto slot = std::make_shared<HookSlot<NodeHook>>(std::move(hook));
  node->add_post_hook(std::make_unique<PostHookInSlot>(slot));
  return handle_of(std::move(slot));
}

autograd::RemovableHandle add_node_pre_hook(Node* node, Function<NodePreHook> hook) {
  check(node != nullptr, "scoped_pre_hook: the node is null; a leaf has none");
  auto slot = std::make_shared<HookSlot<NodePreHook>>(std::move(hook));
  node->add_pre_hook(std::make_unique<PreHookInSlot>(slot));
  return handle_of(std::move(slot));
}

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1 {

void Tensor::remove_hook(unsigned index) const {
  autograd::remove_from("remove_hook", detail::meta_of(get()).hooks, index);
}

unsigned detail::add_tensor_hook(const Tensor& t, Function<Tensor(const Tensor&)> hook) {
  check(t.requires_grad(), "register_hook: this tensor does not require grad, so it gets no gradient");
  Edge edge = gradient_edge(t);
  AutogradMeta& meta = meta_of(t.get());
  if (!meta.hooks) {
    meta.hooks = Ref<HookList>::adopt(new HookList);
    // A leaf's hooks are found through the leaf: its node comes and goes.
    if (meta.grad_fn) hooks_of(*meta.grad_fn).tensor_hooks.push_back({meta.output_nr, meta.hooks});
  }
  meta.hooks->hooks.push_back(std::move(hook));
  return unsigned(meta.hooks->hooks.size() - 1);
}

}  // namespace tarn::inline v1
