#include <tarn/autograd/op_node.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include <tarn/autograd/small_array.h>
#include <tarn/core/pool.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kPoolLimit = 8192;

size_t aligned(size_t bytes) { return (bytes + 15) / 16 * 16; }

// Waiting is rare, and the work of others short.
class Turn {
 public:
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Turn() { busy_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& busy_;
};

}  // namespace

OpNode* OpNode::make(const Op& op, int inputs, int outputs, int saves, Attrs attrs, Scalars scalars) {
  size_t edges_at = aligned(sizeof(OpNode));
  size_t outputs_at = edges_at + inputs * sizeof(Edge);
  size_t saved_at = outputs_at + outputs * sizeof(GradMeta);
  size_t scalars_at = saved_at + saves * sizeof(Saved);
  size_t attrs_at = aligned(scalars_at + scalars.size() * sizeof(Scalar));
  size_t bytes = attrs_at + attrs.size;
  char* block = static_cast<char*>(bytes <= kPoolLimit ? pool_allocate(bytes) : ::operator new(bytes));
  OpNode* node = new (block) OpNode(op);
  node->block_size = bytes <= kPoolLimit ? uint32_t(bytes) : 0;
  node->edges = reinterpret_cast<Edge*>(block + edges_at);
  node->outputs = reinterpret_cast<GradMeta*>(block + outputs_at);
  node->saved = reinterpret_cast<Saved*>(block + saved_at);
  node->edge_count = uint32_t(inputs);
  node->output_count = uint32_t(outputs);
  node->saved_capacity = uint16_t(saves);
  for (int i = 0; i < inputs; ++i) new (node->edges + i) Edge;
  for (int i = 0; i < outputs; ++i) new (node->outputs + i) GradMeta;
  auto* numbers = reinterpret_cast<Scalar*>(block + scalars_at);
  for (size_t i = 0; i < scalars.size(); ++i) new (numbers + i) Scalar(scalars[i]);
  node->scalars = {numbers, scalars.size()};
  if (attrs.size) std::memcpy(block + attrs_at, attrs.data, attrs.size);
  node->attrs.data = block + attrs_at;
  node->attrs.size = attrs.size;
  return node;
}

OpNode::~OpNode() {
  if (link) {
    std::lock_guard lock(link->mutex);
    if (link->node == this) link->node = nullptr;
  }
  for (int i = 0; i < saved_count; ++i) saved[i].~Saved();
  for (uint32_t i = 0; i < output_count; ++i) outputs[i].~GradMeta();
  for (uint32_t i = 0; i < edge_count; ++i) edges[i].~Edge();
}

void OpNode::save(const Tensor& t, const Edge& edge, int index, bool is_output) {
  ensure(saved_count < saved_capacity, op_name, ": more tensors saved than announced");
  new (saved + saved_count) Saved{SavedTensor(t, edge, op_name), int16_t(index), is_output};
  ++saved_count;
}

void OpNode::release_saved() {
  Turn turn(busy);
  for (int i = 0; i < saved_count; ++i) saved[i].tensor.reset();
  released = saved_count > 0;
}

void OpNode::unpack(Tensor* from_inputs, Tensor* from_outputs, const Edge* output_edge) {
  Turn turn(busy);
  check(!released, "backward: the graph is gone through a second time, but the tensors that ", op_name,
        " saved were freed the first time; pass retain_graph=true to the first backward");
  for (int i = 0; i < saved_count; ++i) {
    const Saved& s = saved[i];
    if (!s.is_output) {
      from_inputs[s.index] = s.tensor.unpack(op_name, "input", s.index);
      continue;
    }
    Edge own;
    if (output_edge)
      own = *output_edge;
    else if (mode.grad && (differentiable >> s.index & 1))
      own = {Ref<Node>::share(this), uint32_t(s.index)};
    from_outputs[s.index] = s.tensor.unpack(op_name, "output", s.index, &own);
  }
}

void OpNode::apply(autograd::NodeCall& call) {
  // Gradients of one input take it for granted that theirs is wanted.
  bool any = std::any_of(call.need, call.need + edge_count, [](bool need) { return need; });
  if (op->grad && any) call_gradient(call);
  // What was overwritten has a gradient of zero, not none.
  if (inplace && call.need[0] && !call.results[0].defined()) {
    call.results[0] = make_tensor(outputs[0].sizes, outputs[0].dtype, outputs[0].device);
    call.results[0].zero_();
  }
}

void OpNode::call_gradient(autograd::NodeCall& call) {
  SmallArray<Tensor, 6> inputs(edge_count);
  SmallArray<const Dims*, 6> sizes(edge_count);
  SmallArray<ScalarType, 6> dtypes(edge_count);
  Tensor saved_outputs[kMaxOutputs];
  unpack(inputs.data(), saved_outputs, call.output_edge);
  for (uint32_t i = 0; i < edge_count; ++i) {
    // In place, output 0 has the geometry of input 0, whose edge may be elsewhere (CopySlices).
    bool self = inplace && i == 0;
    if (!self && !edges[i].is_valid()) continue;
    const GradMeta& meta = self ? outputs[0] : edges[i].function->outputs[edges[i].input_nr];
    sizes[i] = &meta.sizes;
    dtypes[i] = meta.dtype;
  }
  GradArgs g;
  g.name = op_name;
  g.grads = call.grads;
  g.saved_inputs = inputs.data();
  g.saved_outputs = saved_outputs;
  g.sizes = sizes.data();
  g.dtypes = dtypes.data();
  g.need = call.need;
  g.results = call.results;
  g.input_count = int(edge_count);
  g.attributes = attrs;
  g.scalars = scalars;
  op->grad(g);
}

}  // namespace tarn::inline v1::detail
