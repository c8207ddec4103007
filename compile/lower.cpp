#include <tarn/compile/lower.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include <tarn/compile/device_group.h>
#include <tarn/compile/fused.h>
#include <tarn/compile/normalise.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/core/ops/reduce_common.h>

namespace tarn::inline v1::detail {

namespace {

const PointwiseForm& form_of(const GraphNode& node) {
  return *static_cast<const PointwiseForm*>(node.op->text);
}

// The dtype that a row's operands are brought to, as pointwise_dtype() gives it; Undefined where that depends
// on more than the graph says.
ScalarType common_dtype(const Graph& g, const GraphNode& node) {
  const PointwiseForm& form = form_of(node);
  bool compares = form.row->kind == RowKind::COMPARE;
  if (form.row->kind == RowKind::FILL) return g.values[size_t(node.inputs[0])].dtype;
  if (!compares && !node.inplace) return g.values[size_t(node.outputs[0])].dtype;
  ScalarType dtype = ScalarType::Undefined;
  bool has_dims = false;
  for (int i = 0; i < form.inputs; ++i) {
    if (i == form.condition) continue;
    const GraphValue& value = g.values[size_t(node.inputs[size_t(i)])];
    if (value.wrapped || (dtype != ScalarType::Undefined && dtype != value.dtype))
      return ScalarType::Undefined;
    dtype = value.dtype;
    has_dims = has_dims || !value.sizes.empty();
  }
  if (!has_dims) return ScalarType::Undefined;
  for (int i = 0; i < form.numbers; ++i) {
    ScalarType number = g.scalars[size_t(node.first_scalar + i)];
    if (!is_floating(dtype) && !(is_integral(dtype) && number != kDouble)) return ScalarType::Undefined;
  }
  return form.row->kind == RowKind::FLOAT && !is_floating(dtype) ? ScalarType::Undefined : dtype;
}

bool is_simple(const GraphValue& v, Device device) {
  for (int64_t size : v.sizes)
    if (size == 0) return false;
  return v.device == device;
}

// Groups run where their first output is, if kernels can be made for it.
bool can_fuse_on(Device device) {
  return device.is_cpu() || (device.is_cuda() && can_build_device_kernels());
}

// Dense, and read in runs by the reduction.
bool reduces_well(const GraphValue& x, DimSet dims) {
  int64_t count = 1;
  for (int64_t size : x.sizes) count *= size;
  Dims left = x.sizes;
  int64_t step = 1;
  for (int round = 0; round < x.sizes.size() && step < count; ++round)
    for (int d = 0; d < x.sizes.size(); ++d)
      if (left[d] != 1 && x.strides[d] == step) {
        step *= left[d];
        left[d] = 1;
        break;
      }
  return step == count && reduces_runs(x.sizes, x.strides, dims);
}

const ReduceAttrs& reduce_attrs(const GraphNode& node) {
  return *reinterpret_cast<const ReduceAttrs*>(node.attrs.data());
}

Fusable fusable_row(const Graph& g, const GraphNode& node) {
  ScalarType common = common_dtype(g, node);
  if (common == ScalarType::Undefined) return {};
  int result = node.inplace ? node.inputs[0] : node.outputs[0];
  return {Fusable::Kind::Row, result, result, common, 0};
}

Fusable fusable_reduction(const Graph& g, const GraphNode& node) {
  std::string_view name = node.op->name;
  bool known = (name == "sum" || name == "mean") && node.attrs.size() == sizeof(ReduceAttrs) &&
               g.values[size_t(node.inputs[0])].device.is_cpu();
  if (!known || !reduces_well(g.values[size_t(node.inputs[0])], DimSet(reduce_attrs(node).dims))) return {};
  return {Fusable::Kind::Reduce, node.outputs[0], node.inputs[0], kFloat, 0};
}

// clone and to() copy element by element; copy_ and fill_ write over their first input.
Fusable fusable_copy(const GraphNode& node) {
  std::string_view name = node.op->name;
  if (node.inplace) {
    if (name == "copy" && node.inputs.size() == 2)
      return {Fusable::Kind::Copy, node.inputs[0], node.inputs[0], kFloat, 1};
    if (name == "fill" && node.scalar_count == 1)
      return {Fusable::Kind::Fill, node.inputs[0], node.inputs[0], kFloat, 1};
    return {};
  }
  bool copies = (name == "clone" || name == "to") && node.inputs.size() == 1 && node.outputs.size() == 1;
  return copies ? Fusable{Fusable::Kind::Copy, node.outputs[0], node.outputs[0], kFloat, 0} : Fusable{};
}

}  // namespace

Fusable fusable(const Graph& g, const GraphNode& node) {
  if (!node.op || node.op->kind == Kind::View) return {};
  int first = !node.outputs.empty() ? node.outputs[0] : node.inputs.empty() ? -1 : node.inputs[0];
  if (first < 0) return {};
  Device device = g.values[size_t(first)].device;
  if (!can_fuse_on(device)) return {};
  for (int v : node.inputs)
    if (v < 0 || !is_simple(g.values[size_t(v)], device)) return {};
  for (int v : node.outputs)
    if (v < 0 || !is_simple(g.values[size_t(v)], device)) return {};
  if (node.op == &normalise_op)
    return {Fusable::Kind::Normalise, node.outputs[0], node.outputs[0], kFloat, 0};
  if (node.op->kind == Kind::Pointwise && node.op->text) return fusable_row(g, node);
  if (node.op->kind == Kind::Reduce && node.outputs.size() == 1) return fusable_reduction(g, node);
  return node.op->kind == Kind::Opaque ? fusable_copy(node) : Fusable{};
}

bool same_place(const GraphValue& a, const GraphValue& b) {
  return a.storage == b.storage && a.offset == b.offset && a.dtype == b.dtype && a.sizes == b.sizes &&
         a.strides == b.strides;
}

namespace {

using Value = ExpressionBuilder::Value;

class Lowering {
 public:
  Lowering(const Graph& g, const std::vector<int>& nodes, const std::vector<bool>& stored) : g_(g) {
    for (size_t k = 0; k < nodes.size(); ++k) {
      const GraphNode& node = g.nodes[size_t(nodes[k])];
      members_.push_back({&node, fusable(g, node), stored[k]});
    }
    domain_ = g.values[size_t(members_[0].what.domain)].sizes;
    spec_.device = g.values[size_t(members_[0].what.domain)].device;
  }

