// From nodes of a graph to a fused group.
#pragma once

#include <vector>

#include <tarn/compile/graph.h>

namespace tarn::inline v1::detail {

// What a node does to each element of `sizes`, if it is an op that can stand in a group.
struct Fusable {
  enum class Kind : uint8_t { None, Row, Normalise, Copy, Fill, Reduce };
  Kind kind = Kind::None;
  int result = -1;             // the value that is written
  int domain = -1;             // the value whose sizes are those of the group
  ScalarType common = kFloat;  // Row: what operands are brought to
  int first_read = 0;          // inputs before it are only written
};
Fusable fusable(const Graph& graph, const GraphNode& node);

// Whether both values are the same elements in the same order.
bool same_place(const GraphValue& a, const GraphValue& b);

// One node that does what these nodes do, which form a valid group. `stored[k]`: whether what nodes[k] writes
// is seen outside of the group.
GraphNode lower_group(const Graph& graph, const std::vector<int>& nodes, const std::vector<bool>& stored);

}  // namespace tarn::inline v1::detail
