// fuse: joins pointwise ops, copies and one final sum or mean into groups that sweep memory once.
//
// Nodes are joined in their order with the groups that made their inputs. A group must be one moment in the
// order: no path may leave it and come back. Within it, memory that one member writes and another touches
// must be the same elements in the same order, since an element's members run one after the other before the
// next element.
#include <algorithm>

#include <tarn/compile/counters.h>
#include <tarn/compile/fused.h>
#include <tarn/compile/lower.h>
#include <tarn/compile/passes.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kMaxMembers = 40;

class Fuser {
 public:
  explicit Fuser(const Graph& graph) : g_(graph), unit_of_(graph.nodes.size()), units_(graph.nodes.size()) {
    find_dependencies();
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      what_.push_back(fusable(g_, g_.nodes[n]));
      unit_of_[n] = int(n);
      units_[n] = {int(n)};
    }
  }

  Graph run() {
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (what_[n].kind != Fusable::Kind::None) join_producers(int(n));
    return rebuild();
  }

 private:
  const GraphValue& value(int v) const { return g_.values[size_t(v)]; }
  std::vector<int>& unit(int u) { return units_[size_t(u)]; }

  // Which earlier nodes must come before a node: those that touch a storage it touches, where one of them
  // writes.
  void find_dependencies() {
    std::vector<std::vector<int>> readers(g_.storages.size()), writers(g_.storages.size());
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      std::vector<int> before;
      auto after = [&](const std::vector<int>& nodes) {
        before.insert(before.end(), nodes.begin(), nodes.end());
      };
      for_reads(g_.nodes[n], [&](int v) { after(writers[size_t(value(v).storage)]); });
      for_writes(g_.nodes[n], [&](int v) {
        after(writers[size_t(value(v).storage)]);
        after(readers[size_t(value(v).storage)]);
      });
      for_reads(g_.nodes[n], [&](int v) { readers[size_t(value(v).storage)].push_back(int(n)); });
      for_writes(g_.nodes[n], [&](int v) {
        writers[size_t(value(v).storage)] = {int(n)};
        readers[size_t(value(v).storage)].clear();
      });
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      before.erase(std::remove(before.begin(), before.end(), int(n)), before.end());
      before_.push_back(std::move(before));
    }
  }

  void join_producers(int n) {
    std::vector<int> producers;
    for (int m : before_[size_t(n)]) producers.push_back(unit_of_[size_t(m)]);
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    for (int u : producers)
      if (u != unit_of_[size_t(n)] && fits(u, unit_of_[size_t(n)])) merge(u, unit_of_[size_t(n)]);
  }

  bool fits(int a, int b) {
    if (unit(a).empty() || unit(b).empty() || unit(a).size() + unit(b).size() > kMaxMembers) return false;
    bool shares = false;
    for (int m : unit(a))
      for (int n : unit(b))
        if (!members_fit(m, n, shares)) return false;
    if (!shares || operands(unit(a), unit(b)) > kMaxOperands - 2) return false;
    return !leaves_and_returns(a, b);
  }

  // m stands before n in the graph or after it.
  bool members_fit(int m, int n, bool& shares) const {
    if (m > n) std::swap(m, n);
    const Fusable &first = what_[size_t(m)], &second = what_[size_t(n)];
    if (first.kind == Fusable::Kind::None || second.kind == Fusable::Kind::None) return false;
    // A reduction is the last of its group.
    if (first.kind == Fusable::Kind::Reduce) return false;
    // A mean that overflows is made a second time, which a write over an input would not survive.
    if (second.kind == Fusable::Kind::Reduce && g_.nodes[size_t(m)].inplace) return false;
    if (!(value(first.domain).sizes == value(second.domain).sizes)) return false;
    return touches_fit(m, n, shares);
  }

  bool touches_fit(int m, int n, bool& shares) const {
    bool good = true;
    auto meet = [&](int a, int b, bool write) {
      if (!write || value(a).storage != value(b).storage) return;
      good = good && same_place(value(a), value(b)) && value(a).sizes == value(what_[size_t(m)].domain).sizes;
      shares = true;
    };
    const GraphNode &x = g_.nodes[size_t(m)], &y = g_.nodes[size_t(n)];
    for_writes(x, [&](int a) {
      for_reads(y, [&](int b) { meet(a, b, true); });
      for_writes(y, [&](int b) { meet(a, b, true); });
    });
    for_reads(x, [&](int a) { for_writes(y, [&](int b) { meet(a, b, true); }); });
    return good;
  }

  size_t operands(const std::vector<int>& a, const std::vector<int>& b) const {
    std::vector<int> all;
    for (const auto* nodes : {&a, &b})
      for (int n : *nodes) {
        for (int v : g_.nodes[size_t(n)].inputs) all.push_back(v);
        for (int v : g_.nodes[size_t(n)].outputs) all.push_back(v);
      }
    std::sort(all.begin(), all.end());
    return size_t(std::unique(all.begin(), all.end()) - all.begin());
  }

  // Whether another unit lies on a path from one of the two to one of the two.
  bool leaves_and_returns(int a, int b) {
    std::vector<bool> seen(units_.size());
    std::vector<int> open;
    auto visit = [&](int u) {
      for (int n : unit(u))
        for (int m : before_[size_t(n)]) {
          int from = unit_of_[size_t(m)];
          if (from != a && from != b && !seen[size_t(from)]) seen[size_t(from)] = true, open.push_back(from);
        }
    };
    visit(a);
    visit(b);
    while (!open.empty()) {
      int u = open.back();
      open.pop_back();
      for (int n : unit(u))
        for (int m : before_[size_t(n)])
          if (unit_of_[size_t(m)] == a || unit_of_[size_t(m)] == b) return true;
      visit(u);
    }
    return false;
  }

  void merge(int a, int b) {
    for (int n : unit(a)) unit_of_[size_t(n)] = b;
    std::vector<int> all;
    std::merge(unit(a).begin(), unit(a).end(), unit(b).begin(), unit(b).end(), std::back_inserter(all));
    unit(b) = std::move(all);
    unit(a).clear();
  }

  // --- the new graph ---

  bool is_group(const std::vector<int>& nodes) const {
    return nodes.size() > 1 ||
           (nodes.size() == 1 && what_[size_t(nodes[0])].kind == Fusable::Kind::Normalise);
  }

  // Whether anyone outside of the unit sees what node n writes.
  bool is_seen(int u, int n) {
    int storage = value(what_[size_t(n)].result).storage;
    const GraphStorage& s = g_.storages[size_t(storage)];
    bool seen = s.escapes || s.external;
    for (size_t m = size_t(n) + 1; m < g_.nodes.size() && !seen; ++m) {
      if (unit_of_[m] == u) continue;
      for_reads(g_.nodes[m], [&](int v) { seen = seen || value(v).storage == storage; });
    }
    return seen;
  }

  GraphNode lowered(int u) {
    std::vector<bool> stored;
    for (int n : unit(u)) stored.push_back(is_seen(u, n));
    compile_counters().groups_made.fetch_add(1, std::memory_order_relaxed);
    return lower_group(g_, unit(u), stored);
  }

  // Units in an order that respects dependencies, otherwise in that of their last members; views where they
  // are first needed, or at the end if someone may look at them. Others may show memory that is no more.
  Graph rebuild() {
    std::vector<bool> done(units_.size());
    for (size_t u = 0; u < units_.size(); ++u) emit(int(u), done);
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (is_view(g_.nodes[n]) && value(g_.nodes[n].outputs[0]).alive) emit_view(int(n), done);
    return with_nodes(g_, std::move(nodes_));
  }

  void emit_view(int n, std::vector<bool>& done) {
    if (done[size_t(n)]) return;
    done[size_t(n)] = true;
    emit_views_of(g_.nodes[size_t(n)], done);
    nodes_.push_back(g_.nodes[size_t(n)]);
  }
  void emit_views_of(const GraphNode& node, std::vector<bool>& done) {
    for (int v : node.inputs) {
      int producer = v < 0 ? -1 : value(v).producer;
      if (producer >= 0 && is_view(g_.nodes[size_t(producer)])) emit_view(producer, done);
    }
  }

  void emit(int u, std::vector<bool>& done) {
    if (unit(u).empty() || done[size_t(u)] || is_view(g_.nodes[size_t(unit(u)[0])])) return;
    std::vector<int> open = {u};
    while (!open.empty()) {
      int next = open.back(), waits_for = -1;
      for (int n : unit(next))
        for (int m : before_[size_t(n)]) {
          int from = unit_of_[size_t(m)];
          if (from != next && !done[size_t(from)]) waits_for = from;
        }
      if (waits_for >= 0) {
        open.push_back(waits_for);
        continue;
      }
      open.pop_back();
      if (done[size_t(next)]) continue;
      done[size_t(next)] = true;
      GraphNode node = is_group(unit(next)) ? lowered(next) : g_.nodes[size_t(unit(next)[0])];
      emit_views_of(node, done);
      nodes_.push_back(std::move(node));
    }
  }

  const Graph& g_;
  std::vector<std::vector<int>> before_;
  std::vector<Fusable> what_;
  std::vector<int> unit_of_;
  std::vector<std::vector<int>> units_;
  std::vector<GraphNode> nodes_;
};

}  // namespace

Graph fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace tarn::inline v1::detail
