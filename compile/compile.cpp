#include <tarn/compile/compile.h>

#include <tarn/compile/capture.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int kMostDrops = 3;  // of too large a trace, before the function runs eagerly for good

}  // namespace

struct CompiledFunction {
  CompileOptions options;
  std::atomic<bool> busy{false};
  // Guarded by `busy`.
  std::unique_ptr<Capture> capture;
  int drops = 0;
};

std::shared_ptr<CompiledFunction> make_compiled(const CompileOptions& options) {
  check(options.mode == "default" || options.mode == "reduce-overhead" || options.mode == "max-autotune",
        "compile: mode must be \"default\", \"reduce-overhead\" or \"max-autotune\", got \"", options.mode,
        "\"");
  check(!options.verify,
        "compile: verify is not available in this version; compare with a run under TARN_COMPILE=plain");
  auto function = std::make_shared<CompiledFunction>();
  function->options = options;
  return function;
}

CompiledCall::CompiledCall(CompiledFunction& function) : function_(nullptr) {
  if (mode.capture) return;
  bool eager = compile_environment().off || function.drops >= kMostDrops ||
               function.busy.exchange(true, std::memory_order_acquire);
  if (eager) {
    count(capture_counters().eager_calls);
    return;
  }
  count(capture_counters().calls);
  function_ = &function;
  if (!function.capture) function.capture = std::make_unique<Capture>(function.options);
  function.capture->begin();
  mode.capture = function.capture.get();
}

namespace {

// The call is over, with or without an error.
struct Leave {
  CompiledFunction& function;
  ~Leave() {
    mode.capture = nullptr;
    if (function.capture->too_large()) {
      count(capture_counters().dropped);
      std::string at = function.capture->last_mismatch();
      function.capture.reset();
      if (++function.drops == kMostDrops)
        log_line(
            "warning",
            str("a compiled function does something new at each call and runs eagerly from now on; ", at));
    }
    function.busy.store(false, std::memory_order_release);
  }
};

}  // namespace

void CompiledCall::finish() {
  if (!function_) return;
  Leave leave{*std::exchange(function_, nullptr)};
  leave.function.capture->flush();
}

CompiledCall::~CompiledCall() {
  if (!function_) return;
  Leave leave{*function_};
  try {
    leave.function.capture->flush();
  } catch (...) {
    // The first error is on its way already.
  }
}

}  // namespace tarn::inline v1::detail
