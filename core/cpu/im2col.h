// im2col: the windows of an image as the columns of a matrix, so that convolution is a matrix product.
// Rows are (channel, kernel position), columns output positions; row-major images of 1 to 3 spatial dims.
#pragma once

#include <algorithm>

#include <tarn/core/cpu/conv_types.h>

namespace tarn::inline v1::detail {

// Calls row(matrix row, channel) ... run(first column, count, first image element, image step) for the runs
// of columns whose windows lie inside of the image, and pad(first column, count) for those that read padding.
template <class Run, class Pad>
void for_window_runs(const ConvShape& s, const int64_t* at, const Run& run, const Pad& pad) {
  int last = int(s.nd) - 1;
  int64_t width = s.out[last];
  // Output positions w with 0 <= w * stride + shift < in.
  int64_t shift = at[last] * s.dilation[last] - s.pad_low[last], stride = s.stride[last];
  int64_t first = shift >= 0 ? 0 : std::min(width, (-shift + stride - 1) / stride);
  int64_t reach = s.in[last] - shift;
  int64_t end = reach <= 0 ? 0 : std::min(width, (reach + stride - 1) / stride);
  end = std::max(first, end);
  int64_t lines = s.out_size() / width;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t rest = line, offset = 0, step = s.in[last];
    bool inside = true;
    for (int d = last - 1; d >= 0; --d) {
      int64_t position = rest % s.out[d] * s.stride[d] + at[d] * s.dilation[d] - s.pad_low[d];
      rest /= s.out[d];
      inside = inside && position >= 0 && position < s.in[d];
      offset += position * step;
      step *= s.in[d];
    }
    int64_t column = line * width;
    if (!inside) {
      pad(column, width);
      continue;
    }
    pad(column, first);
    run(column + first, end - first, offset + first * stride + shift, stride);
    pad(column + end, width - end);
  }
}

// Calls f(matrix row, channel, kernel position per dim) for the rows of `channels` channels.
template <class F>
void for_matrix_rows(const ConvShape& s, int64_t channels, const F& f) {
  int64_t size = s.kernel_size();
  for (int64_t row = 0; row < channels * size; ++row) {
    int64_t at[kMaxSpatial] = {}, rest = row % size;
    for (int d = int(s.nd) - 1; d >= 0; --d) {
      at[d] = rest % s.kernel[d];
      rest /= s.kernel[d];
    }
    f(row, row / size, at);
  }
}

template <class T>
void im2col(const ConvShape& s, int64_t channels, const T* image, T* matrix) {
  int64_t columns = s.out_size();
  for_matrix_rows(s, channels, [&](int64_t row, int64_t channel, const int64_t* at) {
    T* to = matrix + row * columns;
    const T* from = image + channel * s.in_size();
    for_window_runs(
        s, at,
        [&](int64_t column, int64_t count, int64_t start, int64_t step) {
          if (step == 1) {
            std::copy(from + start, from + start + count, to + column);
          } else {
            for (int64_t i = 0; i < count; ++i) to[column + i] = from[start + i * step];
          }
        },
        [&](int64_t column, int64_t count) { std::fill(to + column, to + column + count, T(0)); });
  });
}

// The transpose: adds each element of the matrix to the image element that it was read from.
template <class T>
void col2im(const ConvShape& s, int64_t channels, const T* matrix, T* image) {
  int64_t columns = s.out_size();
  std::fill(image, image + channels * s.in_size(), T(0));
  for_matrix_rows(s, channels, [&](int64_t row, int64_t channel, const int64_t* at) {
    const T* from = matrix + row * columns;
    T* to = image + channel * s.in_size();
    for_window_runs(
        s, at,
        [&](int64_t column, int64_t count, int64_t start, int64_t step) {
          for (int64_t i = 0; i < count; ++i) to[start + i * step] += from[column + i];
        },
        [](int64_t, int64_t) {});
  });
}

}  // namespace tarn::inline v1::detail
