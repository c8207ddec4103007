// FusedGroup: several ops as one sweep over memory: an expression, the shapes and strides of its operands,
// and perhaps a reduction of one of its values at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tarn/compile/device_group.h>
#include <tarn/compile/expression.h>
#include <tarn/compile/iteration.h>
#include <tarn/compile/kernel.h>
#include <tarn/compile/tile.h>
#include <tarn/core/cpu/reduce.h>

namespace tarn::inline v1::detail {

// The last stage of a group. The value is stored into a last operand that no memory stands for: a tensor of
// `sizes` and the strides `lead` of the group.
struct GroupReduction {
  ReduceKind kind = ReduceKind::Sum;
  bool mean = false;  // kind Sum, divided by the count
  DimSet dims = 0;
  ScalarType dtype = kFloat;  // of the result, a row-major tensor
  int result = -1;            // the operand that takes it
};

struct GroupSpec {
  Expression expression;
  Dims sizes;  // of the elements that are visited
  Dims lead;   // strides that decide the order of visits; of a dense tensor if there is a reduction
  std::vector<Dims> strides;  // per operand, in elements, one per dim of `sizes`
  std::optional<GroupReduction> reduction;
  std::string name;  // "batch_norm+add+relu"
  Device device;     // of all operands; no reduction unless it is the CPU
};

class TARN_API FusedGroup {
 public:
  explicit FusedGroup(GroupSpec spec);

  // operands[k]: address of operand k's first element. A written operand may lie exactly on another operand's
  // places. scalars: all run-time numbers of the segment. Thread-safe; takes the best tier that is ready.
  void run(void* const* operands, const Scalar* scalars) const;

  const std::string& name() const { return spec_.name; }
  const GroupSpec& spec() const { return spec_; }

 private:
  struct Call;
  bool is_shared(void* const* operands) const;
  void run_range(const Call& call, char* const* operands, int64_t begin, int64_t end) const;
  void run_kernel(KernelFunction kernel, const Call& call, char* const* operands, int64_t begin,
                  int64_t end) const;
  void reduce(const Call& call) const;
  template <class T>
  void reduce_as(const Call& call) const;
  template <class T, class Made>
  static void make_run(const void* context, int64_t offset, int64_t n, T* to);

  GroupSpec spec_;
  IterationSpace space_;
  TileProgram tiles_;
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<const DeviceGroup> on_device_;  // instead of both
  std::vector<int64_t> first_byte_, last_byte_;   // of each operand, from its first element
};

}  // namespace tarn::inline v1::detail
