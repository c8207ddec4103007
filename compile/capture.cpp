// Following a trace, and adding to it.
#include <tarn/compile/capture.h>

#include <algorithm>
#include <cstring>

#include <tarn/compile/prefetch.h>
#include <tarn/compile/stats.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/hooks.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int kMostNodes = 100'000;  // of one function's trace
constexpr int kLongestSegment = 20'000;

bool same(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

}  // namespace

// --- StorageTable ---

void StorageTable::insert(const StorageImpl* storage, int value) {
  if (2 * (order_.size() + 1) > entries_.size()) grow();
  size_t i = place(storage);
  while (entries_[i].epoch == epoch_) i = (i + 1) & (entries_.size() - 1);
  entries_[i] = {storage, value, epoch_};
  order_.emplace_back(storage, value);
}

// Entries taken back in reverse order leave no holes that a search would stop at.
void StorageTable::undo(size_t size) {
  while (order_.size() > size) {
    size_t i = place(order_.back().first);
    while (entries_[i].storage != order_.back().first || entries_[i].epoch != epoch_)
      i = (i + 1) & (entries_.size() - 1);
    entries_[i].epoch = epoch_ - 1;
    order_.pop_back();
  }
}

void StorageTable::grow() {
  auto order = std::move(order_);
  order_.clear();
  entries_.assign(entries_.size() * 2, {});
  for (auto [storage, value] : order) insert(storage, value);
}

// --- following ---

Capture::Capture(const CompileOptions& options)
    : at_(&trace_.root), options_(options), default_dtype_(get_default_dtype()) {}

// Type promotion depends on it: what was seen under another one does not count.
void Capture::check_default_dtype() {
  if (default_dtype_ == get_default_dtype()) return;
  default_dtype_ = get_default_dtype();
  trace_.clear();
  expected_ = nullptr;
}

int Capture::class_of(const StorageImpl* storage) const {
  if (storage->state != StorageState::Pending) return external_.find(storage);
  check(
      storage->context == this,
      "compile: a tensor that a compiled function is making on another thread was used before that function "
      "has returned");
  return storage->trace_class;
}

bool Capture::bind(const Guard& guard, TensorImpl* impl) {
  if (impl->dtype != guard.dtype || impl->has(kWrappedNumber) != guard.wrapped ||
      !same(impl->sizes, guard.sizes) || !same(impl->strides, guard.strides))
    return false;
  StorageImpl* storage = impl->storage;
  const int found = class_of(storage);
  Class& c = class_[size_t(guard.storage_class)];
  if (guard.new_class) {
    if (found >= 0 || storage->device != guard.device) return false;
    external_.insert(storage, guard.storage_class);
    c = {storage, impl->offset, int64_t(element_size(impl->dtype)), true};
    return true;
  }
  return found == guard.storage_class && impl->offset - c.origin == guard.offset;
}

// Operands may bind new slots and classes; those lie behind the filled parts of the arrays and the caller
// takes them or forgets them.
bool Capture::matches(const TraceNode& node, const Args& a) {
  if (node.op != &a.op || node.inplace != a.inplace || node.operand_count != a.inputs.size() ||
      node.attr_bytes != a.attributes.size || node.scalar_count != a.scalars.size())
    return false;
  if (node.attr_bytes && std::memcmp(node.attrs, a.attributes.data, node.attr_bytes) != 0) return false;
  if (node.scalar_count && node.scalar_kinds != kinds_of(a.scalars, node.whole)) return false;
  int next = slots_;
  const Guard* guard = node.guards;
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    TensorImpl* impl = (*a.inputs[i]).impl().get();
    const int operand = node.operands[i];
    if (operand >= 0) {
      if (slot_[size_t(operand)] != impl) return false;
    } else if (operand == TraceNode::kAbsent) {
      if (impl) return false;
    } else {
      if (!impl || !bind(*guard++, impl)) return false;
      slot_[size_t(next++)] = impl;
    }
  }
  if (!node.op->absolute) return true;
  return class_[size_t(class_of(a[0].get().storage))].origin == node.origin;
}

