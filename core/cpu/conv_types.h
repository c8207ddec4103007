// The geometry of one convolution, with 1 to 3 spatial dims, as plain data.
#pragma once

#include <stdint.h>

namespace tarn::inline v1::detail {

inline constexpr int kMaxSpatial = 3;

// x (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...), y (batch, out_channels,
// out...). Dense: row-major, or with `channels_last` the channels innermost in all three.
struct ConvShape {
  int64_t batch, groups, in_channels, out_channels;
  int64_t nd;
  int64_t in[kMaxSpatial], out[kMaxSpatial], kernel[kMaxSpatial];
  int64_t stride[kMaxSpatial], pad_low[kMaxSpatial], pad_high[kMaxSpatial], dilation[kMaxSpatial];
  int64_t channels_last;  // 0 or 1; a word, so that shapes compare as bytes

  int64_t in_size() const { return product(in); }
  int64_t out_size() const { return product(out); }
  int64_t kernel_size() const { return product(kernel); }
  int64_t weight_size() const { return out_channels * (in_channels / groups) * kernel_size(); }

 private:
  int64_t product(const int64_t* sizes) const {
    int64_t n = 1;
    for (int i = 0; i < nd; ++i) n *= sizes[i];
    return n;
  }
};

// Each returns false, having done nothing, where it does not take the shape. They use parallel_for
// themselves, over pieces that depend on the shape alone.
struct ConvProvider {
  bool (*forward)(const ConvShape& s, const float* x, const float* w, const float* bias, float* y);
  bool (*backward_input)(const ConvShape& s, const float* gy, const float* w, float* gx);
  bool (*backward_weight)(const ConvShape& s, const float* x, const float* gy, float* gw);
};

}  // namespace tarn::inline v1::detail
