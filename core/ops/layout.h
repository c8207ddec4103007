// Inputs of kernels that want dense memory. Private to core/ops.
#pragma once

#include <tarn/core/cpu/copy.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// The strides of a dense (N, C, H, W) tensor with C innermost.
inline Dims channels_last_strides(IntArrayRef sizes) {
  numel_of(sizes, "empty");  // an Error where the products below overflow
  auto one = [](int64_t n) { return n > 1 ? n : 1; };
  int64_t c = one(sizes[1]), h = one(sizes[2]), w = one(sizes[3]);
  return {h * w * c, 1, w * c, c};
}

// x if it has the layout, else a copy that has. For kernels: autograd does not see it.
inline Tensor dense(const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous) {
  if (x.is_contiguous(format)) return x;
  Dims strides = format == MemoryFormat::ChannelsLast ? channels_last_strides(x.sizes()) : Dims();
  Tensor copy = make_tensor(x.sizes(), strides, x.dtype(), x.device());
  copy_elements(copy, x);
  return copy;
}

}  // namespace tarn::inline v1::detail
