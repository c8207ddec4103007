// TensorAccessor: a[i][j] without bounds checks or dispatch, for loops of the user's own.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

template <class T, int N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  IntArrayRef sizes() const { return {sizes_, size_t(N)}; }
  IntArrayRef strides() const { return {strides_, size_t(N)}; }
  int64_t size(int d) const { return sizes_[d]; }
  int64_t stride(int d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

// The tensor must outlive the accessor.
template <class T, int N>
TensorAccessor<T, N> Tensor::accessor() const {
  static_assert(N > 0, "accessor: a 0-dim tensor has no elements to index; use item()");
  check(dim() == N, "accessor: the tensor has ", dim(), " dims, sizes ", sizes(), "; asked for ", N);
  return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
}

}  // namespace tarn::inline v1
