// What core's dispatch() asks of the compile room, as declared in core/hooks.h.
#include <tarn/core/hooks.h>

namespace tarn::inline v1::detail {

const CaptureHooks capture_hooks = {};

}  // namespace tarn::inline v1::detail
