// The mutation matrix: a tensor that an op saved for its gradient is changed in place before backward. Then
// backward must refuse, by the op's name, or still give the right gradient; never a wrong one. Each saved
// tensor of each node is changed in turn, found in the graph itself, and so is each input and output that the
// program holds.
#include <set>

#include <tarn/autograd/autograd.h>
#include <tarn/autograd/op_node.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/random.h>

#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/runner.h>

namespace tarn::testing {

namespace {

using detail::OpNode;

// One forward of a sample on inputs that may be written: results of the leaves, not leaves.
struct Forward {
  Tensors leaves, inputs, outputs, used, weights;

  explicit Forward(const Sample& sample) {
    manual_seed(3);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      Tensor t = make(sample.inputs[i], int(i), kDouble);
      if (t.defined() && t.is_floating_point() && sample.inputs[i].grad) {
        leaves.push_back(t.requires_grad_());
        t = clone(t);
      }
      inputs.push_back(t);
    }
    outputs = sample.call(inputs);
    for (const Tensor& t : outputs)
      if (t.defined() && t.requires_grad()) used.push_back(t), weights.push_back(gradient_weight(t, 0));
  }
  Tensors gradients() const { return autograd::grad(used, leaves, weights, false, false, true); }
};

// The nodes of the graph behind the outputs, in a fixed order.
std::vector<OpNode*> nodes_of(const Forward& forward) {
  std::vector<autograd::Node*> reached;
  std::set<autograd::Node*> seen;
  auto visit = [&](autograd::Node* node) {
    if (node && seen.insert(node).second) reached.push_back(node);
  };
  for (const Tensor& t : forward.used) visit(t.grad_fn());
  for (size_t i = 0; i < reached.size(); ++i)
    for (const autograd::Edge& edge : reached[i]->next_edges()) visit(edge.function.get());
  std::vector<OpNode*> nodes;
  for (autograd::Node* node : reached)
    if (auto* op_node = dynamic_cast<OpNode*>(node)) nodes.push_back(op_node);
  return nodes;
}

// A write that keeps indices in their range.
void change(const Tensor& t) {
  NoGradGuard no_grad;
  if (t.is_floating_point())
    t.add_(1);
  else
    t.zero_();
}

bool right(const Tensors& got, const Tensors& want) {
  for (size_t i = 0; i < want.size(); ++i)
    if (!bit_difference(got[i], want[i]).empty()) return false;
  return true;
}

// What backward does after the change: "" if it is one of the two things it may do.
std::string verdict(const Forward& forward, const Tensors& want, bool must_refuse) {
  Tensors got;
  std::string error = error_of([&] { got = forward.gradients(); });
  if (error != "no error") return error.find("changed in place") != std::string::npos ? "" : error;
  if (must_refuse) return "backward used a saved tensor that was changed";
  return right(got, want) ? "" : "backward gave a wrong gradient";
}

struct Place {
  size_t node;
  int saved;
};

// Changes one saved tensor of the graph; false if there is no such tensor.
bool change_saved(const Forward& forward, const Place& place, std::string& name) {
  std::vector<OpNode*> nodes = nodes_of(forward);
  const OpNode::Saved& saved = nodes[place.node]->saved[place.saved];
  name = str(nodes[place.node]->op_name, saved.is_output ? ", output " : ", input ", int(saved.index));
  NoGradGuard no_grad;
  Tensor t = saved.tensor.unpack("test", "tensor", 0);
  if (t.numel() == 0) return false;
  // An expanded tensor may be saved; its elements are written where they lie.
  Tensor flat = detail::make_alias(t, {1}, {1}, t.storage_offset());
  change(flat);
  return true;
}

}  // namespace

void test_saved_tensors(const Row& row) {
  for (const Sample& sample : row.samples) {
    INFO(sample.text);
    Forward plain(sample);
    if (plain.used.empty() || plain.leaves.empty()) continue;
    std::vector<Place> places;
    std::vector<OpNode*> nodes = nodes_of(plain);
    for (size_t n = 0; n < nodes.size(); ++n)
      for (int s = 0; s < nodes[n]->saved_count; ++s)
        if (nodes[n]->saved[s].tensor.defined()) places.push_back({n, s});
    Tensors want = plain.gradients();

    for (const Place& place : places) {
      Forward forward(sample);
      std::string name;
      bool changed = change_saved(forward, place, name);
      INFO("saved by " << name);
      CHECK(verdict(forward, want, changed) == "");
    }
    auto check_held = [&](const char* what, size_t count, auto tensor) {
      for (size_t i = 0; i < count; ++i) {
        INFO(what << " " << i);
        Forward forward(sample);
        Tensor t = tensor(forward, i);
        // Random ops and the like may return what cannot be written; then nothing was changed.
        if (!t.defined() || error_of([&] { change(t); }) != "no error") continue;
        CHECK(verdict(forward, want, false) == "");
      }
    };
    check_held("input", plain.inputs.size(), [](const Forward& f, size_t i) { return f.inputs[i]; });
    check_held("output", plain.outputs.size(), [](const Forward& f, size_t i) { return f.outputs[i]; });
  }
}

}  // namespace tarn::testing
