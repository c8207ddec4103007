// Element types. Names and order are PyTorch's ScalarType.
#pragma once

#include <tarn/core/error.h>
#include <tarn/core/half.h>

namespace tarn::inline v1 {

// Complex types have their places kept; no tensor of them can be made yet.
enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  BFloat16 = 15,
  Undefined = 24,
};
using Dtype = ScalarType;
using DType = ScalarType;

inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kU8 = ScalarType::Byte;
inline constexpr ScalarType kChar = ScalarType::Char, kInt8 = ScalarType::Char, kI8 = ScalarType::Char;
inline constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short, kI16 = ScalarType::Short;
inline constexpr ScalarType kInt = ScalarType::Int, kInt32 = ScalarType::Int, kI32 = ScalarType::Int;
inline constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long, kI64 = ScalarType::Long;
inline constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kF16 = ScalarType::Half;
inline constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
                            kF32 = ScalarType::Float;
inline constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
                            kF64 = ScalarType::Double;
inline constexpr ScalarType kBool = ScalarType::Bool;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

TARN_API size_t element_size(ScalarType dtype);
// "Float", "Long": PyTorch's C++ names.
TARN_API const char* to_string(ScalarType dtype);

constexpr bool is_floating(ScalarType t) {
  return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16;
}
constexpr bool is_integral(ScalarType t, bool include_bool = false) {
  return (t >= kByte && t <= kLong) || (include_bool && t == kBool);
}

// PyTorch's promotion of two tensor dtypes of the same category rank: promote(Int, Float) = Float, (Half,
// BFloat16) = Float, (Byte, Char) = Short.
TARN_API ScalarType promote_types(ScalarType a, ScalarType b);

// Whether values of `from` may be written to `to` by an in-place op (float to integer may not, integer to
// bool neither).
TARN_API bool can_cast(ScalarType from, ScalarType to);

TARN_API ScalarType get_default_dtype();
// Floating types only.
TARN_API void set_default_dtype(ScalarType dtype);

// The ScalarType of a C++ type: dtype_of<float> is kFloat.
template <class T>
inline constexpr ScalarType dtype_of = ScalarType::Undefined;
template <>
inline constexpr ScalarType dtype_of<uint8_t> = kByte;
template <>
inline constexpr ScalarType dtype_of<int8_t> = kChar;
template <>
inline constexpr ScalarType dtype_of<int16_t> = kShort;
template <>
inline constexpr ScalarType dtype_of<int32_t> = kInt;
template <>
inline constexpr ScalarType dtype_of<int64_t> = kLong;
template <>
inline constexpr ScalarType dtype_of<long long> = kLong;
template <>
inline constexpr ScalarType dtype_of<Half> = kHalf;
template <>
inline constexpr ScalarType dtype_of<float> = kFloat;
template <>
inline constexpr ScalarType dtype_of<double> = kDouble;
template <>
inline constexpr ScalarType dtype_of<bool> = kBool;
template <>
inline constexpr ScalarType dtype_of<BFloat16> = kBFloat16;

namespace detail {

template <class T>
struct Type {
  using type = T;
};

// Calls f(Type<T>{}) with the C++ type of `dtype`:
//   visit(dtype, "roll", [&]<class T>(Type<T>) { ... });
template <class F>
decltype(auto) visit(ScalarType dtype, const char* op, F&& f) {
  switch (dtype) {
    case kByte:
      return f(Type<uint8_t>{});
    case kChar:
      return f(Type<int8_t>{});
    case kShort:
      return f(Type<int16_t>{});
    case kInt:
      return f(Type<int32_t>{});
    case kLong:
      return f(Type<int64_t>{});
    case kHalf:
      return f(Type<Half>{});
    case kFloat:
      return f(Type<float>{});
    case kDouble:
      return f(Type<double>{});
    case kBool:
      return f(Type<bool>{});
    case kBFloat16:
      return f(Type<BFloat16>{});
    default:
      fail(op, ": not implemented for dtype ", to_string(dtype));
  }
}

// float and double only: what contractions and normalisations compute in.
template <class F>
decltype(auto) visit_float(ScalarType dtype, const char* op, F&& f) {
  switch (dtype) {
    case kFloat:
      return f(Type<float>{});
    case kDouble:
      return f(Type<double>{});
    default:
      fail(op, ": not implemented for dtype ", to_string(dtype));
  }
}

// By width alone, for kernels that only move elements.
template <class F>
decltype(auto) visit_bytes(ScalarType dtype, F&& f) {
  switch (element_size(dtype)) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    default:
      return f(Type<uint64_t>{});
  }
}

}  // namespace detail

}  // namespace tarn::inline v1
