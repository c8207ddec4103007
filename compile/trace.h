// Trace: what a compiled function has been seen to do, as a tree of op calls. A segment is a path from the
// root: the calls between two barriers (a value is needed, the function ends). Running the function again
// follows the tree with one comparison per call; where it does something new, the tree gets a branch.
//
// Note [Slots]
// The tensors of a segment are numbered: inputs at their first use, then the outputs of each call. A call's
// operands are slots, so that following compares `slots[operand] == impl` and no shapes: equal geometry of
// the inputs and equal attributes give equal results. Inputs are compared by their Guard. Storages are
// numbered the same way ("classes"), because which inputs share one, and where in it they lie, decides what a
// call means.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <tarn/compile/plan.h>
#include <tarn/compile/site.h>
#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

// What an input must look like where it was first used.
struct Guard {
  // What was found so most recently; perhaps gone (Note [Prefetching]).
  const TensorImpl* newest = nullptr;
  const StorageImpl* newest_storage = nullptr;
  Dims sizes, strides;
  int64_t offset =
      0;  // from the first element of the class's first input; within an inner storage: from its start
  int storage_class = 0;
  bool new_class = false;
  bool wrapped = false;  // a wrapped number, which yields in type promotion
  ScalarType dtype = kFloat;
  Device device;
};

// An output: geometry and dtype; `offset` counts from the class's origin (see Guard).
struct OutputTemplate {
  TensorImpl impl;
  size_t bytes = 0;
  int storage_class = 0;
  Device device;
};

struct TraceNode;

// The plans of a segment that ends at a node; one for each set of storages that outlive it.
struct SegmentEnd {
  struct Known {
    std::vector<uint64_t> escapes;
    std::unique_ptr<Plan> plan;
  };
  std::vector<Known> plans;
  std::unique_ptr<Plan> everything;  // takes all storages as escaping: right for any set
};

// The parts of a node that are not read while following a known trace.
struct TraceDetails {
  InputRange written = {0, 0};
  SegmentEnd end;
  CallSite site;
  int depth = 0;
};

// The arrays lie right behind the node (Note [Prefetching]).
struct alignas(64) TraceNode {
  static constexpr int kAbsent = -1;    // an optional operand that was not given
  static constexpr int kNewInput = -2;  // the operand takes the next slot

  const Op* op = nullptr;
  TraceNode* child = nullptr;
  TraceNode* sibling = nullptr;
  const int* operands = nullptr;
  const char* attrs = nullptr;
  Guard* guards = nullptr;  // one for each new input
  OutputTemplate* outputs = nullptr;
  uint64_t scalar_kinds = 0;
  uint32_t attr_bytes = 0;
  uint32_t operand_count = 0;
  uint32_t scalar_count = 0;
  uint32_t guard_count = 0;
  uint32_t output_count = 0;
  bool inplace = false;
  bool whole = false;  // see kinds_of()
  // After this call.
  int slots = 0, classes = 0, scalars = 0;
  int64_t origin = 0;  // Op::absolute: where the class of the base began
  TraceNode* parent = nullptr;
  std::unique_ptr<TraceDetails> details = std::make_unique<TraceDetails>();
};

enum NumberKind : uint64_t { kIntegerNumber, kBoolNumber, kFloatingNumber, kWholeNumber };

// Two bits per number. Where the result is of integers, whether a floating number is whole decides if it may
// stand there at all (`whole`).
inline uint64_t kinds_of(Scalars scalars, bool whole) {
  uint64_t kinds = 1;
  for (const Scalar& s : scalars) {
    NumberKind kind = s.is_floating() ? kFloatingNumber : s.is_bool() ? kBoolNumber : kIntegerNumber;
    if (whole && kind == kFloatingNumber && std::trunc(s.to_double()) == s.to_double()) kind = kWholeNumber;
    kinds = kinds << 2 | kind;
  }
  return kinds;
}

class Trace {
 public:
  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { clear(); }

  TraceNode root;

  // A new child of `parent`, in front of its siblings.
  TraceNode& add(TraceNode& parent);
  // An array that lies where the newest node does, and lives as long.
  template <class T>
  T* make(size_t count) {
    T* array = static_cast<T*>(take(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(array, count);
    return array;
  }
  template <class T>
  T* keep(std::vector<T>& values) {
    T* array = make<T>(values.size());
    std::move(values.begin(), values.end(), array);
    return array;
  }
  size_t size() const { return nodes_.size(); }
  void clear();

 private:
  void* take(size_t bytes, size_t alignment);

  std::vector<TraceNode*> nodes_;
  // Memory of nodes and arrays, taken from the front. It is the allocator's, which has huge pages: nodes here
  // and there would each wait for their page's address, too.
  struct Chunk {
    char* memory;
    size_t bytes;
  };
  std::vector<Chunk> chunks_;
  size_t taken_ = 0;  // of the last chunk
};

// What the path from the root to `end` computes. `escapes`: one bit per class.
Graph graph_of(const TraceNode& end, const std::vector<uint64_t>& escapes);

inline bool bit(const std::vector<uint64_t>& bits, int i) { return bits[size_t(i) / 64] >> (i % 64) & 1; }
inline void set_bit(std::vector<uint64_t>& bits, int i) { bits[size_t(i) / 64] |= uint64_t(1) << (i % 64); }

}  // namespace tarn::inline v1::detail