  GraphNode run() {
    find_operands();
    for (size_t k = 0; k < result_.inputs.size() + result_.outputs.size(); ++k) {
      int v = operand_value(int(k));
      builder_.add_operand(g_.values[size_t(v)].dtype);
      spec_.strides.push_back(is_reduced(v) ? Dims(domain_.size(), 0) : strides_of(g_.values[size_t(v)]));
    }
    for (const Member& m : members_) evaluate(m);
    for (const Written& w : written_)
      if (w.stored) builder_.store(w.value, w.operand);
    finish();
    result_.fused = std::make_shared<const FusedGroup>(std::move(spec_));
    return std::move(result_);
  }

 private:
  struct Member {
    const GraphNode* node;
    Fusable what;
    bool stored;
  };
  struct Written {
    int place;  // a value
    bool stored, fresh;
    int operand = -1;
    Value value{};
  };

  int operand_value(int k) const {
    int inputs = int(result_.inputs.size());
    return k < inputs ? result_.inputs[size_t(k)] : result_.outputs[size_t(k - inputs)];
  }
  bool is_reduced(int v) const {
    return members_.back().what.kind == Fusable::Kind::Reduce && v == members_.back().what.result;
  }

  Dims strides_of(const GraphValue& v) const {
    Dims strides(domain_.size(), 0);
    int shift = domain_.size() - v.sizes.size();
    for (int d = 0; d < v.sizes.size(); ++d)
      if (v.sizes[d] != 1) strides[d + shift] = v.strides[d];
    return strides;
  }

  Written* written(int v) {
    for (Written& w : written_)
      if (same_place(g_.values[size_t(w.place)], g_.values[size_t(v)])) return &w;
    return nullptr;
  }

