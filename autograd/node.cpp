#include <tarn/autograd/node.h>

#include <algorithm>

#include <tarn/autograd/anomaly.h>
#include <tarn/autograd/meta.h>
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
  if (AnomalyMode::is_enabled()) [[unlikely]]
    detail::remember_origin(*this);
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

namespace {

template <class Hook>
uintptr_t add_to(std::vector<std::shared_ptr<Hook>>& list, std::unique_ptr<Hook> hook) {
  check(hook != nullptr, "add_hook: the hook is null");
  list.push_back(std::move(hook));
  return reinterpret_cast<uintptr_t>(list.back().get());
}

template <class Hook>
bool remove_from(std::vector<std::shared_ptr<Hook>>& list, uintptr_t key) {
  return std::erase_if(list,
                       [&](const auto& hook) { return reinterpret_cast<uintptr_t>(hook.get()) == key; });
}

}  // namespace

uintptr_t Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  return add_to(detail::hooks_of(*this).pre, std::move(hook));
}

uintptr_t Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  return add_to(detail::hooks_of(*this).post, std::move(hook));
}

bool Node::del_pre_hook(uintptr_t key) { return hooks && remove_from(hooks->pre, key); }
bool Node::del_post_hook(uintptr_t key) { return hooks && remove_from(hooks->post, key); }

}  // namespace tarn::inline v1::autograd
