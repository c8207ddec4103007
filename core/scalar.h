// Scalar: one number of any dtype, as passed to ops (`x + 2`, `full({3}, 1.5)`).
#pragma once

#include <type_traits>

#include <tarn/core/dtype.h>

namespace tarn::inline v1 {

class Scalar {
 public:
  constexpr Scalar() : Scalar(int64_t(0)) {}
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      i_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::Integer;
      i_ = int64_t(value);
    } else {
      kind_ = Kind::Floating;
      d_ = double(value);
    }
  }
  Scalar(Half value) : Scalar(float(value)) {}
  Scalar(BFloat16 value) : Scalar(float(value)) {}

  constexpr bool is_floating() const { return kind_ == Kind::Floating; }
  constexpr bool is_integral() const { return kind_ == Kind::Integer; }
  constexpr bool is_bool() const { return kind_ == Kind::Bool; }
  // Double, Long or Bool: the category that takes part in type promotion.
  constexpr ScalarType type() const { return is_floating() ? kDouble : is_bool() ? kBool : kLong; }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return T(float(is_floating() ? d_ : i_));
    else if constexpr (std::is_same_v<T, bool>)
      return is_floating() ? d_ != 0 : i_ != 0;
    else if constexpr (std::is_integral_v<T>)
      return is_floating() ? T(int64_t(d_)) : T(i_);
    else
      return is_floating() ? T(d_) : T(i_);
  }
  double to_double() const { return to<double>(); }
  int64_t to_int64() const { return to<int64_t>(); }
  double toDouble() const { return to<double>(); }
  int64_t toLong() const { return to<int64_t>(); }
  Scalar operator-() const { return is_floating() ? Scalar(-d_) : Scalar(int64_t(0 - uint64_t(i_))); }
  friend void append(std::string& out, const Scalar& s) {
    if (s.is_floating())
      detail::append(out, s.to_double());
    else
      detail::append(out, static_cast<long long>(s.to_int64()));
  }

 private:
  enum class Kind : int64_t { Bool, Integer, Floating };
  Kind kind_ = Kind::Integer;
  union {
    double d_;
    int64_t i_;
  };
};

}  // namespace tarn::inline v1
