// Graphs made by running ops on tensors, and a slow way to run a graph, for tests of passes.
#pragma once

#include <map>

#include <tarn/compile/normalise.h>
#include <tarn/compile/passes.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/tests/compile/lower_support.h>

namespace tarn::testing {

inline void sum_kernel(const detail::Args& a, Tensor* out) {
  detail::reduce_into(a[0], detail::DimSet(a.attrs<detail::ReduceAttrs>().dims), detail::ReduceKind::Sum,
                      *out);
}
inline void mean_kernel(const detail::Args& a, Tensor* out) {
  detail::visit_compute(out->dtype(), [&]<class T>(detail::Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      detail::Results<T> results(*out);
      detail::means_into<T>(a[0], detail::DimSet(a.attrs<detail::ReduceAttrs>().dims), results.data(),
                            results.size());
      results.store();
    }
  });
}
// The ops of core/ops/sum.cpp, which have no names outside.
inline const detail::Op kSum = {
    .name = "sum", .kind = detail::Kind::Reduce, .infer = detail::reduce_infer, .cpu = sum_kernel};
inline const detail::Op kMean = {
    .name = "mean", .kind = detail::Kind::Reduce, .infer = detail::reduce_infer, .cpu = mean_kernel};

template <int Row, unsigned Mask = 0>
const detail::Op& row() {
  return detail::PointwiseOp<Row, 0, Mask>::op;
}

// Records what it runs.
class GraphMaker {
 public:
  detail::Graph graph;

  int input(const Tensor& t) {
    begin_.push_back(t.clone());
    int v = add_value(t, add_storage(t, true), -1);
    graph.inputs.push_back(v);
    return v;
  }

  int apply(const detail::Op& op, const std::vector<int>& in, const std::vector<Scalar>& numbers = {},
            detail::Attrs attrs = {}) {
    return apply_all(op, in, numbers, attrs)[0];
  }
  std::vector<int> apply_all(const detail::Op& op, const std::vector<int>& in,
                             const std::vector<Scalar>& numbers = {}, detail::Attrs attrs = {}) {
    std::vector<detail::In> tensors = inputs(in);
    Tensor out[detail::kMaxOutputs];
    detail::dispatch(op, {tensors.data(), tensors.size()}, attrs, {numbers.data(), numbers.size()}, out);
    detail::GraphNode& node = add_node(op, in, numbers, attrs);
    for (int i = 0; i < op.outputs; ++i)
      node.outputs.push_back(add_value(out[i], add_storage(out[i], false), int(graph.nodes.size()) - 1));
    return node.outputs;
  }

  void inplace(const detail::Op& op, const std::vector<int>& in, const std::vector<Scalar>& numbers = {}) {
    std::vector<detail::In> tensors = inputs(in);
    detail::dispatch_inplace(op, {tensors.data(), tensors.size()}, {}, {numbers.data(), numbers.size()});
    detail::GraphNode& node = add_node(op, in, numbers, {});
    node.inplace = true;
    node.write_end = 1;
  }

  // `t` is a view of value x's tensor.
  int view(int x, const Tensor& t) {
    detail::GraphNode& node = add_node(detail::coefficient_rows_op, {x}, {}, {});
    int v = add_value(t, graph.values[size_t(x)].storage, int(graph.nodes.size()) - 1);
    node.outputs = {v};
    return v;
  }

  void keep(int v) {
    graph.values[size_t(v)].alive = true;
    graph.storages[size_t(graph.values[size_t(v)].storage)].escapes = true;
  }

  const Tensor& tensor(int v) const { return tensors_[size_t(v)]; }
  int count() const { return int(tensors_.size()); }
  bool is_input_storage(int v) const {
    return graph.storages[size_t(graph.values[size_t(v)].storage)].external;
  }

