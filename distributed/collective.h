// A collective operation as data: what the group's methods make of their arguments, backends carry out and
// ranks compare. Private to distributed/.
#pragma once

#include <tarn/distributed/process_group.h>

namespace tarn::inline v1::distributed::detail {

enum class Kind : uint8_t {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
  Barrier,
  Send,
  Recv,
};
const char* name_of(Kind kind);
const char* name_of(ReduceOp op);

struct Collective {
  Kind kind;
  ReduceOp op = ReduceOp::SUM;
  int root = 0;  // or the other side of send and recv
  int tag = 0;
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};  // written; those of an in-place operation are not among the inputs
  // All-reduce: where the values of outputs[0] are and the results go, if not there; dense, in its order.
  std::vector<Tensor> parts = {};
  std::string label = {};

  const char* name() const { return name_of(kind); }
  // Undefined for a barrier.
  Tensor example() const { return !inputs.empty() ? inputs[0] : !outputs.empty() ? outputs[0] : Tensor(); }
};

// What must be the same on all ranks; ranks exchange it as bytes.
struct Signature {
  uint64_t sequence = 0;
  int32_t root = 0;
  Kind kind = Kind::Barrier;
  ReduceOp op = ReduceOp::SUM;
  ScalarType dtype = ScalarType::Undefined;
  uint8_t dim = 0;
  int64_t sizes[16] = {};
  char label[104] = {};

  bool operator==(const Signature&) const = default;
};
static_assert(sizeof(Signature) == 248);

Signature signature_of(const Collective& collective, uint64_t sequence);
// "all_reduce(Float [3, 4], SUM)".
std::string describe(const Signature& signature);
// An Error that names both sides if a rank's signature differs from rank 0's.
void check_agreement(const Signature* signatures, int ranks);

}  // namespace tarn::inline v1::distributed::detail