  // Written inputs first, other inputs, then outputs.
  void find_operands() {
    std::vector<int> read;
    for (const Member& m : members_) {
      for (size_t i = size_t(m.what.first_read); i < m.node->inputs.size(); ++i) {
        int v = m.node->inputs[i];
        bool known = written(v) != nullptr;
        for (int r : read) known = known || same_place(g_.values[size_t(r)], g_.values[size_t(v)]);
        if (!known) read.push_back(v);
      }
      if (m.what.kind == Fusable::Kind::Reduce) continue;
      Written* w = written(m.what.result);
      if (!w) written_.push_back({m.what.result, false, !m.node->inplace}), w = &written_.back();
      w->stored = m.stored;  // the last write to a place is the one that stays
    }
    for (const Written& w : written_)
      if (w.stored && !w.fresh) result_.inputs.push_back(w.place);
    result_.write_end = int(result_.inputs.size());
    for (int v : read) {
      bool known = false;
      for (int i = 0; i < result_.write_end; ++i)
        known = known || same_place(g_.values[size_t(result_.inputs[size_t(i)])], g_.values[size_t(v)]);
      if (!known) result_.inputs.push_back(v);
    }
    for (const Written& w : written_)
      if (w.stored && w.fresh) result_.outputs.push_back(w.place);
    if (members_.back().what.kind == Fusable::Kind::Reduce)
      result_.outputs.push_back(members_.back().what.result);
    for (Written& w : written_)
      if (w.stored) w.operand = operand_of(w.place);
  }

  int operand_of(int v) const {
    for (int k = 0; k < int(result_.inputs.size() + result_.outputs.size()); ++k)
      if (same_place(g_.values[size_t(operand_value(k))], g_.values[size_t(v)])) return k;
    fail("compile: a fused group has no operand %", v);
  }

  Value read(int v) {
    Written* w = written(v);
    if (w && w->value.step >= 0) return w->value;
    return builder_.load(operand_of(v), g_.values[size_t(v)].sizes.empty());
  }

  void evaluate(const Member& m) {
    std::vector<Value> in;
    for (size_t i = size_t(m.what.first_read); i < m.node->inputs.size(); ++i)
      in.push_back(read(m.node->inputs[i]));
    ScalarType dtype = g_.values[size_t(m.what.result)].dtype;
    name(m);
    Value value;
    switch (m.what.kind) {
      case Fusable::Kind::Row:
        value = builder_.apply(form_of(*m.node), in, m.node->first_scalar, m.what.common, dtype);
        break;
      case Fusable::Kind::Normalise:
        value = builder_.normalise(in[0], in[1], in[2], in[3], in[4]);
        break;
      case Fusable::Kind::Copy:
        value = builder_.cast(in[0], dtype);
        break;
      case Fusable::Kind::Fill:
        value = builder_.number(m.node->first_scalar, dtype);
        break;
      default:
        reduced_ = in[0];
        return;
    }
    value.zero_dim = domain_.empty();
    written(m.what.result)->value = value;
  }

  void name(const Member& m) {
    spec_.name += str(spec_.name.empty() ? "" : "+", m.node->op->name);
    if (!result_.site) result_.site = m.node->site;
  }

  void finish() {
    const Member& last = members_.back();
    spec_.sizes = domain_;
    if (last.what.kind == Fusable::Kind::Reduce) {
      const ReduceAttrs& attrs = reduce_attrs(*last.node);
      ScalarType out = g_.values[size_t(last.what.result)].dtype, x = reduced_.dtype;
      ScalarType computed = is_floating(x) ? out : x;
      ScalarType held = computed == kDouble ? kDouble : is_floating(computed) ? kFloat : kLong;
      GroupReduction reduction;
      reduction.mean = std::string_view(last.node->op->name) == "mean";
      reduction.dims = DimSet(attrs.dims);
      reduction.dtype = out;
      reduction.result = operand_of(last.what.result);
      spec_.reduction = reduction;
      spec_.lead = g_.values[size_t(last.node->inputs[0])].strides;
      int value = builder_.add_operand(held);
      builder_.store(builder_.cast(reduced_, held), value);
      spec_.strides.push_back(spec_.lead);
    } else {
      for (const Written& w : written_)
        if (w.stored && spec_.lead.empty()) spec_.lead = g_.values[size_t(w.place)].strides;
    }
    spec_.expression = builder_.take();
  }

  const Graph& g_;
  std::vector<Member> members_;
  Dims domain_;
  std::vector<Written> written_;
  ExpressionBuilder builder_;
  Value reduced_;
  GroupSpec spec_;
  GraphNode result_;
};

}  // namespace

GraphNode lower_group(const Graph& graph, const std::vector<int>& nodes, const std::vector<bool>& stored) {
  return Lowering(graph, nodes, stored).run();
}

}  // namespace tarn::inline v1::detail
