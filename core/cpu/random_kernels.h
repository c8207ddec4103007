// Random numbers for runs of consecutive elements. Value i of an op is a function of its stream and i alone,
// so callers may cut the elements into runs as they like, at multiples of kRandomTile.
#pragma once

#include <cstdint>

#include <tarn/core/cpu/isa.h>

namespace tarn::inline v1::detail {

struct RandomStream;

constexpr int64_t kRandomTile = 256;  // elements

struct RandomKernels {
  // Words [first, first + n) of the stream; first is a multiple of 4.
  void (*words)(uint32_t* out, const RandomStream& stream, int64_t first, int64_t n);
  // Element i from word i: uniform in [from, to).
  void (*uniform_f32)(float* out, const RandomStream& stream, int64_t first, int64_t n, float from, float to);
  // Elements 2k, 2k + 1 from words 2k, 2k + 1, for double from words 4k to 4k + 3.
  void (*normal_f32)(float* out, const RandomStream& stream, int64_t first, int64_t n, float mean, float std);
  void (*normal_f64)(double* out, const RandomStream& stream, int64_t first, int64_t n, double mean,
                     double std);
  // out[i] = in[i] * (word i >= threshold ? scale : 0).
  void (*dropout_f32)(float* out, const float* in, const RandomStream& stream, int64_t first, int64_t n,
                      uint32_t threshold, float scale);
};

}  // namespace tarn::inline v1::detail

TARN_DECLARE_KERNELS(RandomKernels, random_kernels)
