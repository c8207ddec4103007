// batch_norm: a training batch norm whose result only pointwise ops read becomes its statistics and a
// normalisation, which the pass fuse joins with those ops. The bits stay the same.
#include <string_view>

#include <tarn/compile/normalise.h>
#include <tarn/compile/passes.h>
#include <tarn/core/ops/batch_norm.h>

namespace tarn::inline v1::detail {

namespace {

void normalise_infer(const Args& a, Spec* out) {
  out->sizes = a[0].sizes();
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

bool only_pointwise_reads(const Graph& g, int value) {
  int storage = g.values[size_t(value)].storage, readers = 0;
  bool good = true;
  for (const GraphNode& node : g.nodes) {
    if (node.op == &batch_norm_op && node.outputs[0] == value) continue;
    for (int v : node.inputs) {
      if (v < 0 || g.values[size_t(v)].storage != storage) continue;
      good = good && v == value && node.op && node.op->kind == Kind::Pointwise;
      ++readers;
    }
  }
  return good && readers > 0;
}

bool splits(const Graph& g, const GraphNode& node) {
  if (node.op != &batch_norm_op) return false;
  const GraphValue& x = g.values[size_t(node.inputs[0])];
  const GraphValue& y = g.values[size_t(node.outputs[0])];
  if (!x.device.is_cpu() || g.storages[size_t(y.storage)].escapes) return false;
  for (int64_t size : x.sizes)
    if (size == 0) return false;
  return only_pointwise_reads(g, node.outputs[0]);
}

// Row i of the coefficients (4, C), as it meets x.
int coefficient(Graph& g, int storage, ScalarType dtype, const GraphValue& x, int i) {
  GraphValue row;
  row.sizes = x.sizes;
  row.strides = Dims(x.sizes.size(), 0);
  row.strides[1] = 1;
  row.dtype = dtype;
  row.device = x.device;
  row.storage = storage;
  row.offset = i * x.sizes[1];
  g.values.push_back(row);
  return int(g.values.size()) - 1;
}

}  // namespace

const Op normalise_op = {.name = "normalise", .kind = Kind::Pointwise, .infer = normalise_infer};
const Op coefficient_rows_op = {
    .name = "coefficient_rows", .kind = Kind::View, .infer = normalise_infer, .outputs = 4};

Graph split_batch_norm(const Graph& graph) {
  Graph g = graph;
  std::vector<GraphNode> nodes;
  for (const GraphNode& node : graph.nodes) {
    if (!splits(g, node)) {
      nodes.push_back(node);
      continue;
    }
    GraphValue x = g.values[size_t(node.inputs[0])];
    ScalarType dtype = x.dtype == kDouble ? kDouble : kFloat;
    int storage = int(g.storages.size());
    g.storages.push_back({.bytes = 4 * x.sizes[1] * int64_t(element_size(dtype))});
    GraphValue all{.sizes = {4, x.sizes[1]},
                   .strides = {x.sizes[1], 1},
                   .dtype = dtype,
                   .device = x.device,
                   .storage = storage};
    g.values.push_back(all);
    int coefficients = int(g.values.size()) - 1;

    GraphNode statistics = node, rows, normalise;
    statistics.op = &batch_norm_statistics_op;
    statistics.outputs = {node.outputs[1], node.outputs[2], node.outputs[3], coefficients};
    rows.op = &coefficient_rows_op;
    rows.inputs = {coefficients};
    for (int i = 0; i < 4; ++i) rows.outputs.push_back(coefficient(g, storage, dtype, x, i));
    normalise.op = &normalise_op;
    normalise.inputs = {node.inputs[0]};
    normalise.inputs.insert(normalise.inputs.end(), rows.outputs.begin(), rows.outputs.end());
    normalise.outputs = {node.outputs[0]};
    normalise.site = node.site;
    for (GraphNode* made : {&statistics, &rows, &normalise}) nodes.push_back(std::move(*made));
  }
  return with_nodes(g, std::move(nodes));
}

}  // namespace tarn::inline v1::detail
