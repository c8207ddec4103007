// From a path of a trace to the graph of its segment.
#include <algorithm>
#include <span>

#include <tarn/compile/trace.h>

namespace tarn::inline v1::detail {

namespace {

struct Builder {
  Graph graph;
  const std::vector<uint64_t>& escapes;

  void add_value(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device, int storage_class,
                 int64_t offset, int producer) {
    if (storage_class >= int(graph.storages.size())) graph.storages.resize(size_t(storage_class) + 1);
    GraphValue& v = graph.values.emplace_back();
    v.sizes = sizes;
    v.strides = strides;
    v.dtype = dtype;
    v.device = device;
    v.storage = storage_class;
    v.offset = offset;
    v.producer = producer;
    v.alive = bit(escapes, storage_class);
  }

  int add_input(const Guard& g) {
    int value = int(graph.values.size());
    add_value(g.sizes, g.strides, g.dtype, g.device, g.storage_class, g.offset, -1);
    graph.values.back().wrapped = g.wrapped;
    graph.inputs.push_back(value);
    GraphStorage& s = graph.storages[size_t(g.storage_class)];
    if (g.new_class) s.external = s.escapes = true;
    return value;
  }

  void add(const TraceNode& from) {
    const TraceDetails& d = *from.details;
    const int index = int(graph.nodes.size());
    GraphNode node;
    node.op = from.op;
    node.inplace = from.inplace;
    node.write_begin = d.written.begin;
    node.write_end = d.written.end;
    node.attrs.assign(from.attrs, from.attrs + from.attr_bytes);
    node.first_scalar = from.parent->scalars;
    node.scalar_count = int(from.scalar_count);
    for (uint32_t i = 0; i < from.scalar_count; ++i) {
      uint64_t kind = from.scalar_kinds >> (2 * (from.scalar_count - 1 - i)) & 3;
      graph.scalars.push_back(kind >= kFloatingNumber ? kDouble : kind == kBoolNumber ? kBool : kLong);
    }
    const Guard* guard = from.guards;
    for (int operand : std::span(from.operands, from.operand_count))
      node.inputs.push_back(operand == TraceNode::kNewInput ? add_input(*guard++) : operand);
    for (const OutputTemplate& out : std::span(from.outputs, from.output_count)) {
      node.outputs.push_back(int(graph.values.size()));
      add_value(out.impl.sizes, out.impl.strides, out.impl.dtype, out.device, out.storage_class,
                out.impl.offset, index);
      GraphStorage& s = graph.storages[size_t(out.storage_class)];
      if (from.op->kind == Kind::View) continue;
      s.bytes = int64_t(out.bytes);
      s.escapes = bit(escapes, out.storage_class);
    }
    graph.nodes.push_back(std::move(node));
  }
};

}  // namespace

Graph graph_of(const TraceNode& end, const std::vector<uint64_t>& escapes) {
  std::vector<const TraceNode*> path;
  for (const TraceNode* node = &end; node->parent; node = node->parent) path.push_back(node);
  Builder builder{{}, escapes};
  for (auto node = path.rbegin(); node != path.rend(); ++node) builder.add(**node);
  return std::move(builder.graph);
}

}  // namespace tarn::inline v1::detail
