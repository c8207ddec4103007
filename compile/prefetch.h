// Note [Prefetching]
// Between two calls of a training step its plan sweeps through more memory than the caches hold, so that
// following the trace would wait for main memory some ten times an op: for the node, its guards and output
// templates, for the inputs themselves and the Capture's own arrays. So each op asks for what the next three
// will need: the node of the third; the arrays of the second, whose node has come by then; the inputs of the
// first, whose guards have. An input's address is the last call's, which may be gone: prefetching does not
// mind.
#pragma once

#include <tarn/compile/trace.h>

namespace tarn::inline v1::detail {

inline constexpr size_t kCacheLine = 64;

template <class T>
inline void prefetch(const T* from, size_t count = 1) {
  auto line = reinterpret_cast<uintptr_t>(from) / kCacheLine * kCacheLine;
  const auto end = reinterpret_cast<uintptr_t>(from + count);
  for (; line < end; line += kCacheLine) __builtin_prefetch(reinterpret_cast<const char*>(line));
}

// What lies a little behind the filled part of an array that grows with every op.
template <class T>
inline void prefetch_ahead(const T* array, size_t filled) {
  auto end = reinterpret_cast<uintptr_t>(array) + filled * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const char*>(end + kCacheLine), 1);
}

inline void prefetch_arrays(const TraceNode& node) {
  prefetch(node.operands, node.operand_count);
  prefetch(node.attrs, node.attr_bytes);
  prefetch(node.guards, node.guard_count);
  prefetch(node.outputs, node.output_count);
}

}  // namespace tarn::inline v1::detail
