#include <tarn/autograd/engine.h>

#include <algorithm>

#include <tarn/autograd/accumulate.h>
#include <tarn/autograd/anomaly.h>
#include <tarn/autograd/node_table.h>
#include <tarn/autograd/small_array.h>
#include <tarn/core/autocast.h>
#include <tarn/core/fault.h>
#include <tarn/core/op.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>

namespace tarn::inline v1::detail {

namespace {

bool expands_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() > to.size()) return false;
  size_t lead = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && from[d] != to[d + lead]) return false;
  return true;
}

// Nobody else would see a write to it.
bool is_ours(const Tensor& t) {
  const TensorImpl& impl = t.get();
  return !impl.view && impl.refs.load(std::memory_order_acquire) == 1 &&
         impl.storage->refs.load(std::memory_order_acquire) == 1;
}

void add_into(Tensor& sum, Tensor grad) {
  if (!sum.defined() || fault(9)) {
    sum = std::move(grad);
  } else if (mode.grad) {
    sum = add(sum, grad);
  } else if (is_ours(sum)) {
    sum.add_(grad);
  } else if (is_ours(grad)) {
    grad.add_(sum);
    sum = std::move(grad);
  } else {
    sum = add(sum, grad);
  }
}

// Which nodes lead to a target, for backward with targets.
class Needed {
 public:
  explicit Needed(ArrayRef<Edge> roots, ArrayRef<Edge> targets) {
    uint64_t lowest = UINT64_MAX;
    for (const Edge& t : targets)
      if (t.is_valid()) lowest = std::min(lowest, t.function->sequence);
    std::vector<Node*> reached;
    auto visit = [&](Node* node) {
      if (!node || node->sequence < lowest || index_.find(node)) return;
      index_.insert(node, 0);
      reached.push_back(node);
    };
    for (const Edge& root : roots) visit(root.function.get());
    for (size_t i = 0; i < reached.size(); ++i)
      for (const Edge& edge : reached[i]->next_edges()) visit(edge.function.get());
    for (const Edge& t : targets)
      if (uint32_t* mark = index_.find(t.function.get())) *mark = kTarget;
    std::sort(reached.begin(), reached.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (Node* node : reached)
      for (const Edge& edge : node->next_edges())
        if (edge.is_valid() && of(edge.function.get())) *index_.find(node) |= kLeadsToTarget;
  }
  // A target is wanted; it runs only if it leads to another one.
  uint32_t of(const Node* node) {
    uint32_t* mark = index_.find(node);
    return mark ? *mark : 0;
  }
  static constexpr uint32_t kTarget = 1, kLeadsToTarget = 2;

 private:
  NodeTable index_;
};

using autograd::variable_list;

class Backward {
 public:
  Backward(ArrayRef<Edge> roots, const BackwardOptions& options) : roots_(roots), options_(options) {
    if (options.targets.empty()) return;
    needed_ = std::make_unique<Needed>(roots, options.targets);
    captured_.resize(options.targets.size());
  }

  void seed(const Edge& root, Tensor grad) {
    if (wants(root)) add_gradient(root, std::move(grad));
  }