TraceNode* Capture::find(const Args& a) {
  // A segment that has reached its longest length goes on as another one.
  if (!at_->child && at_->details->depth >= kLongestSegment) flush();
  if (at_ == &trace_.root) check_default_dtype();
  const size_t external = external_.size();
  TraceNode* before = nullptr;
  for (TraceNode* node = at_->child; node; before = node, node = node->sibling) {
    if (matches(*node, a)) {
      if (before) {
        before->sibling = node->sibling;
        node->sibling = at_->child;
        at_->child = node;
      }
      return node;
    }
    external_.undo(external);
  }
  return nullptr;
}

bool Capture::follow(const Args& a, Tensor* out) {
  TraceNode* node = find(a);
  if (!node) return false;
  ++followed_;
  advance(*node, a, out);
  return true;
}

bool Capture::knows(const Args& a) {
  const size_t external = external_.size();
  bool known = find(a) != nullptr;
  external_.undo(external);
  return known;
}

// The first ops lie behind each other.
void Capture::begin() {
  constexpr size_t kFirst = 2048;
  if (trace_.root.child) prefetch(reinterpret_cast<const char*>(trace_.root.child), kFirst);
  prefetch(slot_.data());
  prefetch(class_.data());
  prefetch(scalar_.data());
  prefetch(pins_.data());
  prefetch(traced_.data());
}

// An owner of fresh memory has its storage right behind it.
void Capture::prefetch_inputs(const TraceNode& node) const {
  for (uint32_t k = 0; k < node.guard_count; ++k) {
    const Guard& guard = node.guards[k];
    if (!guard.newest) continue;
    prefetch(reinterpret_cast<const char*>(guard.newest), sizeof(TensorImpl) + sizeof(StorageImpl));
    external_.prefetch(guard.newest_storage);
  }
}

// For the ops after `node`.
void Capture::prefetch_after(const TraceNode& node) const {
  prefetch_ahead(slot_.data(), size_t(slots_));
  prefetch_ahead(class_.data(), size_t(classes_));
  prefetch_ahead(traced_.data(), traced_.size());
  prefetch_ahead(pins_.data(), pins_.size());
  const TraceNode* next = node.child;
  if (!next) return;
  prefetch_inputs(*next);
  next = next->child;
  if (!next) return;
  prefetch_arrays(*next);
  prefetch(next->child);
}

void Capture::advance(TraceNode& node, const Args& a, Tensor* out) {
  prefetch_after(node);
  for (uint32_t k = 0; k < node.guard_count; ++k) {
    TensorImpl* impl = slot_[size_t(slots_++)];
    retain(impl);
    pins_.push_back(impl);
    if (node.guards[k].newest == impl) continue;
    node.guards[k].newest = impl;
    node.guards[k].newest_storage = impl->storage;
  }
  for (uint32_t i = 0; i < node.scalar_count; ++i) scalar_[size_t(scalars_++)] = a.scalars[i];
  if (out) make_outputs(node, a, out);
  slots_ = node.slots;
  classes_ = node.classes;
  at_ = &node;
}

void Capture::make_outputs(const TraceNode& node, const Args& a, Tensor* out) {
  const bool view = a.op.kind == Kind::View;
  for (uint32_t i = 0; i < node.output_count; ++i) {
    const OutputTemplate& like = node.outputs[i];
    Class& c = class_[size_t(like.storage_class)];
    TensorImpl* impl;
    if (view) {
      impl = new_traced_alias(like.impl, c.storage, c.origin + like.impl.offset);
      impl->flags = uint16_t(impl->flags | (a[0].get().flags & (kInferenceTensor | kIgnoreVersion)));
    } else {
      impl = new_pending(like.impl, like.bytes, like.device, like.storage_class);
      impl->set(kInferenceTensor, mode.inference);
      impl->storage->context = this;
      c = {impl->storage, 0, 1, false};
    }
    traced_.push_back(impl);
    slot_[size_t(slots_++)] = impl;
    out[i] = Tensor(Ref<TensorImpl>::adopt(impl));
  }
}

