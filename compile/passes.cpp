#include <tarn/compile/passes.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <tarn/compile/fused.h>
#include <tarn/compile/lower.h>

namespace tarn::inline v1::detail {

const std::vector<Pass>& all_passes() {
  static const auto* passes = new std::vector<Pass>{
      {"cse", remove_common}, {"dead_code", remove_dead}, {"batch_norm", split_batch_norm},
      {"fuse", fuse},         {"sweep", remove_dead},  // what fusion left without a reader
  };
  return *passes;
}

namespace {

void print_to_stderr(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool is_off(const PassOptions& options, std::string_view pass) {
  return std::find(options.disabled.begin(), options.disabled.end(), pass) != options.disabled.end();
}

std::string describe(const Graph& g, int v) {
  const GraphValue& value = g.values[size_t(v)];
  return str("%", v, " ", value.dtype, value.sizes, " in s", value.storage,
             value.offset ? str("+", value.offset) : "", value.alive ? " alive" : "");
}

}  // namespace

PassOptions PassOptions::from_environment() {
  PassOptions options;
  const char* value = std::getenv("TARN_COMPILE");
  std::string words = value ? value : "", word;
  for (char c : words + ",") {
    if (c != ',') {
      word += c;
      continue;
    }
    if (word.size() > 1 && word[0] == '-') options.disabled.push_back(word.substr(1));
    if (word == "passes") options.print = print_to_stderr;
    word.clear();
  }
  return options;
}

Graph run_passes(const Graph& captured, const PassOptions& options) {
  using Clock = std::chrono::steady_clock;
  Graph graph = captured;
  if (options.print) options.print(str("captured\n", to_text(graph)));
  for (const Pass& pass : all_passes()) {
    if (is_off(options, pass.name)) continue;
    // What batch_norm makes only fuse can run.
    if (std::string_view(pass.name) == "batch_norm" && is_off(options, "fuse")) continue;
    auto start = Clock::now();
    graph = pass.run(graph);
    double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    verify_graph(graph, pass.name);
    if (options.print) options.print(str("after ", pass.name, " (", ms, " ms)\n", to_text(graph)));
  }
  return graph;
}

std::string to_text(const Graph& g) {
  std::string out;
  for (int v : g.inputs) out += str("input ", describe(g, v), "\n");
  for (const GraphNode& node : g.nodes) {
    const char* separator = "";
    for (int v : node.outputs) {
      out += str(separator, v < 0 ? "-" : describe(g, v));
      separator = ", ";
    }
    out += str(node.outputs.empty() ? "" : " = ", node.op ? node.op->name : node.fused->name(),
               node.inplace ? "_(" : "(");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      bool written = int(i) >= node.write_begin && int(i) < node.write_end;
      out += str(i ? ", " : "", written ? "&" : "", node.inputs[i] < 0 ? "-" : str("%", node.inputs[i]));
    }
    for (int i = 0; i < (node.fused ? 0 : node.scalar_count); ++i) out += str(", #", node.first_scalar + i);
    out += str(")", node.site ? str("  ", node.site) : "", "\n");
  }
  return out;
}

void verify_graph(const Graph& g, const char* after) {
  std::vector<bool> there(g.values.size());
  for (int v : g.inputs) there[size_t(v)] = true;
  for (const GraphValue& value : g.values)
    ensure(value.storage >= 0 && size_t(value.storage) < g.storages.size(), "compile: pass ", after,
           " left a value without storage");
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const GraphNode& node = g.nodes[n];
    const char* name = node.op ? node.op->name : "fused";
    ensure(node.op || node.fused, "compile: pass ", after, " left a node that does nothing");
    ensure(0 <= node.write_begin && node.write_begin <= node.write_end &&
               node.write_end <= int(node.inputs.size()),
           "compile: pass ", after, ": ", name, " writes inputs it has not");
    for (int v : node.inputs)
      ensure(v < 0 || there[size_t(v)], "compile: pass ", after, ": ", name, " reads %", v,
             " before it is there");
    for (int v : node.outputs) {
      if (v < 0) continue;
      ensure(g.values[size_t(v)].producer == int(n), "compile: pass ", after, ": %", v,
             " has a wrong producer");
      there[size_t(v)] = true;
    }
  }
}

Graph with_nodes(const Graph& graph, std::vector<GraphNode> nodes) {
  Graph result = graph;
  result.nodes = std::move(nodes);
  for (GraphValue& value : result.values) value.producer = -1;
  for (size_t n = 0; n < result.nodes.size(); ++n)
    for (int v : result.nodes[n].outputs)
      if (v >= 0) result.values[size_t(v)].producer = int(n);
  return result;
}

// --- cse: the same op of the same values is done once ---

