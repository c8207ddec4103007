// Node: one recorded operation of the graph that backward() walks. It turns the gradients of its outputs into
// gradients of its inputs; edge i says where the gradient of input i goes. Tensors own the node that made
// them, nodes own the nodes that they lead to, so the graph lives exactly as long as a result of it.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;

struct Node;
struct NodeHooks;
void retain(const Node* node) noexcept;
TARN_API void release(Node* node) noexcept;

// Where a gradient goes: input `input_nr` of `function`'s backward, which is output `input_nr` of the
// operation it recorded. No function: no gradient is wanted.
struct Edge {
  detail::Ref<Node> function;
  uint32_t input_nr = 0;
  bool is_valid() const { return bool(function); }
};

// What the gradient of a node's output must look like.
struct GradMeta {
  Dims sizes;
  ScalarType dtype = kFloat;
  Device device;
};

struct FunctionPreHook {
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};
struct FunctionPostHook {
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& grad_inputs, const variable_list& grad_outputs) = 0;
};

// One call of a node by the engine.
struct NodeCall {
  Tensor* grads;     // of the outputs; the node may take them
  const bool* need;  // per edge: is this gradient wanted?
  Tensor* results;   // per edge, undefined at first
  bool keep_saved;   // retain_graph
  // Where the gradient of output 0 enters the graph, if not in the node itself (it is the inner node of a
  // CopySlices).
  const Edge* output_edge = nullptr;
};

struct TARN_API Node {
  explicit Node(const char* op_name) : op_name(op_name) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();

  virtual void apply(NodeCall& call) = 0;
  // Frees the saved tensors after a backward without retain_graph.
  virtual void release_saved() {}

  // "MulBackward0", as PyTorch prints it; op_name is "mul".
  virtual std::string name() const;
  uint32_t num_inputs() const { return output_count; }
  uint32_t num_outputs() const { return edge_count; }
  ArrayRef<Edge> next_edges() const { return {edges, edge_count}; }
  const Edge& next_edge(size_t i) const { return next_edges().at(i); }
  uint64_t sequence_nr() const { return sequence; }
  // The number that is returned removes the hook again. See autograd.h for hooks that are plain functions.
  uintptr_t add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  uintptr_t add_post_hook(std::unique_ptr<FunctionPostHook> hook);
  // False if the hook is gone.
  bool del_pre_hook(uintptr_t key);
  bool del_post_hook(uintptr_t key);

  // Sets `sequence` above that of every edge's node; call it when the edges are known. In anomaly mode it
  // remembers where in the user's code this is.
  void number();

  mutable std::atomic<int32_t> refs{1};
  uint32_t edge_count = 0;
  uint32_t output_count = 0;
  bool is_accumulate = false;  // an AccumulateGrad
  bool weakly_held = false;    // something points to it without owning it, and may revive() it
  uint32_t block_size = 0;     // bytes, if the node lives in a block of pool_allocate()
  const char* op_name;
  // Higher than that of every node its edges lead to, on whatever thread they were made. Within a thread it
  // grows with every node, so that backward, which runs the highest first, goes through a graph in reverse
  // order of creation.
  uint64_t sequence = 0;
  Node* next_dead = nullptr;  // while the node waits to be freed
  Edge* edges = nullptr;
  GradMeta* outputs = nullptr;
  NodeHooks* hooks = nullptr;  // owned; most nodes have none. Anomaly mode keeps the call's place there.

  static void operator delete(Node* node, std::destroying_delete_t);
};

inline void retain(const Node* node) noexcept { node->refs.fetch_add(1, std::memory_order_relaxed); }

// A reference to a weakly held node, or none if it is being freed on another thread. The pointer must be
// guarded by a mutex that the node's destructor takes too.
detail::Ref<Node> revive(Node* node) noexcept;

}  // namespace tarn::inline v1::autograd

namespace tarn::inline v1::detail {
using autograd::Edge;
using autograd::GradMeta;
using autograd::Node;
}  // namespace tarn::inline v1::detail
