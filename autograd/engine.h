// The engine: walks the graph from results to leaves and calls the nodes, highest sequence number first.
// Every edge leads to a lower number, so when a node comes up all its gradients have arrived; nothing is
// counted beforehand. The calling thread does it all, without recursion.
#pragma once

#include <tarn/autograd/node.h>
#include <tarn/core/function.h>

namespace tarn::inline v1::detail {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  // With targets: only what leads to them runs (a target without node is led to by nothing). Their gradients
  // are returned, or, if `accumulate`, added to the leaves.
  ArrayRef<Edge> targets = {};
  bool accumulate = true;
};

// Backpropagates `grads` from `roots`; returns the gradients of the targets, undefined where none arrived.
std::vector<Tensor> run_backward(ArrayRef<Edge> roots, std::vector<Tensor> grads,
                                 const BackwardOptions& options);

// For hooks: calls f once when the backward that runs on this thread is through, the outermost if they nest.
// Not called if that backward throws.
TARN_API void queue_callback(Function<void()> f);

// `grad` in the sizes and dtype that `meta` asks for: summed over what broadcasting made, cast. An Error that
// names `from`, whose gradient `index` it is, if that cannot be done.
Tensor fit_gradient(Tensor grad, const GradMeta& meta, const Node& from, int index);

}  // namespace tarn::inline v1::detail
