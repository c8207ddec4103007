#include <tarn/autograd/anomaly.h>

#include <atomic>
#include <cmath>

#include <tarn/autograd/node_hooks.h>
#include <tarn/autograd/node_table.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1 {

namespace {

constexpr int kOn = 1, kCheck = 2;
std::atomic<int> anomaly{0};

}  // namespace

namespace autograd {

bool AnomalyMode::is_enabled() { return anomaly.load(std::memory_order_relaxed) & kOn; }
bool AnomalyMode::should_check_nan() { return anomaly.load(std::memory_order_relaxed) == (kOn | kCheck); }
void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  anomaly.store((enabled ? kOn : 0) | (check_nan ? kCheck : 0), std::memory_order_relaxed);
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan)
    : enabled_before_(AnomalyMode::is_enabled()),
      check_before_(anomaly.load(std::memory_order_relaxed) & kCheck) {
  AnomalyMode::set_enabled(true, check_nan);
}

DetectAnomalyGuard::~DetectAnomalyGuard() { AnomalyMode::set_enabled(enabled_before_, check_before_); }

}  // namespace autograd

namespace detail {

namespace {

// Whose gradient this thread computes.
thread_local std::shared_ptr<const Origin> computing;

bool is_finite(const Tensor& t) {
  if (!t.defined() || !is_floating(t.dtype()) || t.numel() == 0) return true;
  NoGradGuard no_grad;
  return fault(72) ? !isnan(t).any().item<bool>() : isfinite(t).all().item<bool>();
}

const char* kind_of_bad(const Tensor& t) {
  NoGradGuard no_grad;
  return isnan(t).any().item<bool>() ? "nan" : "inf";
}

Origin* origin_of(const Node& node) { return node.hooks ? node.hooks->origin.get() : nullptr; }

// "it was called at train.cpp:7", and what led there.
std::string told(const Origin* origin) {
  if (!origin) return "it was not called in anomaly mode, so its place is unknown";
  std::string text = str("it was called at ", describe(origin->site));
  for (const Origin* o = origin->during.get(); o; o = o->during.get())
    append(text, str(", for the gradient of ", o->op_name, ", called at ", describe(o->site)));
  return text;
}

// The first op of the forward behind `roots` that made inf or nan from finite values.
const Origin* first_bad_forward(ArrayRef<Edge> roots) {
  NodeTable seen;
  std::vector<Node*> reached;
  auto visit = [&](const Edge& edge) {
    Node* node = edge.function.get();
    if (!node || seen.find(node)) return;
    seen.insert(node, 0);
    reached.push_back(node);
  };
  for (const Edge& root : roots) visit(root);
  const Node* first = nullptr;
  for (size_t i = 0; i < reached.size(); ++i) {
    const Origin* origin = origin_of(*reached[i]);
    if (origin && origin->gave_nonfinite && (!first || reached[i]->sequence < first->sequence))
      first = reached[i];
    for (const Edge& edge : reached[i]->next_edges()) visit(edge);
  }
  return first ? origin_of(*first) : nullptr;
}

std::string forward_told(ArrayRef<Edge> roots) {
  const Origin* first = first_bad_forward(roots);
  if (!first) return "";
  return str("; the first op of the forward that gave inf or nan is ", first->op_name, ", called at ",
             describe(first->site));
}

struct Computing {
  explicit Computing(const Node& node) : before(std::move(computing)) {
    computing = node.hooks ? node.hooks->origin : nullptr;
  }
  ~Computing() { computing = std::move(before); }
  std::shared_ptr<const Origin> before;
};

}  // namespace

void remember_origin(Node& node) {
  if (!node.hooks) node.hooks = new autograd::NodeHooks;
  node.hooks->origin = std::make_shared<Origin>(Origin{node.op_name, this_call(), computing});
}

void note_inputs(Node& node, ArrayRef<const Tensor*> inputs) {
  Origin* origin = origin_of(node);
  if (!origin || !autograd::AnomalyMode::should_check_nan()) return;
  origin->from_finite = true;
  for (const Tensor* t : inputs) origin->from_finite &= is_finite(*t);
}

void note_inputs(Node& node, const Args& a) {
  std::vector<const Tensor*> inputs;
  for (const In& in : a.inputs) inputs.push_back(in.tensor);
  note_inputs(node, inputs);
  Origin* origin = origin_of(node);
  if (!origin) return;
  for (const Scalar& s : a.scalars) origin->from_finite &= !s.is_floating() || std::isfinite(s.to<double>());
}

void note_outputs(Node& node, const Tensor* outputs, size_t count) {
  Origin* origin = origin_of(node);
  if (!origin || !origin->from_finite) return;
  for (size_t i = 0; i < count; ++i) origin->gave_nonfinite |= !is_finite(outputs[i]);
}

void apply_watched(Node& node, autograd::NodeCall& call, ArrayRef<Edge> roots) {
  bool checks = autograd::AnomalyMode::should_check_nan();
  for (uint32_t i = 0; checks && i < node.output_count; ++i)
    if (!is_finite(call.grads[i]))
      fail("backward: the gradient that arrives at output ", int(i), " of ", node.op_name, " has ",
           kind_of_bad(call.grads[i]), ", from backward()'s caller, a hook or the sum of several gradients; ",
           told(origin_of(node)));
  {
    Computing now(node);
    try {
      node.apply(call);
    } catch (const Error& e) {
      fail(e.what(), "; ", told(origin_of(node)));
    }
  }
  for (uint32_t i = 0; checks && i < node.edge_count; ++i)
    if (call.need[i] && !is_finite(call.results[i]))
      fail("backward: ", node.op_name, " gave ", kind_of_bad(call.results[i]),
           " in the gradient of its input ", int(i), ", of sizes ", call.results[i].sizes(), "; ",
           told(origin_of(node)), forward_told(roots));
}

}  // namespace detail

}  // namespace tarn::inline v1
