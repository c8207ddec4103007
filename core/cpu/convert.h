// Rows of any storage dtype as rows of a compute type (float, double, int64), and back.
#pragma once

#include <type_traits>

#include <tarn/core/cpu/isa.h>
#include <tarn/core/cpu/pointwise_kernels.h>
#include <tarn/core/dtype.h>

TARN_DECLARE_KERNELS(PointwiseTable, pointwise_f32)
TARN_DECLARE_KERNELS(PointwiseTable, pointwise_f64)
TARN_DECLARE_KERNELS(PointwiseTable, pointwise_i64)

namespace tarn::inline v1::detail {

template <class T>
const PointwiseTable& convert_table() {
  if constexpr (std::is_same_v<T, float>)
    return pointwise_f32();
  else if constexpr (std::is_same_v<T, double>)
    return pointwise_f64();
  else
    return pointwise_i64();
}

// to[i] = from[i * step], from storage of `dtype`.
template <class T>
ConvertRow row_loader(ScalarType dtype) {
  return convert_table<T>().load[int(dtype)];
}
// to[i * step] = from[i], into storage of `dtype`.
template <class T>
ConvertRow row_storer(ScalarType dtype) {
  return convert_table<T>().store[int(dtype)];
}

// Calls f(Type<T>{}) with the type that elements of `dtype` are computed in: float for the 16-bit floats,
// int64 for all integers and bool.
template <class F>
decltype(auto) visit_compute(ScalarType dtype, F&& f) {
  if (dtype == kDouble) return f(Type<double>{});
  if (is_floating(dtype)) return f(Type<float>{});
  return f(Type<int64_t>{});
}

}  // namespace tarn::inline v1::detail
