#include <tarn/autograd/autograd.h>

#include <tarn/autograd/engine.h>
#include <tarn/autograd/meta.h>

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

}  // namespace tarn::inline v1::autograd

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
