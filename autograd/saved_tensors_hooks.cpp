#include <tarn/autograd/saved_tensors_hooks.h>

#include <tarn/core/ops/copy.h>

namespace tarn::inline v1 {

namespace detail {

namespace {
thread_local constinit const SavedTensorsHooks* innermost = nullptr;
}

const SavedTensorsHooks* saved_tensors_hooks() { return innermost; }

SavedTensorsScope::SavedTensorsScope(const SavedTensorsHooks* hooks) : before_(innermost) {
  innermost = hooks;
}
SavedTensorsScope::~SavedTensorsScope() { innermost = before_; }

}  // namespace detail

namespace autograd::graph {

save_on_cpu::save_on_cpu(bool pin_memory)
    : hooks_(
          [pin_memory](const Tensor& t) {
            if (t.is_cpu()) return t;
            return pin_memory ? t.cpu().pin_memory() : t.cpu();
          },
          [](const Tensor& t) { return t; }) {}

}  // namespace autograd::graph

}  // namespace tarn::inline v1
