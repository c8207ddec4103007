// Capture: the call of a compiled function that is running on this thread. dispatch() passes it every op; it
// follows the function's trace, or adds to it, and hands out tensors that have no memory yet ("pending"). A
// barrier (a value is needed, the end) runs what was passed as one plan and gives those tensors their values.
//
// Note [Pending tensors]
// The Capture owns pending impls and storages by a mark, not by a reference: their counts are the handles
// (and saved tensors) that exist, so that at a barrier a storage with count 0 is an inner one that the plan
// may put anywhere, and code above that asks "am I the only owner?" gets eager's answer. An impl whose last
// handle goes drops its autograd history at once, as in eager, but its memory stays until the barrier, so
// that no address comes twice in one segment. settle() ends the ownership.
#pragma once

#include <tarn/compile/options.h>
#include <tarn/compile/trace.h>

namespace tarn::inline v1::detail {

// StorageImpl -> class, for storages that come from outside. clear() costs nothing.
class StorageTable {
 public:
  StorageTable() : entries_(64) {}
  int find(const StorageImpl* storage) const {
    for (size_t i = place(storage);; i = (i + 1) & (entries_.size() - 1)) {
      const Entry& e = entries_[i];
      if (e.epoch != epoch_) return -1;
      if (e.storage == storage) return e.value;
    }
  }
  void insert(const StorageImpl* storage, int value);
  // Asks for what find() and insert() will touch (Note [Prefetching]).
  void prefetch(const StorageImpl* storage) const { __builtin_prefetch(&entries_[place(storage)], 1); }
  // Takes back the newest entries.
  void undo(size_t size);
  size_t size() const { return order_.size(); }
  void clear() {
    ++epoch_;
    order_.clear();
  }

 private:
  struct Entry {
    const StorageImpl* storage = nullptr;
    int value = 0;
    uint32_t epoch = 0;
  };
  size_t place(const StorageImpl* storage) const {
    return (reinterpret_cast<uintptr_t>(storage) >> 5) * 0x9e3779b97f4a7c15u >> 20 & (entries_.size() - 1);
  }
  void grow();
  std::vector<Entry> entries_;
  std::vector<std::pair<const StorageImpl*, int>> order_;
  uint32_t epoch_ = 1;
};

struct Capture {
  explicit Capture(const CompileOptions& options);

  // A call begins.
  void begin();

  // What core/hooks.h asks for.
  bool follow(const Args& a, Tensor* out);
  bool knows(const Args& a);
  void record(const Args& a, const Spec* specs, Tensor* out);
  void need(const StorageImpl& storage, const char* why);
  void graph_break(const char* why);

  // Runs what has been passed so far and starts the next segment.
  void flush();

  // The trace has reached its largest size; the rest of the call runs eagerly.
  bool too_large() const { return too_large_; }
  // Of the newest call that left the trace: "expected relu at a.cpp:3, got exp at a.cpp:5".
  std::string last_mismatch() const;

 private:
  TraceNode* find(const Args& a);
  bool matches(const TraceNode& node, const Args& a);
  bool bind(const Guard& guard, TensorImpl* impl);
  int class_of(const StorageImpl* storage) const;
  void advance(TraceNode& node, const Args& a, Tensor* out);
  void prefetch_inputs(const TraceNode& node) const;
  void prefetch_after(const TraceNode& node) const;
  void make_outputs(const TraceNode& node, const Args& a, Tensor* out);
  void add_operands(TraceNode& node, const Args& a);
  Guard guard_for(const TensorImpl& impl);
  void add_outputs(TraceNode& node, const Args& a, const Spec* specs);
  int slot_of(const TensorImpl* impl);
  void note_mismatch(const TraceNode& expected, const Args& a);
  bool has_room();
  void check_default_dtype();
  void make_room(const TraceNode& node);

  Plan& plan_for(TraceNode& end, std::vector<uint64_t> escapes);
  std::unique_ptr<Plan> make_plan(const TraceNode& end, const std::vector<uint64_t>& escapes) const;
  std::vector<uint64_t> escaping() const;
  std::vector<void*> give_memory(const Plan& plan);
  void run(const Plan*& plan, TraceNode& end);
  void release_alias_pins();
  void settle_all(const Plan* plan, bool failed);
  void reset();

  Trace trace_;
  Arena arena_;
  TraceNode* at_;
  // The segment so far. Arrays are as long as the longest known trace needs; these say how far they are
  // filled.
  int slots_ = 0, classes_ = 0, scalars_ = 0;
  std::vector<TensorImpl*> slot_;
  std::vector<Scalar> scalar_;
  struct Class {
    StorageImpl* storage = nullptr;
    int64_t origin = 0;   // where the first input begins, in elements
    int64_t element = 1;  // bytes
    bool external = false;
  };
  std::vector<Class> class_;
  StorageTable external_;
  std::vector<TensorImpl*> pins_;    // bound inputs, one reference each
  std::vector<TensorImpl*> traced_;  // pending impls
  std::vector<std::pair<const TensorImpl*, int>>
      index_;  // for slot_of(): a hash table, filled up to indexed_
  int indexed_ = 0;
  int64_t followed_ = 0;
  bool too_large_ = false;
  const CompileOptions options_;
  ScalarType default_dtype_;  // that the trace holds for
  // Of the newest mismatch.
  const TraceNode* expected_ = nullptr;
  const Op* got_ = nullptr;
  CallSite got_at_;
};

// For the time that kernels run: no op is captured or recorded.
class KernelScope {
 public:
  KernelScope() : before_(mode) {
    mode = Mode();
    mode.grad = false;
  }
  ~KernelScope() { mode = before_; }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  Mode before_;
};

}  // namespace tarn::inline v1::detail