// --- recording ---

namespace {

// For calls that may not be recorded any more.
void run_eagerly(const Args& a, const Spec* specs, Tensor* out) {
  if (a.op.kind == Kind::View) {
    out[0] = make_alias(a[0], specs[0].sizes, specs[0].strides, specs[0].offset);
    return;
  }
  Tensor self = a.inplace ? a[0] : Tensor();
  if (a.inplace) out = &self;
  for (int i = 0; i < a.op.outputs && !a.inplace; ++i)
    out[i] = make_tensor(specs[i].sizes, specs[i].strides, specs[i].dtype, specs[i].device);
  run_kernel(a, out);
}

}  // namespace

void Capture::record(const Args& a, const Spec* specs, Tensor* out) {
  if (!has_room()) return run_eagerly(a, specs, out);
  if (at_->child) note_mismatch(*at_->child, a);
  count(capture_counters().nodes);
  ensure(a.scalars.size() < 31, a.op.name, ": ", a.scalars.size(), " scalars");
  TraceNode& node = trace_.add(*at_);
  TraceDetails& d = *node.details;
  d.site = this_call();
  const char* attrs = static_cast<const char*>(a.attributes.data);
  std::vector<char> kept(attrs, attrs + a.attributes.size);
  node.op = &a.op;
  node.inplace = a.inplace;
  node.attrs = trace_.keep(kept);
  node.attr_bytes = a.attributes.size;
  node.scalar_count = uint32_t(a.scalars.size());
  node.whole = specs ? !is_floating(specs[0].dtype) : a.count() > 0 && !is_floating(a[0].dtype());
  node.scalar_kinds = kinds_of(a.scalars, node.whole);
  if (a.op.writes) d.written = a.op.writes(a);
  if (a.inplace) d.written = {0, 1};
  add_operands(node, a);
  if (specs && !a.inplace) add_outputs(node, a, specs);
  make_room(node);
  ensure(matches(node, a), a.op.name, ": a call does not match its own record");
  advance(node, a, out);
}

int Capture::slot_of(const TensorImpl* impl) {
  auto place = [&](const TensorImpl* p) {
    return (reinterpret_cast<uintptr_t>(p) >> 6) * 0x9e3779b97f4a7c15u >> 20 & (index_.size() - 1);
  };
  if (index_.size() < 2 * size_t(slots_) + 64) {
    size_t size = 256;
    while (size < 4 * size_t(slots_) + 64) size *= 2;
    index_.assign(size, {nullptr, -1});
    indexed_ = 0;
  }
  for (; indexed_ < slots_; ++indexed_) {
    size_t i = place(slot_[size_t(indexed_)]);
    while (index_[i].first && index_[i].first != slot_[size_t(indexed_)]) i = (i + 1) & (index_.size() - 1);
    index_[i] = {slot_[size_t(indexed_)], indexed_};
  }
  for (size_t i = place(impl); index_[i].first; i = (i + 1) & (index_.size() - 1))
    if (index_[i].first == impl) return index_[i].second;
  return -1;
}

