// How random ops draw. An op draws its piece of the generator's stream before it is dispatched and carries it
// as two scalars behind its own: seed and offset. Each distribution exists as an op without inputs (rand) or
// as an in-place op (uniform_); kernels write out[0] and read nothing else. Private to core/ops.
#pragma once

#include <algorithm>
#include <limits>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cpu/philox.h>
#include <tarn/core/cpu/random_kernels.h>
#include <tarn/core/op.h>
#include <tarn/core/parallel.h>
#include <tarn/core/random.h>

namespace tarn::inline v1::detail {

inline constexpr int64_t kGrainTiles = 16;

inline const Generator& or_default(const Generator& generator) {
  return generator.defined() ? generator : default_generator();
}

inline RandomStream stream_of(const Args& a) {
  size_t n = a.scalars.size();
  return {uint64_t(a.scalar(n - 2).to_int64()), uint64_t(a.scalar(n - 1).to_int64())};
}

// A distribution's scalars and the piece of the stream for `words` words.
struct Draw {
  Scalar scalars[4];
  size_t count = 0;
  Draw(std::initializer_list<Scalar> own, const Generator& generator, int64_t words) {
    for (const Scalar& s : own) scalars[count++] = s;
    RandomStream stream = or_default(generator).reserve(words);
    scalars[count++] = int64_t(stream.seed);
    scalars[count++] = int64_t(stream.offset);
  }
  operator Scalars() const { return {scalars, count}; }
};

// Calls f(data, first, n) for runs of out's elements in row-major order, by way of a copy if out is not
// row-major.
template <class T, class F>
void for_runs(const Tensor& out, F f) {
  bool direct = out.is_contiguous();
  Tensor target = direct ? out : make_tensor(out.sizes(), out.dtype(), out.device());
  T* data = static_cast<T*>(target.data_ptr());
  int64_t n = target.numel();
  parallel_for(0, (n + kRandomTile - 1) / kRandomTile, kGrainTiles, [&](int64_t begin, int64_t end) {
    int64_t first = begin * kRandomTile, last = std::min(n, end * kRandomTile);
    f(data + first, first, last - first);
  });
  if (!direct) copy_elements(out, target);
}

// Calls value(words of one element, i) for each element; `per` words each.
template <int per, class T, class F>
void generate(const Tensor& out, const RandomStream& stream, F value) {
  for_runs<T>(out, [&](T* data, int64_t first, int64_t n) {
    uint32_t words[kRandomTile * per];
    for (int64_t i = 0; i < n; i += kRandomTile) {
      int64_t count = std::min(kRandomTile, n - i);
      random_kernels().words(words, stream, (first + i) * per, count * per);
      for (int64_t k = 0; k < count; ++k) data[i + k] = value(words + k * per, first + i + k);
    }
  });
}

// An odd multiple of 2^-53, so neither 0 nor 1.
inline double open_uniform(uint32_t low, uint32_t high) {
  uint64_t word = uint64_t(high) << 32 | low;
  return (double(int64_t(word >> 12)) + 0.5) * 0x1p-52;
}

// The largest integer up to which all are exact in the dtype.
inline int64_t largest_exact(ScalarType dtype) {
  switch (dtype) {
    case kByte:
      return 255;
    case kChar:
      return 127;
    case kShort:
      return 32767;
    case kInt:
      return std::numeric_limits<int32_t>::max();
    case kHalf:
      return 1 << 11;
    case kBFloat16:
      return 1 << 8;
    case kFloat:
      return 1 << 24;
    case kDouble:
      return int64_t(1) << 53;
    case kBool:
      return 1;
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

}  // namespace tarn::inline v1::detail
