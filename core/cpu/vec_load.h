// Loads and stores of V<T, N>: unaligned, whole or the first `count` lanes, from and to every storage type.
// Compute types are float, double and int64; other dtypes are converted here, at the tile's edge. Included by
// vec.h.
#pragma once
#include <tarn/core/cpu/vec_ops.h>

namespace tarn::inline v1::TARN_ISA {

// --- 16-bit floats, one at a time (the vector forms below give the same bits) ---

TARN_INLINE float to_float(bf16 x) { return __builtin_bit_cast(float, uint32_t(x.bits) << 16); }

// Round to nearest even; a NaN keeps its sign and becomes quiet.
TARN_INLINE bf16 to_bf16(float x) {
  uint32_t u = __builtin_bit_cast(uint32_t, x);
  if (x != x) return {uint16_t((u >> 16) | 0x40)};
  return {uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}

TARN_INLINE float to_float(f16 x) {
  uint32_t sign = uint32_t(x.bits & 0x8000) << 16, exponent = (x.bits >> 10) & 31, fraction = x.bits & 0x3ff;
  if (exponent == 31)  // infinity, or NaN made quiet
    return __builtin_bit_cast(float, sign | 0x7f800000 | (fraction << 13) | (fraction ? 0x400000 : 0));
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact
    float magnitude = float(fraction) * 5.9604644775390625e-8f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, magnitude));
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (fraction << 13));
}

// Round to nearest even, overflow to infinity, gradual underflow.
TARN_INLINE f16 to_f16(float x) {
  uint32_t u = __builtin_bit_cast(uint32_t, x), sign = (u >> 16) & 0x8000;
  u &= 0x7fffffff;
  if (u > 0x7f800000) return {uint16_t(sign | 0x7e00 | ((u >> 13) & 0x3ff))};
  if (u >= 0x477ff000) return {uint16_t(sign | 0x7c00)};  // 65520 and above
  if (u < 0x38800000) {                                   // below 2^-14: let a float addition do the rounding
    float f = __builtin_bit_cast(float, u) + 0.5f;
    return {uint16_t(sign | (__builtin_bit_cast(uint32_t, f) - 0x3f000000))};
  }
  return {uint16_t(sign | ((u - 0x38000000 + 0xfff + ((u >> 13) & 1)) >> 13))};
}

// --- One element of storage <-> one value of compute type ---

template <class T, class S>
TARN_INLINE T load_element(S s) {
  if constexpr (same<S, f16> || same<S, bf16>) {
    return T(to_float(s));
  } else {
    return T(s);
  }
}
template <class S, class T>
TARN_INLINE S store_element(T value) {
  if constexpr (same<S, T>) {
    return value;
  } else if constexpr (same<S, f16>) {
    return to_f16(float(value));
  } else if constexpr (same<S, bf16>) {
    return to_bf16(float(value));
  } else if constexpr (same<S, bool>) {
    return value != T(0);
  } else if constexpr (is_float<T> && !is_float<S>) {
    // Out of range and NaN: the lowest int64, then cut to size, on every machine.
    bool in_range = value >= T(-9223372036854775808.0) && value < T(9223372036854775808.0);
    return S(in_range ? int64_t(value) : INT64_MIN);
  } else {
    return S(value);
  }
}

// --- Vectors of the same type ---

template <class T, int N>
TARN_INLINE V<T, N> load(const T* p) {
  V<T, N> x;
  __builtin_memcpy(&x.v, p, sizeof(x.v));
  return x;
}
template <class T, int N>
TARN_INLINE void store(T* p, V<T, N> x) {
  __builtin_memcpy(p, &x.v, sizeof(x.v));
}

#if defined(__AVX2__)
// count ones then zeros, as a mask of 4-byte lanes; read at offset 8 - count.
alignas(32) inline constexpr int32_t kLaneMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
TARN_INLINE __m256i lane_mask(int words) {
  return _mm256_loadu_si256((const __m256i*)(kLaneMask + 8 - words));
}
#endif

// The first count lanes (0 < count < N); the others are 0. Nothing past them is touched.
template <class T, int N>
TARN_INLINE V<T, N> load_part(const T* p, int count) {
  using R = V<T, N>;
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && sizeof(T) == 4)
    return R::raw((typename R::Raw)_mm512_maskz_loadu_epi32(__mmask16((1u << count) - 1), p));
  if constexpr (is_512<T, N> && sizeof(T) == 8)
    return R::raw((typename R::Raw)_mm512_maskz_loadu_epi64(__mmask8((1u << count) - 1), p));
#endif
#if defined(__AVX2__)
  if constexpr (is_256<T, N>)
    return R::raw(
        (typename R::Raw)_mm256_maskload_epi32((const int*)p, lane_mask(count * int(sizeof(T) / 4))));
