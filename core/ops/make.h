// Attributes and shape rule of the ops that make a tensor from nothing. Private to core/ops.
#pragma once

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

struct MakeAttrs {
  int64_t rank = 0, dtype = 0, device_type = 0, device_index = 0, strided = 0;
  int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {};

  // No strides: row-major. An Error naming `op` if sizes are negative, too many or too large.
  MakeAttrs(const char* op, IntArrayRef sizes, ScalarType dtype, Device device, IntArrayRef strides = {});
};

void make_infer(const Args& a, Spec* out);

// `sizes` with the dtype, device and memory format that options give.
MakeAttrs attrs_of(const char* op, IntArrayRef sizes, const TensorOptions& options);
MakeAttrs attrs_of(const char* op, IntArrayRef sizes, ScalarType dtype, const TensorOptions& options);

// Like x but for what options and format say; a format given as argument wins over the one in the options.
MakeAttrs attrs_like(const char* op, const Tensor& x, const TensorOptions& options,
                     std::optional<MemoryFormat> format);

// Applies options.requires_grad().
TARN_API Tensor with_grad_option(Tensor x, const TensorOptions& options);

// A device's kernel for what is small or made in order: the CPU's, and a copy.
template <void (*cpu)(const Args& a, Tensor* out)>
void make_on_cpu(const Args& a, Tensor* out) {
  Tensor made = make_tensor(out->sizes(), out->dtype());
  cpu(a, &made);
  out->copy_(made);
}

}  // namespace tarn::inline v1::detail
