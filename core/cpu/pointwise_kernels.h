// What the per-instruction-set files give to the rest of the CPU backend: for every row and compute type a
// loop over contiguous elements, and loops that bring storage to the compute type and back.
#pragma once
#include <tarn/core/ops/pointwise_rows.h>

namespace tarn::inline v1 {
namespace detail {

// out[i] = text(in[slot][i]...) for i < n. Elements are of the compute type, but a comparison's results and a
// SELECT row's condition are bytes 0 and 1. Slots that the text does not read may be null. `params` are of
// the compute type. `out` may be one of the inputs.
using PointwiseKernel = void (*)(void* out, const void* const* in, const void* params, int64_t n);

// out[i] = in[i * step], with conversion; one side is the compute type, the other the dtype that indexes the
// table.
using ConvertRow = void (*)(void* out, const void* in, int64_t step, int64_t n);

struct PointwiseTable {
  const PointwiseKernel (
      *kernels)[4];         // [row][0]: value, [row][1 + i]: gradient of operand i; null where it has none
  const ConvertRow* load;   // [dtype] storage -> compute type
  const ConvertRow* store;  // [dtype] compute type -> storage
};
}  // namespace detail

#define TARN_POINTWISE_TABLES(isa)                                                 \
  namespace isa {                                                                  \
  extern const detail::PointwiseTable pointwise_f32, pointwise_f64, pointwise_i64; \
  }
TARN_POINTWISE_TABLES(generic)
TARN_POINTWISE_TABLES(v3)
TARN_POINTWISE_TABLES(v4)
#undef TARN_POINTWISE_TABLES

}  // namespace tarn::inline v1