#endif
  R x(0);
  for (int i = 0; i < count; i++) x.set_lane(i, p[i]);
  return x;
}
template <class T, int N>
TARN_INLINE void store_part(T* p, V<T, N> x, int count) {
#if defined(__AVX512F__)
  if constexpr (is_512<T, N> && sizeof(T) == 4)
    return _mm512_mask_storeu_epi32(p, __mmask16((1u << count) - 1), (__m512i)x.v);
  if constexpr (is_512<T, N> && sizeof(T) == 8)
    return _mm512_mask_storeu_epi64(p, __mmask8((1u << count) - 1), (__m512i)x.v);
#endif
#if defined(__AVX2__)
  if constexpr (is_256<T, N>)
    return _mm256_maskstore_epi32((int*)p, lane_mask(count * int(sizeof(T) / 4)), (__m256i)x.v);
#endif
  for (int i = 0; i < count; i++) p[i] = x.lane(i);
}

// --- Masks as bytes 0 and 1: the storage of bool ---

// Four bits as four bytes: the product puts bit i at positions i, i + 7, i + 14 and i + 21; bit 8i is kept.
TARN_INLINE void store_bits(uint8_t* p, int bits) {
  uint32_t bytes = (uint32_t(bits) * 0x204081) & 0x01010101;
  __builtin_memcpy(p, &bytes, 4);
}

template <int Bytes, int N>
TARN_INLINE void store_bool(uint8_t* p, Mask<Bytes, N> m) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return _mm_storeu_si128((__m128i*)p, _mm_maskz_set1_epi8(m.m, 1));
  if constexpr (N == 8 && Bytes == 8) return _mm_storel_epi64((__m128i*)p, _mm_maskz_set1_epi8(m.m, 1));
#endif
#if defined(__AVX2__)
  if constexpr (N == 8 && Bytes == 4) {
    __m256i x = (__m256i)m.m;
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return _mm_storel_epi64((__m128i*)p, _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1)));
  }
  if constexpr (N == 4 && Bytes == 8) return store_bits(p, _mm256_movemask_pd((__m256d)m.m));
#endif
#if defined(__SSE2__)
  if constexpr (N == 4 && Bytes == 4) return store_bits(p, _mm_movemask_ps((__m128)m.m));
#endif
  for (int i = 0; i < N; i++) p[i] = m.lane(i);
}
template <int Bytes, int N>
TARN_INLINE Mask<Bytes, N> load_bool(const uint8_t* p) {
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    __m128i x = _mm_loadu_si128((const __m128i*)p);
    return {_mm_test_epi8_mask(x, x)};
  }
  if constexpr (N == 8 && Bytes == 8) {
    __m128i x = _mm_loadl_epi64((const __m128i*)p);
    return {__mmask8(_mm_test_epi8_mask(x, x))};
  }
#endif
  using I = IntOf<Bytes>;
  V<I, N> x(0);
  for (int i = 0; i < N; i++) x.set_lane(i, I(p[i]));
  return x != 0;
}

// --- Rows with conversion: storage S <-> compute type T ---

// The loops are plain: the compiler turns widening and narrowing of integers and floats into vector code.
// Half floats use the conversion instructions where there are any.

template <class T, class S>
TARN_INLINE void load_row(T* out, const S* in, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (same<T, float> && same<S, f16>)
    for (; i + 16 <= n; i += 16)
      _mm512_storeu_ps(out + i, _mm512_maskz_cvtph_ps(-1, _mm256_loadu_si256((const __m256i*)(in + i))));
#elif defined(__F16C__)
  if constexpr (same<T, float> && same<S, f16>)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(in + i))));
#endif
  for (; i < n; i++) out[i] = load_element<T>(in[i]);
}
template <class S, class T>
TARN_INLINE void store_row(S* out, const T* in, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (same<T, float> && same<S, f16>)
    for (; i + 16 <= n; i += 16)
      _mm256_storeu_si256((__m256i*)(out + i),
                          _mm512_maskz_cvtps_ph(-1, _mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  if constexpr (same<T, float> && same<S, f16>)
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128((__m128i*)(out + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; i++) out[i] = store_element<S>(in[i]);
}

// The same with a step between elements, counted in elements; step 0 repeats one.
template <class T, class S>
TARN_INLINE void load_strided(T* out, const S* in, int64_t step, int64_t n) {
  if (step == 1) return load_row(out, in, n);
  if (step == 0) {
    T value = load_element<T>(*in);
    for (int64_t i = 0; i < n; i++) out[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = load_element<T>(in[i * step]);
}
template <class S, class T>
TARN_INLINE void store_strided(S* out, const T* in, int64_t step, int64_t n) {
  if (step == 1) return store_row(out, in, n);
  for (int64_t i = 0; i < n; i++) out[i * step] = store_element<S>(in[i]);
}

}  // namespace tarn::inline v1::TARN_ISA
