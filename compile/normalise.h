// The op that the pass batch_norm makes and the pass fuse takes up; it has no kernel of its own.
#pragma once

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

// Inputs x, and high, low, scale, shift spread over x's sizes: (x - high - low) * scale + shift.
extern const Op normalise_op;
// A view: the rows of a tensor (4, C), each spread over (N, C, ...).
extern const Op coefficient_rows_op;

}  // namespace tarn::inline v1::detail
