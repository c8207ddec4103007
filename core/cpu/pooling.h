// Kernels of pooling. Plain data: also included by files built per instruction set.
#pragma once

#include <stdint.h>

namespace tarn::inline v1::detail {

// The windows along one dim: window i reads start[i], start[i] + step, ... count[i] elements, all of them
// inside of the input. Its share of the divisor is size[i]. The whole windows, from whole_begin to whole_end,
// have `kernel` elements and start at i * stride + offset.
struct PoolWindows {
  int64_t in, out, step;
  const int64_t *start, *count, *size;
  int64_t kernel, stride, offset, whole_begin, whole_end;
};

// divisor 0: the windows' sizes. `places` are positions in the H x W plane.
template <class T>
struct PoolTable {
  // One H x W plane.
  void (*plane_max)(const PoolWindows& h, const PoolWindows& w, const T* x, T* y, int64_t* places);
  void (*plane_average)(const PoolWindows& h, const PoolWindows& w, int64_t divisor, const T* x, T* y);
  // The transpose of average; gx is overwritten.
  void (*plane_spread)(const PoolWindows& h, const PoolWindows& w, int64_t divisor, const T* gy, T* gx);
  // One sample with its channels innermost; rows [begin, end) of the output.
  void (*row_max)(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t begin, int64_t end,
                  const T* x, T* y, int64_t* places);
  void (*row_average)(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t divisor,
                      int64_t begin, int64_t end, const T* x, T* y);
  void (*row_spread)(const PoolWindows& h, const PoolWindows& w, int64_t channels, int64_t divisor,
                     const T* gy, T* gx);
  // Either: gx[places[i]] += gy[i] over zeros, y[i] = x[places[i]]; a plane has 1 channel.
  void (*scatter)(int64_t in, int64_t out, int64_t channels, const T* gy, const int64_t* places, T* gx);
  void (*gather)(int64_t out, int64_t channels, const T* x, const int64_t* places, T* y);
};

struct PoolKernels {
  PoolTable<float> f32;
  PoolTable<double> f64;
};

}  // namespace tarn::inline v1::detail
