// Members of class Tensor, included inside it by tensor.h: the methods of pointwise.def's rows, then those of
// other shapes. What they do stands in pointwise.h and in the rows. `x.op_()` writes the result into x and
// returns x.
// clang-format off
#define TARN_PUBLIC_ROWS
#define TARN_DEFAULT(...) __VA_OPT__(= __VA_ARGS__)
#define UNARY(kind, name, value, d0) \
  Tensor name() const; \
  Tensor& name##_() const;
#define UNARY1(kind, name, p, dp, value, d0) \
  Tensor name(const Scalar& p TARN_DEFAULT(dp)) const; \
  Tensor& name##_(const Scalar& p TARN_DEFAULT(dp)) const;
#define UNARY2(kind, name, p, dp, q, dq, value, d0) \
  Tensor name(const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq)) const; \
  Tensor& name##_(const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq)) const;
#define UNARY3(kind, name, p, dp, q, dq, r, dr, value, d0) \
  Tensor name(const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq), \
               const Scalar& r TARN_DEFAULT(dr)) const; \
  Tensor& name##_(const Scalar& p TARN_DEFAULT(dp), const Scalar& q TARN_DEFAULT(dq), \
               const Scalar& r TARN_DEFAULT(dr)) const;
#define BINARY(kind, name, value, d0, d1) \
  Tensor name(const Tensor& other) const; \
  Tensor name(const Scalar& other) const; \
  Tensor& name##_(const Tensor& other) const; \
  Tensor& name##_(const Scalar& other) const;
#define BINARY1(kind, name, p, dp, value, d0, d1) \
  Tensor name(const Tensor& other, const Scalar& p TARN_DEFAULT(dp)) const; \
  Tensor name(const Scalar& other, const Scalar& p TARN_DEFAULT(dp)) const; \
  Tensor& name##_(const Tensor& other, const Scalar& p TARN_DEFAULT(dp)) const; \
  Tensor& name##_(const Scalar& other, const Scalar& p TARN_DEFAULT(dp)) const;
#define TERNARY(kind, name, value, d0, d1, d2) \
  Tensor name(const Tensor& b, const Tensor& c) const; \
  Tensor& name##_(const Tensor& b, const Tensor& c) const;
#define TERNARY1(kind, name, p, dp, value, d0, d1, d2) \
  Tensor name(const Tensor& b, const Tensor& c, const Scalar& p TARN_DEFAULT(dp)) const; \
  Tensor& name##_(const Tensor& b, const Tensor& c, const Scalar& p TARN_DEFAULT(dp)) const;
#include <tarn/core/ops/pointwise.def>
#undef TARN_DEFAULT
#undef TARN_PUBLIC_ROWS
// clang-format on

Tensor pow(const Tensor& exponent) const;
Tensor pow(const Scalar& exponent) const;
Tensor& pow_(const Tensor& exponent) const;
Tensor& pow_(const Scalar& exponent) const;
Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode) const;
Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode) const;
Tensor& div_(const Tensor& other, std::optional<std::string_view> rounding_mode) const;
Tensor& div_(const Scalar& other, std::optional<std::string_view> rounding_mode) const;
Tensor floor_divide(const Tensor& other) const;
Tensor floor_divide(const Scalar& other) const;
Tensor& floor_divide_(const Tensor& other) const;
Tensor& floor_divide_(const Scalar& other) const;
Tensor bitwise_not() const;
Tensor& bitwise_not_() const;
Tensor clamp_min(const Tensor& min) const;
Tensor clamp_min(const Scalar& min) const;
Tensor& clamp_min_(const Tensor& min) const;
Tensor& clamp_min_(const Scalar& min) const;
Tensor clamp_max(const Tensor& max) const;
Tensor clamp_max(const Scalar& max) const;
Tensor& clamp_max_(const Tensor& max) const;
Tensor& clamp_max_(const Scalar& max) const;
Tensor clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max = {}) const;
Tensor clamp(const std::optional<Tensor>& min, const std::optional<Tensor>& max = {}) const;
Tensor& clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max = {}) const;
Tensor& clamp_(const std::optional<Tensor>& min, const std::optional<Tensor>& max = {}) const;
Tensor lerp(const Tensor& end, const Tensor& weight) const;
Tensor lerp(const Tensor& end, const Scalar& weight) const;
Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
Tensor where(const Tensor& condition, const Tensor& other) const;
Tensor where(const Tensor& condition, const Scalar& other) const;
Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
Tensor max(const Tensor& other) const;
Tensor min(const Tensor& other) const;

Tensor operator-() const { return neg(); }
Tensor operator~() const { return bitwise_not(); }
Tensor operator!() const { return logical_not(); }
Tensor& operator+=(const Tensor& other) const { return add_(other); }
Tensor& operator+=(const Scalar& other) const { return add_(other); }
Tensor& operator-=(const Tensor& other) const { return sub_(other); }
Tensor& operator-=(const Scalar& other) const { return sub_(other); }
Tensor& operator*=(const Tensor& other) const { return mul_(other); }
Tensor& operator*=(const Scalar& other) const { return mul_(other); }
Tensor& operator/=(const Tensor& other) const { return div_(other); }
Tensor& operator/=(const Scalar& other) const { return div_(other); }
Tensor& operator&=(const Tensor& other) const { return bitwise_and_(other); }
Tensor& operator|=(const Tensor& other) const { return bitwise_or_(other); }
Tensor& operator^=(const Tensor& other) const { return bitwise_xor_(other); }
