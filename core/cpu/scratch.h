// Scratch<T>: uninitialised memory of the allocator for the length of a scope.
#pragma once

#include <type_traits>

#include <tarn/core/allocator.h>

namespace tarn::inline v1::detail {

template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Scratch(int64_t count)
      : bytes_(size_t(count) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace tarn::inline v1::detail
