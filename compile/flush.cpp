// Barriers: from the segment's path to a plan, its run, and the hand-over of its results.
#include <tarn/compile/capture.h>
#include <tarn/compile/compile.h>
#include <tarn/compile/passes.h>
#include <tarn/compile/stats.h>
#include <tarn/core/hooks.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kMostPlans = 8;  // of one segment, before one that keeps everything serves all others

thread_local constinit int error_on_break = 0;  // 1: on, -1: off, 0: as the options say

}  // namespace

void Capture::need(const StorageImpl& storage, const char* why) {
  bool ours =
      storage.state == StorageState::Pending ? storage.context == this : external_.find(&storage) >= 0;
  if (ours) graph_break(why);
}

void Capture::graph_break(const char* why) {
  if (at_ == &trace_.root) return;
  count(capture_counters().breaks);
  bool refused = error_on_break ? error_on_break > 0 : options_.fullgraph;
  if (refused || compile_environment().log) {
    std::string place = describe(this_call());
    check(!refused, "compile: graph break: ", why, " at ", place,
          " needs a value before the compiled function has ended; move it out of the function, or allow "
          "breaks");
    log_line("graph break", str(why, " at ", place));
  }
  flush();
}

void Capture::flush() {
  count(capture_counters().followed, std::exchange(followed_, 0));
  if (at_ == &trace_.root) return;
  count(capture_counters().segments);
  KernelScope kernels;
  release_alias_pins();
  const Plan* plan = nullptr;
  std::exception_ptr error;
  try {
    run(plan, *at_);
  } catch (...) {
    error = std::current_exception();
  }
  settle_all(plan, bool(error));
  reset();
  if (error) std::rethrow_exception(error);
}

// Inputs that are further views of inner storages (what autograd saved, x.detach()) must not count as
// handles.
void Capture::release_alias_pins() {
  size_t kept = 0;
  for (TensorImpl* impl : pins_) {
    if (impl->storage && impl->storage->state == StorageState::Pending)
      release(impl);
    else
      pins_[kept++] = impl;
  }
  pins_.resize(kept);
}

std::vector<uint64_t> Capture::escaping() const {
  std::vector<uint64_t> bits(size_t(classes_) / 64 + 1);
  for (int c = 0; c < classes_; ++c) {
    const Class& k = class_[size_t(c)];
    if (k.external || k.storage->refs.load(std::memory_order_acquire) > 0) set_bit(bits, c);
  }
  return bits;
}

std::unique_ptr<Plan> Capture::make_plan(const TraceNode& end, const std::vector<uint64_t>& escapes) const {
  count(capture_counters().plans);
  Graph graph = graph_of(end, escapes);
  if (!compile_environment().plain) {
    try {
      graph = run_passes(graph);
    } catch (const std::exception& e) {
      if (!options_.suppress_errors) throw;
      log_line("warning", str("a segment runs op by op, since a pass failed: ", e.what()));
    }
  }
  auto plan = std::make_unique<Plan>(std::move(graph));
  if (compile_environment().log)
    log_line("plan", str(plan->graph().nodes.size(), " nodes, ", plan->kernels(), " kernels, ",
                         plan->groups(), " fused groups, arena of ", plan->arena_bytes(), " bytes"));
  return plan;
}

Plan& Capture::plan_for(TraceNode& end, std::vector<uint64_t> escapes) {
  SegmentEnd& segment = end.details->end;
  for (SegmentEnd::Known& known : segment.plans)
    if (known.escapes == escapes) return *known.plan;
  if (segment.plans.size() < kMostPlans) {
    auto plan = make_plan(end, escapes);
    return *segment.plans.emplace_back(std::move(escapes), std::move(plan)).plan;
  }
  if (!segment.everything)
    segment.everything = make_plan(end, std::vector<uint64_t>(escapes.size(), ~uint64_t(0)));
  return *segment.everything;
}

std::vector<void*> Capture::give_memory(const Plan& plan) {
  std::vector<void*> storages(plan.graph().storages.size(), nullptr);  // passes may have added some
  for (int c = 0; c < classes_; ++c) {
    const Class& k = class_[size_t(c)];
    if (!k.external && plan.graph().storages[size_t(c)].escapes && k.storage->bytes > 0) {
      k.storage->context = nullptr;  // allocate_memory() has its own use for it
      allocate_memory(*k.storage, k.storage->bytes);
    }
    if (char* start = static_cast<char*>(k.storage->data))
      storages[size_t(c)] = start + (k.external ? k.origin * k.element : 0);
  }
  return storages;
}

void Capture::run(const Plan*& chosen, TraceNode& end) {
  Plan& plan = plan_for(end, escaping());
  chosen = &plan;
  count(capture_counters().kernels, plan.kernels());
  count(capture_counters().fused_groups, plan.groups());
  plan.run(give_memory(plan), scalar_.data(), arena_);
}

void Capture::settle_all(const Plan* plan, bool failed) {
  for (TensorImpl* impl : traced_) settle(impl);
  for (int c = 0; c < classes_; ++c) {
    const Class& k = class_[size_t(c)];
    if (k.external) continue;
    bool lost = failed && !(plan && plan->is_complete(c));
    if (!k.storage->deleter) k.storage->context = nullptr;
    settle(k.storage, lost ? StorageState::Lost : StorageState::Ready);
  }
  traced_.clear();
}

void Capture::reset() {
  at_ = &trace_.root;
  slots_ = classes_ = scalars_ = 0;
  external_.clear();
  index_.assign(index_.size(), {nullptr, -1});
  indexed_ = 0;
  // A destructor may do anything, so the segment is over before the first one runs.
  std::vector<TensorImpl*> pins = std::move(pins_);
  pins_.clear();
  for (TensorImpl* impl : pins) release(impl);
  pins.clear();
  if (pins_.empty()) pins_ = std::move(pins);
}

// --- the public functions ---

namespace {

bool follows(Capture& c, const Args& a, Tensor* out) { return c.follow(a, out); }
void records(Capture& c, const Args& a, const Spec* specs, Tensor* out) { c.record(a, specs, out); }
bool knows(Capture& c, const Args& a) { return c.knows(a); }
void needs(Capture& c, const StorageImpl& storage, const char* why) { c.need(storage, why); }
void breaks(Capture& c, const char* why) { c.graph_break(why); }

}  // namespace

const CaptureHooks capture_hooks = {
    .follow = follows, .record = records, .knows = knows, .need = needs, .barrier = breaks};

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1 {

ErrorOnGraphBreak::ErrorOnGraphBreak(bool on) : before_(detail::error_on_break) {
  detail::error_on_break = on ? 1 : -1;
}
ErrorOnGraphBreak::~ErrorOnGraphBreak() { detail::error_on_break = before_; }

}  // namespace tarn::inline v1