namespace {

class Commoner {
 public:
  explicit Commoner(const Graph& graph)
      : g_(graph), version_(graph.storages.size()), same_(graph.values.size()) {
    for (size_t v = 0; v < same_.size(); ++v) same_[v] = int(v);
    written_.resize(graph.storages.size());
    for (const GraphNode& node : graph.nodes)
      for (int i = node.write_begin; i < node.write_end; ++i)
        if (node.inputs[size_t(i)] >= 0) written_[storage(node.inputs[size_t(i)])] = true;
  }

  Graph run() {
    std::vector<GraphNode> left;
    for (GraphNode node : g_.nodes) {
      for (int& v : node.inputs)
        if (v >= 0) v = same_[size_t(v)];
      int twin = find_twin(node);
      if (twin >= 0) {
        merge(node, known_[size_t(twin)].node);
        continue;
      }
      for (int i = node.write_begin; i < node.write_end; ++i)
        if (node.inputs[size_t(i)] >= 0) ++version_[storage(node.inputs[size_t(i)])];
      if (may_be_shared(node)) known_.push_back({node, versions(node)});
      left.push_back(std::move(node));
    }
    return with_nodes(g_, std::move(left));
  }

 private:
  struct Known {
    GraphNode node;
    std::vector<int> versions;
  };

  size_t storage(int v) const { return size_t(g_.values[size_t(v)].storage); }

  std::vector<int> versions(const GraphNode& node) const {
    std::vector<int> all;
    for (int v : node.inputs) all.push_back(v < 0 ? 0 : version_[storage(v)]);
    return all;
  }

  // Numbers may differ from call to call, memory that anyone holds or writes must stay its own.
  bool may_be_shared(const GraphNode& node) const {
    if (node.inplace || node.write_end > node.write_begin || node.scalar_count > 0 || node.inputs.empty())
      return false;
    for (int v : node.outputs) {
      if (v < 0 || g_.values[size_t(v)].alive) return false;
      if (is_view(node)) continue;
      if (g_.storages[storage(v)].escapes || written_[storage(v)]) return false;
    }
    return true;
  }

  int find_twin(const GraphNode& node) const {
    if (!may_be_shared(node)) return -1;
    for (size_t k = 0; k < known_.size(); ++k) {
      const GraphNode& other = known_[k].node;
      if (other.op == node.op && other.inputs == node.inputs && other.attrs == node.attrs &&
          (is_view(node) ? same_views(node, other) : known_[k].versions == versions(node)))
        return int(k);
    }
    return -1;
  }
  bool same_views(const GraphNode& a, const GraphNode& b) const {
    bool same = true;
    for (size_t i = 0; i < a.outputs.size(); ++i)
      same = same && same_place(g_.values[size_t(a.outputs[i])], g_.values[size_t(b.outputs[i])]);
    return same;
  }

  void merge(const GraphNode& node, const GraphNode& twin) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      int from = node.outputs[i], to = twin.outputs[i];
      int old = g_.values[size_t(from)].storage, now = g_.values[size_t(to)].storage;
      for (size_t v = 0; v < same_.size(); ++v) {
        if (same_[v] == from) same_[v] = to;
        if (!is_view(node) && g_.values[v].storage == old) g_.values[v].storage = now;
      }
    }
  }

  Graph g_;
  std::vector<int> version_;  // of each storage: how often it was written so far
  std::vector<int> same_;     // the value that stands for each value
  std::vector<bool> written_;
  std::vector<Known> known_;
};

}  // namespace

Graph remove_common(const Graph& graph) { return Commoner(graph).run(); }

// --- dead_code: what nobody can see is not done. Memory that escapes is seen, and so is what reaches it ---

Graph remove_dead(const Graph& graph) {
  std::vector<bool> seen(graph.storages.size()), named(graph.values.size());
  for (size_t s = 0; s < seen.size(); ++s) seen[s] = graph.storages[s].escapes || graph.storages[s].external;
  auto storage = [&](int v) { return size_t(graph.values[size_t(v)].storage); };
  std::vector<GraphNode> left;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    bool live = false;
    for_writes(node, [&](int v) { live = live || (v >= 0 && seen[storage(v)]); });
    if (is_view(node))
      for (int v : node.outputs) live = live || named[size_t(v)] || graph.values[size_t(v)].alive;
    if (!live) continue;
    for (int v : node.inputs)
      if (v >= 0) named[size_t(v)] = true;
    for_reads(node, [&](int v) { seen[storage(v)] = true; });
    left.push_back(node);
  }
  std::reverse(left.begin(), left.end());
  return with_nodes(graph, std::move(left));
}

}  // namespace tarn::inline v1::detail
