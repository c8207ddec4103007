#include <tarn/distributed/process_group.h>

#include <algorithm>
#include <cstring>

#include <tarn/core/mode.h>
#include <tarn/distributed/collective.h>

namespace tarn::inline v1::distributed {

using detail::Collective;
using detail::Kind;

namespace detail {

namespace {

// The text after the op's name: "Float [3, 4]".
std::string shape_of(const Signature& s) {
  return str(s.dtype, " ", std::vector<int64_t>(s.sizes, s.sizes + s.dim));
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"all_reduce", "broadcast",      "reduce",     "all_gather", "gather",
                                    "scatter",    "reduce_scatter", "all_to_all", "barrier",    "send",
                                    "recv"};
  return kNames[int(kind)];
}

const char* name_of(ReduceOp op) {
  constexpr const char* kNames[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"};
  return kNames[int(op)];
}

Signature signature_of(const Collective& c, uint64_t sequence) {
  Signature s;
  s.sequence = sequence;
  s.kind = c.kind;
  s.op = c.op;
  s.root = c.kind == Kind::Send || c.kind == Kind::Recv ? 0 : c.root;
  if (Tensor t = c.example(); t.defined()) {
    s.dtype = t.dtype();
    s.dim = uint8_t(t.dim());
    std::copy_n(t.sizes().begin(), t.dim(), s.sizes);
  }
  std::strncpy(s.label, c.label.c_str(), sizeof s.label - 1);
  return s;
}

std::string describe(const Signature& s) {
  std::string text = name_of(s.kind);
  text += s.dtype == ScalarType::Undefined ? "(" : "(" + shape_of(s);
  switch (s.kind) {
    case Kind::AllReduce:
    case Kind::ReduceScatter:
      text += str(", ", name_of(s.op));
      break;
    case Kind::Reduce:
      text += str(", ", name_of(s.op), ", root ", s.root);
      break;
    case Kind::Broadcast:
    case Kind::Gather:
    case Kind::Scatter:
      text += str(", root ", s.root);
      break;
    default:
      break;
  }
  text += ")";
  if (s.label[0]) text += str(" of ", s.label);
  return text;
}

void check_agreement(const Signature* signatures, int ranks) {
  for (int r = 1; r < ranks; ++r)
    tarn::check(signatures[r] == signatures[0], name_of(signatures[0].kind), ": ranks disagree on operation ",
                signatures[0].sequence, ": rank 0 calls ", describe(signatures[0]), ", rank ", r, " calls ",
                describe(signatures[r]));
}

}  // namespace detail

namespace {

void check_tensor(const Collective& c, const Tensor& t, DeviceType device, const std::string& backend) {
  check(t.defined(), c.name(), ": a tensor is undefined");
  check(t.device().type() == device, c.name(), ": ", backend, " takes tensors on ", Device(device),
        ", got one on ", t.device());
}

void check_same(const Collective& c, const Tensor& t) {
  Tensor first = c.example();
  check(t.dtype() == first.dtype() && t.sizes() == first.sizes(), c.name(),
        ": tensors must have the same dtype and sizes, got ", first.dtype(), " ", first.sizes(), " and ",
        t.dtype(), " ", t.sizes());
}

void check_writable(const Collective& c, const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    check(t.strides()[d] != 0 || t.sizes()[d] <= 1, c.name(), ": cannot write to a tensor of sizes ",
          t.sizes(), " and strides ", t.strides(),
          ", where several elements share one place; call clone() first");
  check(!t.is_inference() || tarn::detail::mode.inference, c.name(),
        ": a tensor made in InferenceMode cannot be written outside of it; call clone() first");
}

void check_reduction(const Collective& c) {
  ScalarType dtype = c.example().dtype();
  if (c.op == ReduceOp::AVG)
    check(is_floating(dtype), c.name(), ": AVG takes floating types, got ", dtype, "; use SUM");
  if (c.op >= ReduceOp::BAND)
    check(is_integral(dtype, true), c.name(), ": ", detail::name_of(c.op), " takes integers, got ", dtype);
}

void check_count(const Collective& c, const std::vector<Tensor>& list, const char* what, bool wanted,
                 int size) {
  size_t count = wanted ? size_t(size) : 0;
  check(list.size() == count, c.name(), ": ", count, " ", what, " are needed here, one for each rank, got ",
        list.size());
}

void check_rank(const Collective& c, const char* what, int rank, int size) {
  check(rank >= 0 && rank < size, c.name(), ": ", what, " must be a rank from 0 to ", size - 1, ", got ",
        rank);
}

}  // namespace

Work::~Work() = default;

ProcessGroup::ProcessGroup(int rank, int size, std::chrono::milliseconds timeout)
    : rank_(rank), size_(size), timeout_(timeout) {
  check(size >= 1 && rank >= 0 && rank < size, "ProcessGroup: rank must be from 0 to ", size - 1, ", got ",
        rank);
  check(timeout.count() > 0, "ProcessGroup: timeout must be positive, got ", int64_t(timeout.count()), " ms");
}
ProcessGroup::~ProcessGroup() = default;

WorkPtr ProcessGroup::run(Collective c) {
  for (const Tensor& t : c.inputs) {
    check_tensor(c, t, device_type(), getBackendName());
    check_same(c, t);
  }
  for (const Tensor& t : c.outputs) {
    check_tensor(c, t, device_type(), getBackendName());
    check_same(c, t);
    check_writable(c, t);
  }
  if (c.kind == Kind::AllReduce || c.kind == Kind::Reduce || c.kind == Kind::ReduceScatter)
    check_reduction(c);
  // The values change from now on, as with any write in place; backward must not use the old ones.
  for (const Tensor& t : c.parts.empty() ? c.outputs : c.parts)
    if (!t.get().has(tarn::detail::kIgnoreVersion))
      t.get().storage->version.fetch_add(1, std::memory_order_relaxed);
  return start(std::move(c));
}

WorkPtr ProcessGroup::allreduce(const Tensor& tensor, ReduceOp op) { return allreduce(tensor, op, ""); }

WorkPtr ProcessGroup::allreduce(const Tensor& tensor, ReduceOp op, const std::string& label) {
  return run({.kind = Kind::AllReduce, .op = op, .outputs = {tensor}, .label = label});
}

WorkPtr ProcessGroup::allreduce(const Tensor& tensor, ReduceOp op, const std::string& label,
                                const std::vector<Tensor>& parts) {
  Collective c{.kind = Kind::AllReduce, .op = op, .outputs = {tensor}, .parts = parts, .label = label};
  check(device_type() == kCPU, c.name(), ": ", getBackendName(), " takes no parts; join them first");
  int64_t numel = 0;
  for (const Tensor& t : parts) {
    check(t.dtype() == tensor.dtype() && t.is_cpu(), c.name(), ": parts must be ", tensor.dtype(),
          " on cpu, got ", t.dtype(), " on ", t.device());
    numel += t.numel();
  }
  check(tensor.is_contiguous() && numel == tensor.numel(), c.name(), ": parts have ", numel,
        " elements, expected ", tensor.numel(), " in a row");
  return run(std::move(c));
}

WorkPtr ProcessGroup::broadcast(const Tensor& tensor, int root) {
  Collective c{.kind = Kind::Broadcast, .root = root, .outputs = {tensor}};
  check_rank(c, "root", root, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::reduce(const Tensor& tensor, int root, ReduceOp op) {
  Collective c{.kind = Kind::Reduce, .op = op, .root = root, .outputs = {tensor}};
  check_rank(c, "root", root, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::allgather(const std::vector<Tensor>& outputs, const Tensor& input) {
  Collective c{.kind = Kind::AllGather, .inputs = {input}, .outputs = outputs};
  check_count(c, outputs, "outputs", true, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::gather(const std::vector<Tensor>& outputs, const Tensor& input, int root) {
  Collective c{.kind = Kind::Gather, .root = root, .inputs = {input}, .outputs = outputs};
  check_rank(c, "root", root, size_);
  check_count(c, outputs, "outputs", root == rank_, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::scatter(const Tensor& output, const std::vector<Tensor>& inputs, int root) {
  Collective c{.kind = Kind::Scatter, .root = root, .inputs = inputs, .outputs = {output}};
  check_rank(c, "root", root, size_);
  check_count(c, inputs, "inputs", root == rank_, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op) {
  Collective c{.kind = Kind::ReduceScatter, .op = op, .inputs = inputs, .outputs = {output}};
  check_count(c, inputs, "inputs", true, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::alltoall(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  Collective c{.kind = Kind::AllToAll, .inputs = inputs, .outputs = outputs};
  check_count(c, inputs, "inputs", true, size_);
  check_count(c, outputs, "outputs", true, size_);
  return run(std::move(c));
}

WorkPtr ProcessGroup::barrier() { return run({.kind = Kind::Barrier}); }

WorkPtr ProcessGroup::send(const Tensor& tensor, int to, int tag) {
  Collective c{.kind = Kind::Send, .root = to, .tag = tag, .inputs = {tensor}};
  check_rank(c, "the receiver", to, size_);
  check(to != rank_, "send: rank ", rank_, " cannot send to itself");
  return run(std::move(c));
}

WorkPtr ProcessGroup::recv(const Tensor& tensor, int from, int tag) {
  Collective c{.kind = Kind::Recv, .root = from, .tag = tag, .outputs = {tensor}};
  check_rank(c, "the sender", from, size_);
  check(from != rank_, "recv: rank ", rank_, " cannot receive from itself");
  return run(std::move(c));
}

}  // namespace tarn::inline v1::distributed
