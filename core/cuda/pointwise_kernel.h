// The kernel of one text of pointwise.def for one compute type, and the table of all of them. Included by
// core/ops/pointwise_*.cu only.
#pragma once

#include <tarn/core/cuda/value.h>
#include <tarn/core/cuda/walk.h>

#define TARN_ISA gpu
#define TARN_ROW_TEXT __device__
#include <tarn/core/ops/pointwise_rows.h>

namespace tarn::inline v1::gpu {

constexpr bool computes_in(RowKind kind, bool is_float_type) {
  return kind == RowKind::FLOAT ? is_float_type : kind == RowKind::INT ? !is_float_type : true;
}

template <int I>
struct Slot {
  static constexpr int value = I;
};

template <class T>
__device__ inline D<T> number_of(const int64_t& bits) {
  return D<T>(*reinterpret_cast<const T*>(&bits));
}

// The operand of a slot at its offset: a tensor's element or the call's number.
template <bool Read, class T>
__device__ inline D<T> operand(const PointwiseCall& call, int slot, const int64_t* offset) {
  if constexpr (!Read) return D<T>(0);
  const T* p = static_cast<const T*>(call.in[slot]);
  return p ? D<T>(p[offset[1 + slot]]) : number_of<T>(call.number[slot]);
}
template <bool Read, class T>
__device__ inline M condition(const PointwiseCall& call, int slot, const int64_t* offset) {
  if constexpr (!Read) return {false};
  const uint8_t* p = static_cast<const uint8_t*>(call.in[slot]);
  return p ? M{p[offset[1 + slot]] != 0} : number_of<T>(call.number[slot]) != 0;
}

template <class T>
__device__ inline void put(void* out, int64_t at, D<T> value) {
  static_cast<T*>(out)[at] = value.v;
}
template <class T>
__device__ inline void put(void* out, int64_t at, M value) {
  static_cast<uint8_t*>(out)[at] = value.m;
}

template <int Row, int Text, class T>
__device__ inline void pointwise_element(const PointwiseCall& call, const int64_t* offset) {
  constexpr unsigned reads = kPointwiseRows[Row].reads[Text];
  constexpr int condition_at = condition_slot(kPointwiseRows[Row].kind);
  auto get = [&](auto slot) {
    constexpr int at = decltype(slot)::value;
    constexpr bool read = (reads >> at) & 1;
    if constexpr (at == condition_at)
      return condition<read, T>(call, at, offset);
    else
      return operand<read, T>(call, at, offset);
  };
  auto param = [&](int k) {
    return k < kPointwiseRows[Row].param_count ? number_of<T>(call.params[k]) : D<T>(0);
  };
  auto a = get(Slot<kSlotA>{});
  auto b = get(Slot<kSlotB>{});
  RowText<Row, D<T>, decltype(a), decltype(b), D<T>> text{
      get(Slot<kSlotG>{}), a, b, get(Slot<kSlotC>{}), get(Slot<kSlotY>{}), param(0), param(1), param(2)};
  if constexpr (Text == 0) put<T>(call.out, offset[0], text.value_text());
  if constexpr (Text == 1) put<T>(call.out, offset[0], text.gradient_text0());
  if constexpr (Text == 2) put<T>(call.out, offset[0], text.gradient_text1());
  if constexpr (Text == 3) put<T>(call.out, offset[0], text.gradient_text2());
}

template <int Row, int Text, class T>
__global__ void pointwise_kernel(PointwiseCall call) {
  for (int64_t i = first_index(); i < call.walk.count; i += index_step()) {
    int64_t offset[1 + kCallSlots];
    offsets_of(call.walk, i, offset);
    pointwise_element<Row, Text, T>(call, offset);
  }
}

using PointwiseKernel = void (*)(PointwiseCall);

// nvcc takes two and a half minutes for the texts of one compute type, g++ twelve seconds.
// TARN_CUDA_ALL_ROWS=OFF makes the GPU's library with these rows alone, to see that all kernels compile.
constexpr bool is_precompiled(int row) {
#if defined(__CUDACC__) && !TARN_CUDA_ALL_ROWS
  for (int common :
       {kRow_add,       kRow_sub,        kRow_mul,         kRow_div,     kRow_neg,         kRow_abs,
        kRow_square,    kRow_reciprocal, kRow_maximum,     kRow_minimum, kRow_sqrt,        kRow_rsqrt,
        kRow_exp,       kRow_log,        kRow_tanh,        kRow_sigmoid, kRow_relu,        kRow_gelu_erf,
        kRow_gelu_tanh, kRow_silu,       kRow_eq,          kRow_ne,      kRow_lt,          kRow_le,
        kRow_gt,        kRow_ge,         kRow_logical_not, kRow_where,   kRow_masked_fill, kRow_addcmul,
        kRow_addcdiv,   kRow_clamp_min,  kRow_clamp_max})
    if (row == common) return true;
  return false;
#else
  return row >= 0;
#endif
}

template <int Row, int Text, class T>
constexpr PointwiseKernel pick_kernel() {
  constexpr const PointwiseRow& row = kPointwiseRows[Row];
  constexpr bool has_text = Text == 0 || row.gradient[Text ? Text - 1 : 0][0] != 0;
  // Integers have no gradients.
  if constexpr (is_precompiled(Row) && computes_in(row.kind, is_float<T>) && has_text &&
                (Text == 0 || is_float<T>))
    return pointwise_kernel<Row, Text, T>;
  else
    return nullptr;
}

// Null where a row has no such text or does not compute in the type.
template <class T>
PointwiseKernel pointwise_kernel_of(int row, int text) {
  static const PointwiseKernel kernels[kRows][4] = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2)                                          \
  {pick_kernel<kRow_##name, 0, T>(), pick_kernel<kRow_##name, 1, T>(), pick_kernel<kRow_##name, 2, T>(), \
   pick_kernel<kRow_##name, 3, T>()},
#include <tarn/core/ops/pointwise.def>
  };
  return kernels[row][text];
}

PointwiseKernel pointwise_f32_kernel(int row, int text);
PointwiseKernel pointwise_f64_kernel(int row, int text);
PointwiseKernel pointwise_i64_kernel(int row, int text);

}  // namespace tarn::inline v1::gpu