void Capture::add_operands(TraceNode& node, const Args& a) {
  std::vector<int> operands;
  std::vector<Guard> guards;
  node.slots = slots_;
  node.classes = classes_;
  std::vector<std::pair<const TensorImpl*, int>> bound;  // by this call
  std::vector<std::pair<const StorageImpl*, std::pair<int, int64_t>>> opened;
  for (int i = 0; i < a.count(); ++i) {
    const TensorImpl* impl = a[i].impl().get();
    if (!impl) {
      operands.push_back(TraceNode::kAbsent);
      continue;
    }
    int slot = slot_of(impl);
    for (auto [known, number] : bound)
      if (known == impl) slot = number;
    if (slot >= 0) {
      operands.push_back(slot);
      continue;
    }
    Guard guard{.sizes = impl->sizes,
                .strides = impl->strides,
                .storage_class = class_of(impl->storage),
                .wrapped = impl->has(kWrappedNumber),
                .dtype = impl->dtype,
                .device = impl->storage->device};
    int64_t origin = guard.storage_class >= 0 ? class_[size_t(guard.storage_class)].origin : 0;
    for (const auto& [storage, number] : opened) {
      if (storage != impl->storage) continue;
      guard.storage_class = number.first;
      origin = number.second;
    }
    if (guard.storage_class < 0) {
      guard.new_class = true;
      guard.storage_class = node.classes++;
      origin = impl->offset;
      opened.push_back({impl->storage, {guard.storage_class, origin}});
    }
    guard.offset = impl->offset - origin;
    guards.push_back(std::move(guard));
    bound.emplace_back(impl, node.slots++);
    operands.push_back(TraceNode::kNewInput);
  }
  node.operands = trace_.keep(operands);
  node.operand_count = uint32_t(operands.size());
  node.guards = trace_.keep(guards);
  node.guard_count = uint32_t(guards.size());
  node.scalars = scalars_ + int(node.scalar_count);
  make_room(node);
  if (a.op.absolute) {
    int base = class_of(a[0].get().storage);
    node.origin = base >= 0 ? class_[size_t(base)].origin : a[0].get().offset;
  }
}

void Capture::add_outputs(TraceNode& node, const Args& a, const Spec* specs) {
  node.outputs = trace_.make<OutputTemplate>(a.op.outputs);
  node.output_count = a.op.outputs;
  for (int i = 0; i < a.op.outputs; ++i) {
    OutputTemplate& out = node.outputs[i];
    const Spec& spec = specs[i];
    out.impl.dtype = a.op.kind == Kind::View ? a[0].dtype() : spec.dtype;
    out.device = a.op.kind == Kind::View ? a[0].device() : spec.device;
    if (!out.device.is_cpu()) out.device = resolve_device("empty", out.device);
    const Dims strides = spec.strides.empty() ? contiguous_strides(spec.sizes) : spec.strides;
    set_geometry(out.impl, spec.sizes, strides);
    if (a.op.kind == Kind::View) {
      const Guard* bound = node.guard_count == 0 ? nullptr : &node.guards[0];
      out.storage_class = bound ? bound->storage_class : class_of(a[0].get().storage);
      bool opens = bound && bound->new_class;
      int64_t origin = opens ? a[0].get().offset : class_[size_t(out.storage_class)].origin;
      out.impl.offset = spec.offset - origin;
    } else {
      bool overflow = __builtin_mul_overflow(numel_of(spec.sizes, "empty"), int64_t(element_size(spec.dtype)),
                                             &out.bytes);
      check(!overflow, "empty: a tensor of sizes ", spec.sizes, " and ", spec.dtype,
            " does not fit in memory");
      out.storage_class = node.classes++;
    }
    ++node.slots;
  }
}

void Capture::make_room(const TraceNode& node) {
  auto grow = [](auto& array, int size) {
    if (array.size() < size_t(size)) array.resize(size_t(size) * 2);
  };
  grow(slot_, node.slots);
  grow(class_, node.classes);
  grow(scalar_, node.scalars);
}

// --- limits ---

// If not, the rest of the call runs eagerly.
bool Capture::has_room() {
  if (trace_.size() < size_t(kMostNodes)) return true;
  flush();
  too_large_ = true;
  mode.capture = nullptr;
  return false;
}

void Capture::note_mismatch(const TraceNode& expected, const Args& a) {
  count(capture_counters().mismatches);
  expected_ = &expected;
  got_ = &a.op;
  got_at_ = this_call();
  if (compile_environment().log) log_line("mismatch", last_mismatch());
}

std::string Capture::last_mismatch() const {
  if (!expected_) return "one call has too many ops";
  return str("expected ", expected_->op->name, " at ", describe(expected_->details->site), ", got ",
             got_->name, " at ", describe(got_at_));
}

}  // namespace tarn::inline v1::detail
