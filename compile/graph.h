// Graph: what one captured segment computes, as plain data. Passes are functions from Graph to Graph; a plan
// (plan.h) runs the result.
//
// Note [Places]
// A value is a place in memory (storage, offset, sizes, strides), not a number: views are other places of the
// same storage, and nodes that write their inputs change what a place holds. So the nodes' order counts: a
// node may move only past nodes whose storages it does not touch, where one of the two writes. Two storages
// never overlap. `storages[s].escapes` says whether anyone can look at storage s after the segment: an inner
// storage that does not escape needs no memory once nothing reads it, and a write to it that nothing reads is
// dead.
#pragma once

#include <memory>
#include <vector>

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

class FusedGroup;  // compile/fused.h: a kernel that stands for several nodes

struct GraphValue {
  Dims sizes, strides;
  ScalarType dtype = kFloat;
  Device device;
  int storage = -1;
  // In elements: from the storage's beginning; in an external storage from its first input's first element,
  // and then possibly negative.
  int64_t offset = 0;
  int producer = -1;     // the node that has it as an output; -1: an input
  bool wrapped = false;  // an input that is a wrapped number, which yields in type promotion
  bool alive = false;    // somebody may look at this place after the segment (its storage escapes)
};

struct GraphStorage {
  bool external = false;  // memory of an input; always escapes
  bool escapes = false;   // a handle or autograd holds it at the end of the segment
  int64_t bytes = 0;      // of an inner storage
};

struct GraphNode {
  const Op* op = nullptr;    // null where `fused` stands for several
  bool inplace = false;      // runs over inputs[0] and has no outputs: write range [0, 1)
  std::vector<int> inputs;   // values; -1: an optional input that was not given
  std::vector<int> outputs;  // values; of a View op: another place of inputs[0]'s storage, nothing to run
  int write_begin = 0, write_end = 0;      // inputs [write_begin, write_end) are written
  std::vector<char> attrs;                 // the bytes of Attrs
  int first_scalar = 0, scalar_count = 0;  // of the segment's scalars
  // If set, run this instead of the op's eager kernel: FusedGroup::run(operands, scalars), where operands are
  // the addresses of the first elements of `inputs`, then of `outputs`, and scalars are all of the segment's.
  std::shared_ptr<const FusedGroup> fused;
  const char* site = nullptr;  // "file:line" of the user's call if known; lives as long as the program
};

struct Graph {
  std::vector<GraphValue> values;
  std::vector<int> inputs;  // the values that come from outside, in order of first use
  std::vector<GraphNode> nodes;
  std::vector<GraphStorage> storages;
  // Double, Long or Bool for each run-time number. Kinds are part of what was captured, values are not.
  std::vector<ScalarType> scalars;
};

}  // namespace tarn::inline v1::detail