  std::vector<Tensor> run() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), lower);
      Node* node = heap_.back();
      heap_.pop_back();
      run_node(*node);
    }
    return std::move(captured_);
  }

 private:
  // The gradients of one node's outputs, as far as they have arrived.
  struct Slot {
    Tensor few[kMaxOutputs];
    std::vector<Tensor> many;  // for a node of more outputs
    Tensor* grads(const Node& node) {
      if (node.output_count <= kMaxOutputs) return few;
      many.resize(node.output_count);
      return many.data();
    }
  };

  static bool lower(const Node* a, const Node* b) { return a->sequence < b->sequence; }

  bool wants(const Edge& edge) const {
    return edge.is_valid() && (!needed_ || needed_->of(edge.function.get()));
  }

  void add_gradient(const Edge& edge, Tensor grad) {
    Node* node = edge.function.get();
    uint32_t* found = frontier_.find(node);
    uint32_t slot = found ? *found : open_slot(node);
    add_into(slots_[slot].grads(*node)[edge.input_nr], std::move(grad));
  }

  uint32_t open_slot(Node* node) {
    uint32_t slot;
    if (free_.empty()) {
      slot = uint32_t(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    frontier_.insert(node, slot);
    heap_.push_back(node);
    std::push_heap(heap_.begin(), heap_.end(), lower);
    return slot;
  }

  Slot close_slot(Node* node) {
    uint32_t slot = *frontier_.find(node);
    frontier_.erase(node);
    free_.push_back(slot);
    return std::exchange(slots_[slot], Slot());
  }

  void run_node(Node& node) {
    Slot slot = close_slot(&node);
    Tensor* grads = slot.grads(node);
    call_tensor_hooks(node, grads);
    capture(node, grads);
    if (!executes(node)) return;
    if (node.hooks && !node.hooks->pre.empty()) call_pre_hooks(node, grads);
    variable_list seen;
    if (node.hooks && !node.hooks->post.empty()) seen.assign(grads, grads + node.output_count);

    SmallArray<bool, 8> need(node.edge_count);
    SmallArray<Tensor, 8> results(node.edge_count);
    for (uint32_t i = 0; i < node.edge_count; ++i) need[i] = wants(node.edges[i]);
    autograd::NodeCall call{grads, need.data(), results.data(), options_.retain_graph};
    if (autograd::AnomalyMode::is_enabled()) [[unlikely]]
      apply_watched(node, call, roots_);
    else
      node.apply(call);
    if (!options_.retain_graph) node.release_saved();
    // Let go of what came in, so that gradients passed through are ours to add to.
    slot = Slot();
    if (node.hooks && !node.hooks->post.empty()) call_post_hooks(node, results.data(), seen);
    for (uint32_t i = 0; i < node.edge_count; ++i)
      if (need[i] && results[i].defined()) pass_on(node, int(i), std::move(results[i]));
  }

  void pass_on(const Node& node, int i, Tensor grad) {
    const Edge& edge = node.edges[i];
    add_gradient(edge, fit_gradient(std::move(grad), edge.function->outputs[edge.input_nr], node, i));
  }

  bool executes(const Node& node) const {
    if (!needed_) return true;
    uint32_t mark = needed_->of(&node);
    return (mark & Needed::kLeadsToTarget) || (options_.accumulate && node.is_accumulate);
  }

  void capture(const Node& node, const Tensor* grads) {
    if (!needed_ || options_.accumulate) return;
    for (size_t i = 0; i < options_.targets.size(); ++i)
      if (options_.targets[i].function.get() == &node) captured_[i] = grads[options_.targets[i].input_nr];
  }

  static void call_hooks(const HookList& list, Tensor& grad, const Node& node, uint32_t nr) {
    if (!grad.defined()) return;
    for (size_t i = 0; i < list.hooks.size(); ++i) {
      TensorHook hook = list.hooks[i];
      if (!hook) continue;
      Tensor changed = hook(grad);
      if (changed.defined()) grad = fit_gradient(std::move(changed), node.outputs[nr], node, int(nr));
    }
  }

  static void call_tensor_hooks(Node& node, Tensor* grads) {
    if (node.is_accumulate) {
      const Tensor& leaf = static_cast<AccumulateGrad&>(node).variable;
      if (leaf.defined() && leaf.get().autograd->hooks)
        call_hooks(*leaf.get().autograd->hooks, grads[0], node, 0);
    }
    if (!node.hooks) return;
    for (const auto& entry : node.hooks->tensor_hooks)
      call_hooks(*entry.list, grads[entry.output_nr], node, entry.output_nr);
    for (const auto& entry : node.hooks->retained) {
      std::lock_guard lock(entry.slot->mutex);
      const Tensor& grad = grads[entry.output_nr];
      if (!entry.slot->meta || !grad.defined()) continue;
      Tensor& kept = entry.slot->meta->grad;
      kept = kept.defined() ? add(kept, grad) : grad.clone();
    }
  }

  static void call_pre_hooks(Node& node, Tensor* grads) {
    for (const auto& hook : std::vector(node.hooks->pre)) {
      variable_list out = (*hook)(variable_list(grads, grads + node.output_count));
      check(out.size() == node.output_count, node.op_name, ": a pre hook returned ", out.size(),
            " gradients for ", node.output_count, " outputs");
      std::move(out.begin(), out.end(), grads);
    }
  }

  static void call_post_hooks(Node& node, Tensor* results, const variable_list& grads) {
    for (const auto& hook : std::vector(node.hooks->post)) {
      variable_list out = (*hook)(variable_list(results, results + node.edge_count), grads);
      check(out.size() == node.edge_count, node.op_name, ": a post hook returned ", out.size(),
            " gradients for ", node.edge_count, " inputs");
      std::move(out.begin(), out.end(), results);
    }
  }

  ArrayRef<Edge> roots_;
  const BackwardOptions& options_;
  std::unique_ptr<Needed> needed_;
  std::vector<Tensor> captured_;
  std::vector<Node*> heap_;  // kept alive by the roots
  NodeTable frontier_;       // node -> slot
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace

Tensor fit_gradient(Tensor grad, const GradMeta& meta, const Node& from, int index) {
  if (grad.sizes() != IntArrayRef(meta.sizes)) {
    check(expands_to(meta.sizes, grad.sizes()), "backward: ", from.op_name, " gave gradient ", index,
          " the sizes ", grad.sizes(), ", but the tensor it belongs to has ", meta.sizes);
    grad = sum_to(grad, meta.sizes);
  }
  if (grad.dtype() != meta.dtype) {
    check(is_floating(grad.dtype()) && is_floating(meta.dtype), "backward: ", from.op_name, " gave gradient ",
          index, " the dtype ", grad.dtype(), ", but the tensor it belongs to is ", meta.dtype);
    grad = cast(grad, meta.dtype);
  }
  check(grad.device() == meta.device, "backward: ", from.op_name, " gave gradient ", index, " on ",
        grad.device(), ", but the tensor it belongs to is on ", meta.device);
  return grad;
}

namespace {

// What hooks of this thread's backward asked to be called at its end. The vector is made for the outermost
// backward and lives on its stack.
thread_local std::vector<Function<void()>>* callbacks = nullptr;

class CallbackScope {
 public:
  CallbackScope() : outermost_(callbacks == nullptr) {
    if (outermost_) callbacks = &list_;
  }
  ~CallbackScope() {
    if (outermost_) callbacks = nullptr;
  }
  // A callback may queue another one.
  void run() {
    for (size_t i = 0; outermost_ && i < list_.size(); ++i) {
      Function<void()> f = list_[i];
      f();
    }
  }

 private:
  bool outermost_;
  std::vector<Function<void()>> list_;
};

}  // namespace

void queue_callback(Function<void()> f) {
  check(callbacks != nullptr, "queue_callback: no backward is running on this thread; call it from a hook");
  callbacks->push_back(std::move(f));
}

std::vector<Tensor> run_backward(ArrayRef<Edge> roots, std::vector<Tensor> grads,
                                 const BackwardOptions& options) {
  AutoGradMode recording(options.create_graph);
  AutocastOff autocast_off;
  CallbackScope at_end;
  Backward backward(roots, options);
  for (size_t i = 0; i < roots.size(); ++i) backward.seed(roots[i], std::move(grads[i]));
  std::vector<Tensor> captured = backward.run();
  at_end.run();
  return captured;
}

}  // namespace tarn::inline v1::detail
