#include <tarn/compile/trace.h>

#include <algorithm>

#include <tarn/core/allocator.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kChunk = 64 << 10;

}  // namespace

TraceNode& Trace::add(TraceNode& parent) {
  auto* node = new (take(sizeof(TraceNode), alignof(TraceNode))) TraceNode;
  nodes_.push_back(node);
  node->parent = &parent;
  node->sibling = parent.child;
  node->details->depth = parent.details->depth + 1;
  parent.child = node;
  return *node;
}

void* Trace::take(size_t bytes, size_t alignment) {
  taken_ = (taken_ + alignment - 1) / alignment * alignment;
  if (chunks_.empty() || chunks_.back().bytes - taken_ < bytes) {
    size_t size = std::max(kChunk, bytes);
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back({static_cast<char*>(allocate(size)), size});
    taken_ = 0;
  }
  char* memory = chunks_.back().memory + taken_;
  taken_ += bytes;
  return memory;
}

void Trace::clear() {
  for (TraceNode* node : nodes_) {
    std::destroy_n(node->guards, node->guard_count);
    std::destroy_n(node->outputs, node->output_count);
    node->~TraceNode();
  }
  nodes_.clear();
  for (const Chunk& chunk : chunks_) deallocate(chunk.memory, chunk.bytes);
  chunks_.clear();
  taken_ = 0;
  root.child = nullptr;
}

}  // namespace tarn::inline v1::detail
