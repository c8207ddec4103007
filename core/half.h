// Half (IEEE binary16) and BFloat16: storage types. They convert to float and back; arithmetic happens in
// float.
#pragma once

#include <bit>
#include <cstdint>

namespace tarn::inline v1 {

namespace detail {

// Round to nearest even; after Fabian Giesen, "float to half conversion" (public domain note, 2012).
inline uint16_t half_from_float(float value) {
  uint32_t f = std::bit_cast<uint32_t>(value);
  uint32_t sign = (f >> 16) & 0x8000u;
  f &= 0x7fffffffu;
  if (f >= 0x47800000u) return uint16_t(sign | (f > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (f < 0x38800000u) {
    // Adding 0.5 moves the subnormal's bits to the bottom of the word, rounded by the adder.
    float shifted = std::bit_cast<float>(f) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  f += 0xc8000fffu + ((f >> 13) & 1u);
  return uint16_t(sign | (f >> 13));
}

inline float float_from_half(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16;
  uint32_t rest = uint32_t(h & 0x7fffu) << 13;
  uint32_t exponent = rest & 0x0f800000u;
  if (exponent == 0x0f800000u) return std::bit_cast<float>(sign | (rest + 0x70000000u));
  if (exponent == 0) {
    float subnormal = std::bit_cast<float>(rest + 0x38800000u) - std::bit_cast<float>(0x38800000u);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
  }
  return std::bit_cast<float>(sign | (rest + 0x38000000u));
}

inline uint16_t bfloat16_from_float(float value) {
  uint32_t f = std::bit_cast<uint32_t>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return uint16_t((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
}

inline float float_from_bfloat16(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

}  // namespace detail

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(detail::half_from_float(value)) {}
  operator float() const { return detail::float_from_half(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(detail::bfloat16_from_float(value)) {}
  operator float() const { return detail::float_from_bfloat16(bits); }
};

}  // namespace tarn::inline v1
