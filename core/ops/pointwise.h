// The pointwise ops as functions: one per row of pointwise.def, whose operands may be tensors or numbers;
// then those that need another signature. Operands are broadcast; the result's dtype follows PyTorch's type
// promotion, in which a number and a 0-dim tensor yield to tensors with dims of the same category. Sizes that
// do not broadcast and dtypes that an op does not take are Errors; integer division by zero gives 0.
#pragma once

#include <optional>
#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// clang-format off
#define TARN_PUBLIC_ROWS
#define TARN_DEFAULT(...) __VA_OPT__(= __VA_ARGS__)
#define UNARY(kind, name, value, d0) \
  TARN_API Tensor name(const Tensor& x); \
  inline Tensor& name##_(const Tensor& x) { return x.name##_(); }
#define UNARY1(kind, name, p, dp, value, d0) \
  TARN_API Tensor name(const Tensor& x, const Scalar& p TARN_DEFAULT(dp)); \
  inline Tensor& name##_(const Tensor& x, const Scalar& p TARN_DEFAULT(dp)) { return x.name##_(p); }
#define UNARY2(kind, name, p, dp, q, dq, value, d0) \
  TARN_API Tensor name(const Tensor& x, const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq)); \
  inline Tensor& name##_(const Tensor& x, const Scalar& p TARN_DEFAULT(dp), \
                         const Scalar& q TARN_DEFAULT(dq)) { \
    return x.name##_(p, q); \
  }
#define UNARY3(kind, name, p, dp, q, dq, r, dr, value, d0) \
  TARN_API Tensor name(const Tensor& x, const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq), \
                       const Scalar& r TARN_DEFAULT(dr)); \
  inline Tensor& name##_(const Tensor& x, const Scalar& p TARN_DEFAULT(dp), \
                         const Scalar& q TARN_DEFAULT(dq), const Scalar& r TARN_DEFAULT(dr)) { \
    return x.name##_(p, q, r); \
  }
#define BINARY(kind, name, value, d0, d1) \
  TARN_API Tensor name(const Tensor& a, const Tensor& b); \
  TARN_API Tensor name(const Tensor& a, const Scalar& b); \
  TARN_API Tensor name(const Scalar& a, const Tensor& b);
#define BINARY1(kind, name, p, dp, value, d0, d1) \
  TARN_API Tensor name(const Tensor& a, const Tensor& b, const Scalar& p TARN_DEFAULT(dp)); \
  TARN_API Tensor name(const Tensor& a, const Scalar& b, const Scalar& p TARN_DEFAULT(dp)); \
  TARN_API Tensor name(const Scalar& a, const Tensor& b, const Scalar& p TARN_DEFAULT(dp));
#define TERNARY(kind, name, value, d0, d1, d2) \
  TARN_API Tensor name(const Tensor& a, const Tensor& b, const Tensor& c);
#define TERNARY1(kind, name, p, dp, value, d0, d1, d2) \
  TARN_API Tensor name(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& p TARN_DEFAULT(dp));
#include <tarn/core/ops/pointwise.def>
#undef TARN_DEFAULT
#undef TARN_PUBLIC_ROWS
// clang-format on

// a to the power b. Integers stay integers and wrap; a negative power of an integer truncates (1, -1 or 0).
// The exponents -2, -1, -0.5, 0.5, 2 and 3, given as numbers, are computed without pow.
TARN_API Tensor pow(const Tensor& a, const Tensor& b);
TARN_API Tensor pow(const Tensor& a, const Scalar& b);
TARN_API Tensor pow(const Scalar& a, const Tensor& b);

// Division with rounding_mode "trunc" or "floor" (of the exact quotient), or none (true division).
TARN_API Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode);
TARN_API Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode);
TARN_API Tensor floor_divide(const Tensor& a, const Tensor& b);
TARN_API Tensor floor_divide(const Tensor& a, const Scalar& b);

// ~x of integers, logical not of bool.
TARN_API Tensor bitwise_not(const Tensor& x);

// x, at least min; x, at most max. With tensors these are maximum and minimum, which share the gradient at
// ties; a number takes it all.
TARN_API Tensor clamp_min(const Tensor& x, const Tensor& min);
TARN_API Tensor clamp_min(const Tensor& x, const Scalar& min);
TARN_API Tensor clamp_max(const Tensor& x, const Tensor& max);
TARN_API Tensor clamp_max(const Tensor& x, const Scalar& max);

// x, at least min and at most max; max wins where min > max. At least one of them is needed.
TARN_API Tensor clamp(const Tensor& x, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max = {});
TARN_API Tensor clamp(const Tensor& x, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max = {});
inline Tensor& clamp_(const Tensor& x, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max = {}) {
  return x.clamp_(min, max);
}

// a + weight * (b - a).
TARN_API Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
TARN_API Tensor lerp(const Tensor& a, const Tensor& b, const Scalar& weight);

// a where condition (bool) is true, else b.
TARN_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
TARN_API Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
TARN_API Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
TARN_API Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b);

// x with `value`, which must be 0-dim, where mask (bool) is true. The result has x's dtype.
TARN_API Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
TARN_API Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value);

// Gaussian error linear unit, x * P(X <= x) for normal X (Hendrycks and Gimpel, arXiv 1606.08415);
// approximate is "none" (erf) or "tanh".
TARN_API Tensor gelu(const Tensor& x, std::string_view approximate = "none");

// Exponential linear units with one parameter (arXiv 1704.07483) and with the constants of self-normalising
// networks (arXiv 1706.02515).
TARN_API Tensor celu(const Tensor& x, const Scalar& alpha = 1);
TARN_API Tensor& celu_(const Tensor& x, const Scalar& alpha = 1);
TARN_API Tensor selu(const Tensor& x);
TARN_API Tensor& selu_(const Tensor& x);

// maximum and minimum under libtorch's other name.
inline Tensor max(const Tensor& a, const Tensor& b) { return maximum(a, b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return minimum(a, b); }

// Operators on tensors, and on a tensor and a number from either side.
#define TARN_OPERATOR(op, name)                                                      \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return name(a, b); } \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { return name(a, b); }
TARN_OPERATOR(+, add)
TARN_OPERATOR(-, sub)
TARN_OPERATOR(*, mul)
TARN_OPERATOR(/, div)
TARN_OPERATOR(%, remainder)
TARN_OPERATOR(&, bitwise_and)
TARN_OPERATOR(|, bitwise_or)
TARN_OPERATOR(^, bitwise_xor)
TARN_OPERATOR(==, eq)
TARN_OPERATOR(!=, ne)
TARN_OPERATOR(<, lt)
TARN_OPERATOR(<=, le)
TARN_OPERATOR(>, gt)
TARN_OPERATOR(>=, ge)
TARN_OPERATOR(&&, logical_and)
TARN_OPERATOR(||, logical_or)
#undef TARN_OPERATOR

}  // namespace tarn::inline v1
