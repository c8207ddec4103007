// ExpandingArray<D>: D numbers, given as D numbers or as one for all: kernel_size(3), stride({2, 1}).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include <tarn/core/array_ref.h>

namespace tarn::inline v1 {

template <size_t D, class T = int64_t>
class ExpandingArray {
 public:
  template <class N>
  requires std::is_integral_v<N> ExpandingArray(N value) { values_.fill(T(value)); }
  ExpandingArray(T value) requires(!std::is_integral_v<T>) { values_.fill(value); }
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(list.begin(), list.size()) {}
  ExpandingArray(const std::vector<T>& list) : ExpandingArray(list.data(), list.size()) {}
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}
  ExpandingArray(ArrayRef<T> list) : ExpandingArray(list.data(), list.size()) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  static constexpr size_t size() { return D; }
  operator ArrayRef<T>() const { return ArrayRef<T>(values_.data(), D); }
  friend bool operator==(const ExpandingArray&, const ExpandingArray&) = default;

 private:
  ExpandingArray(const T* list, size_t count) {
    check(count == D, "ExpandingArray: expected ", D, " numbers, or one for all, got ", count);
    for (size_t i = 0; i < D; ++i) values_[i] = list[i];
  }
  std::array<T, D> values_;
};

// Where a number may be left out: AdaptiveAvgPool2dOptions({std::nullopt, 5}) keeps the height.
template <size_t D>
using ExpandingArrayWithOptionalElem = ExpandingArray<D, std::optional<int64_t>>;

}  // namespace tarn::inline v1
