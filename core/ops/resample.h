// Resampling along each spatial dim by itself: output i of a dim is a weighted sum of neighbouring inputs.
// Interpolation, antialiased or not, and averages over windows are all of this kind. Private to core/ops.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

enum class Resampling : int64_t { Nearest, NearestExact, Linear, Cubic, Windows, Adaptive };

// Entries past the spatial rank are 0.
struct ResampleAttrs {
  int64_t mode = 0;
  int64_t align_corners = 0, antialias = 0;
  int64_t step_bits[3] = {};  // the bits of a double: inputs per output if not in / out; 0: none given
  // Windows: their sizes, and what a sum is divided by if not its window's size.
  int64_t kernel[3] = {}, stride[3] = {}, padding[3] = {};
  int64_t count_include_pad = 1, divisor = 0;
  int64_t in[3] = {}, out[3] = {};
  int64_t adjoint = 0;  // the transposed map, from sizes `out` to sizes `in`
};

// x (N, C, ...) with 1 to 3 spatial dims of sizes attrs.in -> the same with attrs.out. Floating dtypes.
Tensor resample(const Tensor& x, const ResampleAttrs& attrs);

}  // namespace tarn::inline v1::detail
