#include <tarn/autograd/node.h>

#include <algorithm>

#include <tarn/autograd/node_hooks.h>
#include <tarn/core/pool.h>

namespace tarn::inline v1::autograd {

namespace {

thread_local constinit uint64_t last_sequence = 0;
// Nodes of this thread that wait for the destructor that is running; see release().
thread_local constinit Node* dead_nodes = nullptr;
thread_local constinit bool freeing = false;

}  // namespace

Node::~Node() { delete hooks; }

void Node::operator delete(Node* node, std::destroying_delete_t) {
  uint32_t size = node->block_size;
  node->~Node();
  if (size)
    detail::pool_deallocate(node, size);
  else
    ::operator delete(static_cast<void*>(node));
}

// A node's destructor releases the nodes behind it. Those that die are queued rather than destroyed inside
// it, so that a chain of a million nodes needs no stack.
void release(Node* node) noexcept {
  // If another thread may be reviving it, its count must really go through zero.
  bool sole_owner = !node->weakly_held && node->refs.load(std::memory_order_acquire) == 1;
  if (!sole_owner && node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  node->next_dead = dead_nodes;
  dead_nodes = node;
  if (freeing) return;
  freeing = true;
  while (Node* next = dead_nodes) {
    dead_nodes = next->next_dead;
    delete next;
  }
  freeing = false;
}

detail::Ref<Node> revive(Node* node) noexcept {
  int32_t count = node->refs.load(std::memory_order_relaxed);
  while (count > 0)
    if (node->refs.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel))
      return detail::Ref<Node>::adopt(node);
  return {};
}

void Node::number() {
  uint64_t above = last_sequence;
  for (const Edge& edge : next_edges())
    if (edge.is_valid()) above = std::max(above, edge.function->sequence);
  sequence = last_sequence = above + 1;
}

std::string Node::name() const {
  std::string out;
  bool upper = true;
  for (const char* c = op_name; *c; ++c) {
    if (*c == '_') {
      upper = true;
      continue;
    }
    out.push_back(upper && *c >= 'a' && *c <= 'z' ? char(*c - 'a' + 'A') : *c);
    upper = false;
  }
  return out + "Backward0";
}

void Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  if (!hooks) hooks = new NodeHooks;
  hooks->pre.push_back(std::move(hook));
}

void Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  if (!hooks) hooks = new NodeHooks;
  hooks->post.push_back(std::move(hook));
}

}  // namespace tarn::inline v1::autograd
