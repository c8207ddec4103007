// A Plan: one oneDNN convolution over a piece of a batch, with the reorders between our layouts and those it
// likes. Plans are made once per piece's geometry and kept; they hold no data, and any number of threads may
// run one.
#pragma once

#include <memory>

#include <tarn/core/cpu/conv_types.h>
#include <tarn/core/cpu/onednn.h>

namespace tarn::inline v1::detail::onednn {

enum class Pass : int64_t { Forward, BackwardInput, BackwardWeight };

// What one call of oneDNN computes: `batch` samples, and of the channels that the pass makes (in_channels for
// BackwardInput, else out_channels) a run of `channels`.
struct Piece {
  ConvShape shape;  // the whole convolution
  Pass pass;
  int64_t batch, channels, bias;
};

// One of the three tensors as we have it (user) and as oneDNN wants it (inner).
struct Slot {
  dnnl_memory_desc_t user, inner;
  Primitive reorder;  // null: the same layout
  size_t inner_bytes = 0;
};

struct Plan {
  Pass pass;
  Slot src, weights, dst;
  dnnl_memory_desc_t bias, scratchpad;
  Primitive conv;
};

// Null if oneDNN has no kernel for it.
std::shared_ptr<const Plan> find_plan(const Piece& piece);

}  // namespace tarn::inline v1::detail::onednn
