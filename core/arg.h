// TARN_ARG(type, name) = default; declares one option of an options struct, with libtorch's chained setter
// and getters:
//   struct LinearOptions { TARN_ARG(int64_t, in_features); TARN_ARG(bool, bias) = true; };
//   LinearOptions().in_features(3).bias(false)
#pragma once

#include <utility>

#define TARN_ARG(T, name)                   \
 public:                                    \
  auto name(T value)->decltype(*this) {     \
    this->name##_ = std::move(value);       \
    return *this;                           \
  }                                         \
  const T& name() const { return name##_; } \
  T& name() { return name##_; }             \
                                            \
 private:                                   \
  T name##_
