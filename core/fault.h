// Planted faults: `if (fault(7)) ...` makes one known mistake, so that tests/faults/run can show that a test
// catches it. Private and for .cpp files only. Without -DTARN_FAULTS=ON it is the constant false and leaves
// no code behind.
#pragma once

#include "tarn_config.h"

namespace tarn::inline v1::detail {

#if TARN_FAULTS
// True if the environment's TARN_FAULT is this number.
bool fault(int number);
#else
[[gnu::always_inline]] static constexpr bool fault(int) { return false; }
#endif

}  // namespace tarn::inline v1::detail
