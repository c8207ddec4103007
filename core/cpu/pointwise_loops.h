// The loops of pointwise_kernels.h, for one compute type. Included by pointwise_*_isa.cpp only.
#pragma once
#include <tarn/core/cpu/math.h>
#include <tarn/core/cpu/pointwise_kernels.h>

namespace tarn::inline v1::TARN_ISA {

constexpr bool computes_in(RowKind kind, bool is_float_type) {
  return kind == RowKind::FLOAT ? is_float_type : kind == RowKind::INT ? !is_float_type : true;
}

// Loads N elements of a slot, or the first `count` if Part; 0 if the text does not read it.
template <bool Read, bool Part, class T, int N>
TARN_INLINE V<T, N> operand(const void* p, int64_t i, int count) {
  if constexpr (!Read) return V<T, N>(0);
  auto* from = static_cast<const T*>(p) + i;
  if constexpr (Part) {
    return load_part<T, N>(from, count);
  } else {
    return load<T, N>(from);
  }
}
template <bool Read, bool Part, class T, int N>
TARN_INLINE typename V<T, N>::M condition(const void* p, int64_t i, int count) {
  if constexpr (!Read) return V<T, N>(0) != 0;
  auto* from = static_cast<const uint8_t*>(p) + i;
  if constexpr (Part) {
    uint8_t buffer[N] = {};
    for (int k = 0; k < count; k++) buffer[k] = from[k];
    return load_bool<int(sizeof(T)), N>(buffer);
  } else {
    return load_bool<int(sizeof(T)), N>(from);
  }
}

template <bool Part, class T, int N>
TARN_INLINE void put(void* out, int64_t i, V<T, N> value, int count) {
  T* to = static_cast<T*>(out) + i;
  if constexpr (Part) {
    store_part(to, value, count);
  } else {
    store(to, value);
  }
}
template <bool Part, class T, int Bytes, int N>
TARN_INLINE void put(void* out, int64_t i, Mask<Bytes, N> value, int count) {
  uint8_t* to = static_cast<uint8_t*>(out) + i;
  if constexpr (Part) {
    uint8_t buffer[N];
    store_bool(buffer, value);
    for (int k = 0; k < count; k++) to[k] = buffer[k];
  } else {
    store_bool(to, value);
  }
}

template <int Row, int Text, class T, bool Part>
TARN_INLINE void pointwise_step(void* out, const void* const* in, const T* params, int64_t i, int count) {
  constexpr int N = kLanes<T>;
  constexpr unsigned reads = kPointwiseRows[Row].reads[Text];
  using X = V<T, N>;
  auto number = [&](int k) {
    return k < kPointwiseRows[Row].param_count ? X::raw(X::splat(params[k])) : X(0);
  };
  // The operand of a slot: a value, or a truth value where the row has its bool there.
  auto get = [&]<int Slot>() {
    if constexpr (Slot == condition_slot(kPointwiseRows[Row].kind)) {
      return condition<(reads >> Slot) & 1, Part, T, N>(in[Slot], i, count);
    } else {
      return operand<(reads >> Slot) & 1, Part, T, N>(in[Slot], i, count);
    }
  };
  auto a = get.template operator()<kSlotA>();
  auto b = get.template operator()<kSlotB>();
  RowText<Row, X, decltype(a), decltype(b), X> text{
      get.template operator()<kSlotG>(), a,         b,         get.template operator()<kSlotC>(),
      get.template operator()<kSlotY>(), number(0), number(1), number(2)};
  if constexpr (Text == 0) put<Part, T>(out, i, text.value_text(), count);
  if constexpr (Text == 1) put<Part, T>(out, i, text.gradient_text0(), count);
  if constexpr (Text == 2) put<Part, T>(out, i, text.gradient_text1(), count);
  if constexpr (Text == 3) put<Part, T>(out, i, text.gradient_text2(), count);
}

template <int Row, int Text, class T>
void pointwise_loop(void* out, const void* const* in, const void* params, int64_t n) {
  constexpr int N = kLanes<T>;
  auto* numbers = static_cast<const T*>(params);
  int64_t i = 0;
  for (; i + N <= n; i += N) pointwise_step<Row, Text, T, false>(out, in, numbers, i, N);
  if (i < n) pointwise_step<Row, Text, T, true>(out, in, numbers, i, int(n - i));
}

template <int Row, int Text, class T>
constexpr detail::PointwiseKernel pointwise_kernel() {
  constexpr const PointwiseRow& row = kPointwiseRows[Row];
  constexpr bool has_text = Text == 0 || row.gradient[Text ? Text - 1 : 0][0] != 0;
  // Integers have no gradients.
  if constexpr (computes_in(row.kind, is_float<T>) && has_text && (Text == 0 || is_float<T>)) {
    return pointwise_loop<Row, Text, T>;
  } else {
    return nullptr;
  }
}

template <class T>
struct PointwiseKernels {
  detail::PointwiseKernel rows[kRows][4];
};
template <class T, int... Row>
constexpr PointwiseKernels<T> pointwise_kernels() {
  return {{
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2)                  \
  {pointwise_kernel<kRow_##name, 0, T>(), pointwise_kernel<kRow_##name, 1, T>(), \
   pointwise_kernel<kRow_##name, 2, T>(), pointwise_kernel<kRow_##name, 3, T>()},
#include <tarn/core/ops/pointwise.def>
  }};
}

template <class T, class S>
void load_loop(void* out, const void* in, int64_t step, int64_t n) {
  load_strided(static_cast<T*>(out), static_cast<const S*>(in), step, n);
}
template <class T, class S>
void store_loop(void* out, const void* in, int64_t step, int64_t n) {
  store_strided(static_cast<S*>(out), static_cast<const T*>(in), step, n);
}

// In ScalarType's order; complex types are not there yet.
template <class T>
inline constexpr detail::ConvertRow kLoad[16] = {load_loop<T, uint8_t>,
                                                 load_loop<T, int8_t>,
                                                 load_loop<T, int16_t>,
                                                 load_loop<T, int32_t>,
                                                 load_loop<T, int64_t>,
                                                 load_loop<T, f16>,
                                                 load_loop<T, float>,
                                                 load_loop<T, double>,
                                                 nullptr,
                                                 nullptr,
                                                 nullptr,
                                                 load_loop<T, bool>,
                                                 nullptr,
                                                 nullptr,
                                                 nullptr,
                                                 load_loop<T, bf16>};
template <class T>
inline constexpr detail::ConvertRow kStore[16] = {store_loop<T, uint8_t>,
                                                  store_loop<T, int8_t>,
                                                  store_loop<T, int16_t>,
                                                  store_loop<T, int32_t>,
                                                  store_loop<T, int64_t>,
                                                  store_loop<T, f16>,
                                                  store_loop<T, float>,
                                                  store_loop<T, double>,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  store_loop<T, bool>,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  store_loop<T, bf16>};

}  // namespace tarn::inline v1::TARN_ISA
