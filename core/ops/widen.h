// For composites whose steps would round too often in 16 bits. Private to core/ops.
#pragma once

#include <tarn/core/ops/copy.h>

namespace tarn::inline v1::detail {

// x in float where it is a 16-bit float; cast() brings the result back.
inline Tensor widened(const Tensor& x) {
  if (!x.defined() || !is_floating(x.dtype()) || x.element_size() != 2) return x;
  return cast(x, kFloat);
}

}  // namespace tarn::inline v1::detail
