// Pooling: a thread per output; no atomics, so that sums have one order. What spreads or scatters looks, for
// each element of the plane, at the windows that hold it.
#include <tarn/core/cuda/block.h>
#include <tarn/core/cuda/device/launchers.h>

namespace tarn::inline v1::gpu {

// What a window reads along one dim: start, start + step, ... `count` elements inside of the plane; its share
// of the divisor is `size`.
struct Window {
  int64_t start, count, step, size;
};

__device__ Window window_of(const PoolCall& c, int d, int64_t i) {
  int64_t in = c.plane[d];
  if (c.adaptive) {
    int64_t start = i * in / c.windows[d], count = ((i + 1) * in + c.windows[d] - 1) / c.windows[d] - start;
    return {start, count, 1, count};
  }
  int64_t at = i * c.stride[d] - c.padding[d], step = c.dilation[d];
  int64_t skipped = at < 0 ? (-at + step - 1) / step : 0;
  int64_t inside = in > at ? (in - at + step - 1) / step : 0;
  int64_t count = (inside < c.kernel[d] ? inside : c.kernel[d]) - skipped;
  if (count < 0) count = 0;
  int64_t room = in + c.padding[d] - at, padded = room < c.kernel[d] ? room : c.kernel[d];
  return {at + skipped * step, count, step, c.count_include_pad ? padded : count > 0 ? count : 1};
}

// The windows that may hold place i, from the first to before the last.
struct Range {
  int64_t begin, end;
};

__device__ Range windows_at(const PoolCall& c, int d, int64_t i) {
  int64_t windows = c.windows[d];
  if (c.adaptive) {
    int64_t begin = i * windows / c.plane[d], end = ((i + 1) * windows + c.plane[d] - 1) / c.plane[d];
    return {begin > 0 ? begin - 1 : 0, end < windows ? end : windows};
  }
  int64_t reach = c.dilation[d] * (c.kernel[d] - 1), first = i + c.padding[d] - reach,
          last = i + c.padding[d];
  int64_t begin = first > 0 ? (first + c.stride[d] - 1) / c.stride[d] : 0, end = last / c.stride[d] + 1;
  return {begin, end < windows ? end : windows};
}

__device__ bool holds(const Window& w, int64_t i) {
  return i >= w.start && i < w.start + w.count * w.step && (i - w.start) % w.step == 0;
}

template <class T>
__device__ T divisor_of(const PoolCall& c, const Window& h, const Window& w) {
  return T(c.divisor ? c.divisor : h.size * w.size);
}

template <class T>
__device__ void max_window(const PoolCall& c, const T* x, const Window& h, const Window& w, int64_t at) {
  T best = T(-__builtin_huge_val());
  int64_t place = h.start * c.plane[1] + w.start;
  for (int64_t i = 0; i < h.count; ++i) {
    for (int64_t j = 0; j < w.count; ++j) {
      int64_t here = (h.start + i * h.step) * c.plane[1] + w.start + j * w.step;
      T value = x[here];
      if (best == best && (value > best || value != value)) best = value, place = here;
    }
  }
  static_cast<T*>(c.out)[at] = best;
  c.places[at] = place;
}

template <class T>
__device__ void average_window(const PoolCall& c, const T* x, const Window& h, const Window& w, int64_t at) {
  T sum = 0;
  for (int64_t i = 0; i < h.count; ++i)
    for (int64_t j = 0; j < w.count; ++j)
      sum += x[(h.start + i * h.step) * c.plane[1] + w.start + j * w.step];
  static_cast<T*>(c.out)[at] = sum / divisor_of<T>(c, h, w);
}

// Max, Average and Gather: a thread per window.
template <class T>
__global__ void pool_windows(PoolCall c) {
  int64_t in = c.plane[0] * c.plane[1], out = c.windows[0] * c.windows[1];
  for (int64_t at = first_index(); at < c.planes * out; at += index_step()) {
    const T* x = static_cast<const T*>(c.in) + at / out * in;
    if (c.kind == PoolKind::Gather) {
      static_cast<T*>(c.out)[at] = x[c.places[at]];
      continue;
    }
    Window h = window_of(c, 0, at % out / c.windows[1]), w = window_of(c, 1, at % c.windows[1]);
    if (c.kind == PoolKind::Max)
      max_window(c, x, h, w, at);
    else
      average_window(c, x, h, w, at);
  }
}

// Spread and Scatter: a thread per element of the plane.
template <class T>
__global__ void pool_plane(PoolCall c) {
  int64_t in = c.plane[0] * c.plane[1], out = c.windows[0] * c.windows[1];
  for (int64_t at = first_index(); at < c.planes * in; at += index_step()) {
    int64_t base = at / in * out, place = at % in, y = place / c.plane[1], x = place % c.plane[1];
    Range rows = c.has_windows ? windows_at(c, 0, y) : Range{0, c.windows[0]};
    Range columns = c.has_windows ? windows_at(c, 1, x) : Range{0, c.windows[1]};
    T sum = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        int64_t from = base + i * c.windows[1] + j;
        T g = static_cast<const T*>(c.in)[from];
        if (c.kind == PoolKind::Scatter) {
          if (c.places[from] == place) sum += g;
        } else {
          Window h = window_of(c, 0, i), w = window_of(c, 1, j);
          if (holds(h, y) && holds(w, x)) sum += g / divisor_of<T>(c, h, w);
        }
      }
    }
    static_cast<T*>(c.out)[at] = sum;
  }
}

}  // namespace tarn::inline v1::gpu

namespace tarn::inline v1::detail {

cudaError_t pool_launch(const PoolCall& call, cudaStream_t stream) {
  bool by_plane = call.kind == PoolKind::Spread || call.kind == PoolKind::Scatter;
  const int64_t* grid = by_plane ? call.plane : call.windows;
  return gpu::with_real(call.compute, [&](auto real) {
    using T = decltype(real);
    return launch(by_plane ? gpu::pool_plane<T> : gpu::pool_windows<T>,
                  gpu::blocks_for(call.planes * grid[0] * grid[1]), gpu::kBlock, 0, stream, call);
  });
}

}  // namespace tarn::inline v1::detail
