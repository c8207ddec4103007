// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC'11): 128 bits of counter and 64 of key give 128 random bits, so element i of an op's
// output is computed from (seed, offset, i) alone, in any order and on any thread.
//
// Included by kernel files that are compiled once per instruction set, hence static and always inlined, and
// by device kernels, hence constexpr.
#pragma once

#include <cstdint>

namespace tarn::inline v1::detail {

struct Words {
  uint32_t w[4];
};

[[gnu::always_inline]] static inline constexpr Words philox_round(Words c, uint32_t k0, uint32_t k1) {
  uint64_t p0 = uint64_t(0xD2511F53u) * c.w[0];
  uint64_t p1 = uint64_t(0xCD9E8D57u) * c.w[2];
  return {{uint32_t(p1 >> 32) ^ c.w[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c.w[3] ^ k1, uint32_t(p0)}};
}

[[gnu::always_inline]] static inline constexpr Words philox(Words counter, uint32_t k0, uint32_t k1) {
#if !defined(__CUDACC__)
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    counter = philox_round(counter, k0, k1);
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

// The four words at `block` of the stream with this seed.
[[gnu::always_inline]] static inline constexpr Words philox_block(uint64_t seed, uint64_t block) {
  return philox({{uint32_t(block), uint32_t(block >> 32), 0, 0}}, uint32_t(seed), uint32_t(seed >> 32));
}

// A multiple of 2^-24 in [0, 1): every one of them is a float, so none rounds up to 1.
[[gnu::always_inline]] static inline constexpr float uniform_float(uint32_t word) {
  return float(int32_t(word >> 8)) * 0x1p-24f;
}

// A multiple of 2^-53 in [0, 1).
[[gnu::always_inline]] static inline constexpr double uniform_double(uint32_t low, uint32_t high) {
  uint64_t word = uint64_t(high) << 32 | low;
  return double(int64_t(word >> 11)) * 0x1p-53;
}

// An integer in [0, range), range > 0, as floor(random * range / 2^64): no value is likelier than another by
// more than range / 2^64, relatively; below 2^-32 for a range of up to 2^32.
[[gnu::always_inline]] static inline constexpr uint64_t below(uint64_t range, uint32_t low, uint32_t high) {
  uint64_t word = uint64_t(high) << 32 | low;
  return uint64_t((static_cast<unsigned __int128>(word) * range) >> 64);
}

// The same from 128 random bits, for ranges over 2^32: the relative excess is at most range / 2^128.
[[gnu::always_inline]] static inline constexpr uint64_t below(uint64_t range, Words r) {
  using uint128 = unsigned __int128;
  uint64_t high = uint64_t(r.w[3]) << 32 | r.w[2], low = uint64_t(r.w[1]) << 32 | r.w[0];
  return uint64_t((uint128(high) * range + ((uint128(low) * range) >> 64)) >> 64);
}

}  // namespace tarn::inline v1::detail
