// The thread's switches that dispatch() looks at, and the guards that set them.
#pragma once

#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

namespace detail {

struct Capture;  // compile/capture.h

struct Mode {
  bool grad = true;            // record operations for backward
  bool inference = false;      // InferenceMode: no version counting, no view tracking either
  uint16_t autocast = 0;       // bit i: autocast is on for device type i
  Capture* capture = nullptr;  // a compiled function is running: ops go there instead of to their kernels
};

extern TARN_API thread_local constinit Mode mode __attribute__((tls_model("initial-exec")));

}  // namespace detail

struct GradMode {
  static bool is_enabled() { return detail::mode.grad; }
  static void set_enabled(bool on) { detail::mode.grad = on; }
};

// Switches gradient recording for a scope, on this thread.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool on) : before_(detail::mode.grad) { detail::mode.grad = on; }
  ~AutoGradMode() { detail::mode.grad = before_; }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};

struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};

// As NoGradGuard, and tensors made in the scope can never take part in recording later; that saves their
// bookkeeping.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true)
      : grad_before_(detail::mode.grad), inference_before_(detail::mode.inference) {
    detail::mode.inference = on;
    detail::mode.grad = !on;
  }
  ~InferenceMode() {
    detail::mode.grad = grad_before_;
    detail::mode.inference = inference_before_;
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return detail::mode.inference; }

 private:
  bool grad_before_, inference_before_;
};

}  // namespace tarn::inline v1