  // "" if running `g` leaves what the ops left in all memory that can be seen.
  std::string wrong(const detail::Graph& g) const {
    std::map<int, Tensor> memory;
    auto tensor_of = [&](int v) {
      const detail::GraphValue& value = g.values[size_t(v)];
      Tensor& base = memory[value.storage];
      if (!base.defined()) {
        base = detail::make_tensor(
            {g.storages[size_t(value.storage)].bytes / int64_t(element_size(value.dtype)) + 1}, value.dtype);
        std::memset(base.data_ptr(), 0x5a, size_t(base.numel()) * base.element_size());
      }
      return detail::make_alias(base, value.sizes, value.strides, value.offset);
    };
    for (size_t i = 0; i < g.inputs.size(); ++i) tensor_of(g.inputs[i]).copy_(begin_[i]);
    for (const detail::GraphNode& node : g.nodes) run_node(node, tensor_of);
    for (size_t v = 0; v < tensors_.size(); ++v) {
      const detail::GraphValue& value = g.values[v];
      if (!value.alive && !(g.storages[size_t(value.storage)].external && value.producer < 0)) continue;
      std::string difference = bit_difference(tensor_of(int(v)), tensors_[v]);
      if (!difference.empty()) return str("%", v, ": ", difference);
    }
    return "";
  }

 private:
  std::vector<detail::In> inputs(const std::vector<int>& in) const {
    std::vector<detail::In> tensors;
    for (int v : in) tensors.push_back(v < 0 ? undefined_ : tensors_[size_t(v)]);
    return tensors;
  }

  int add_storage(const Tensor& t, bool external) {
    graph.storages.push_back({external, external, t.numel() * int64_t(t.element_size())});
    return int(graph.storages.size()) - 1;
  }
  int add_value(const Tensor& t, int storage, int producer) {
    detail::GraphValue value;
    value.sizes = t.sizes();
    value.strides = t.strides();
    value.dtype = t.dtype();
    value.storage = storage;
    value.offset = t.storage_offset();
    value.producer = producer;
    graph.values.push_back(value);
    tensors_.push_back(t);
    return int(tensors_.size()) - 1;
  }
  detail::GraphNode& add_node(const detail::Op& op, const std::vector<int>& in,
                              const std::vector<Scalar>& numbers, detail::Attrs attrs) {
    detail::GraphNode node;
    node.op = &op;
    node.inputs = in;
    auto bytes = static_cast<const char*>(attrs.data);
    node.attrs.assign(bytes, bytes + attrs.size);
    node.first_scalar = int(scalars_.size());
    node.scalar_count = int(numbers.size());
    for (const Scalar& n : numbers) graph.scalars.push_back(n.type());
    scalars_.insert(scalars_.end(), numbers.begin(), numbers.end());
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back();
  }

  template <class F>
  void run_node(const detail::GraphNode& node, F tensor_of) const {
    if (detail::is_view(node)) return;
    std::vector<Tensor> all;
    for (int v : node.inputs) all.push_back(v < 0 ? Tensor() : tensor_of(v));
    if (node.fused) {
      for (int v : node.outputs) all.push_back(tensor_of(v));
      std::vector<void*> places;
      for (const Tensor& t : all) places.push_back(t.data_ptr());
      return node.fused->run(places.data(), scalars_.data());
    }
    std::vector<detail::In> in(all.begin(), all.end());
    detail::Attrs attrs;
    attrs.data = node.attrs.data();
    attrs.size = uint32_t(node.attrs.size());
    detail::Args a{*node.op,
                   {in.data(), in.size()},
                   attrs,
                   {scalars_.data() + node.first_scalar, size_t(node.scalar_count)},
                   node.inplace};
    Tensor out[detail::kMaxOutputs];
    if (node.inplace) out[0] = all[0];
    for (size_t i = 0; i < node.outputs.size(); ++i) out[i] = tensor_of(node.outputs[i]);
    node.op->cpu(a, out);
  }

  Tensor undefined_;
  std::vector<Tensor> tensors_, begin_;
  std::vector<Scalar> scalars_;
};

// How many nodes are fused groups.
inline int groups_in(const detail::Graph& g) {
  int count = 0;
  for (const detail::GraphNode& node : g.nodes) count += node.fused != nullptr;
  return count;
}

}  // namespace tarn::testing
