// SmallArray<T, N>: `size` value-initialised elements, on the stack up to N. For scratch memory of one call.
#pragma once

#include <cstddef>
#include <memory>

namespace tarn::inline v1::detail {

template <class T, size_t N>
class SmallArray {
 public:
  explicit SmallArray(size_t size) : size_(size) {
    if (size > N) heap_ = std::make_unique<T[]>(size);
  }
  T* data() { return heap_ ? heap_.get() : inline_; }
  T& operator[](size_t i) { return data()[i]; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  T inline_[N] = {};
  std::unique_ptr<T[]> heap_;
};

}  // namespace tarn::inline v1::detail
