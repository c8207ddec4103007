// Dense arithmetic for the host versions of library calls: elements of any float type are read into float or
// double, multiplied there, and rounded when they are written.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

enum class Element : uint8_t { F16, BF16, F32, F64 };

size_t size_of(Element type);
const char* name_of(Element type);

// C is float or double. `at` counts elements.
template <class C>
C load(Element type, const void* p, int64_t at) {
  switch (type) {
    case Element::F16:
      return C(__half2float(static_cast<const __half*>(p)[at]));
    case Element::BF16:
      return C(__bfloat162float(static_cast<const __nv_bfloat16*>(p)[at]));
    case Element::F32:
      return C(static_cast<const float*>(p)[at]);
    default:
      return C(static_cast<const double*>(p)[at]);
  }
}

template <class C>
void store(Element type, void* p, int64_t at, C value) {
  switch (type) {
    case Element::F16:
      static_cast<__half*>(p)[at] = __float2half(float(value));
      return;
    case Element::BF16:
      static_cast<__nv_bfloat16*>(p)[at] = __float2bfloat16(float(value));
      return;
    case Element::F32:
      static_cast<float*>(p)[at] = float(value);
      return;
    default:
      static_cast<double*>(p)[at] = double(value);
  }
}

// y = alpha * x + beta * y, where y is not read if beta is 0 (it may hold NaN).
template <class C>
void blend(Element type, void* p, int64_t at, C value, double alpha, double beta) {
  value *= C(alpha);
  if (beta != 0) value += C(beta) * load<C>(type, p, at);
  store(type, p, at, value);
}

// c (m, n) += a (m, k) * b (k, n), all row-major without gaps.
void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void multiply(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

// y (cols, rows) of x (rows, cols).
template <class C>
std::vector<C> transpose(const std::vector<C>& x, int64_t rows, int64_t cols) {
  std::vector<C> y(x.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) y[c * rows + r] = x[r * cols + c];
  return y;
}

// Calls f with a float or a double of value 0, the type to compute in.
template <class F>
void with_compute_type(bool wide, F f) {
  if (wide)
    f(double(0));
  else
    f(float(0));
}

}  // namespace tarn::inline v1::emu
