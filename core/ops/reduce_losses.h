// What the losses made of other ops share. Private to core/ops.
#pragma once

#include <tarn/core/autocast.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/widen.h>
#include <tarn/core/reduction.h>

namespace tarn::inline v1::detail {

inline Tensor reduce_losses(const char* op, const Tensor& losses, int64_t reduction) {
  switch (reduction) {
    case Reduction::None:
      return losses;
    case Reduction::Mean:
      return mean(losses);
    case Reduction::Sum:
      return sum(losses);
    default:
      fail(op, ": reduction must be Reduction::None, Mean or Sum, got ", reduction);
  }
}

// The operands of a loss as it computes with them, 16-bit floats as float, and the dtype of its result.
struct LossOperands {
  Tensor x, target;
  ScalarType dtype;

  // For x and target that broadcast.
  LossOperands(const char* op, const Tensor& input, const Tensor& wanted) {
    broadcast_sizes(input.sizes(), wanted.sizes(), op);
    Tensor a = autocast_to_float(input), b = autocast_to_float(wanted);
    dtype = promote_types(a.dtype(), b.dtype());
    check(is_floating(a.dtype()), op, ": not implemented for dtype ", a.dtype());
    x = widened(a);
    target = widened(b);
  }

  Tensor reduce(const char* op, const Tensor& losses, int64_t reduction) const {
    return cast(reduce_losses(op, losses, reduction), dtype);
  }
};

}  // namespace tarn::inline v1::detail
