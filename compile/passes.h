// The passes: functions from graph to graph, in one ordered table, run by one runner that can leave some out,
// time them, check what they gave and print it.
#pragma once

#include <string>
#include <vector>

#include <tarn/compile/graph.h>

namespace tarn::inline v1::detail {

struct Pass {
  const char* name;
  Graph (*run)(const Graph& graph);
};

// In the order they run.
TARN_API const std::vector<Pass>& all_passes();

struct PassOptions {
  std::vector<std::string> disabled;                 // names
  void (*print)(const std::string& text) = nullptr;  // gets each pass's name, time and graph
  // From TARN_COMPILE, a list of words: "-fuse" disables the pass fuse, "passes" prints to stderr.
  static PassOptions from_environment();
};

TARN_API Graph run_passes(const Graph& captured,
                          const PassOptions& options = PassOptions::from_environment());

// For people: values, then one line per node.
TARN_API std::string to_text(const Graph& graph);

// Throws an internal error naming `after` if the graph is not well formed.
TARN_API void verify_graph(const Graph& graph, const char* after);

// --- what passes share ---

inline bool is_view(const GraphNode& node) { return node.op && node.op->kind == Kind::View; }

// Calls f(value) for what the node reads, and for what it writes. A View op does neither. A kernel that runs
// over its own input reads it too.
template <class F>
void for_reads(const GraphNode& node, F f) {
  if (is_view(node)) return;
  for (int v : node.inputs)
    if (v >= 0) f(v);
}
template <class F>
void for_writes(const GraphNode& node, F f) {
  if (is_view(node)) return;
  for (int i = node.write_begin; i < node.write_end; ++i) f(node.inputs[size_t(i)]);
  for (int v : node.outputs)
    if (v >= 0) f(v);
}

// The same graph with these nodes, and each value's producer set anew.
Graph with_nodes(const Graph& graph, std::vector<GraphNode> nodes);

Graph remove_common(const Graph& graph);     // cse
Graph remove_dead(const Graph& graph);       // dead_code
Graph split_batch_norm(const Graph& graph);  // batch_norm
Graph fuse(const Graph& graph);              // fuse

}  // namespace tarn::inline v1::detail
