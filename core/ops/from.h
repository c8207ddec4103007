// Tensors from C++ values and from memory of the caller.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <vector>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

namespace detail {

// The dtype of a C++ literal; integers that are no dtype of their own (size_t) are int64.
template <class T>
constexpr ScalarType literal_dtype = dtype_of<T> != ScalarType::Undefined ? dtype_of<T> : kLong;

// A nested braced list of numbers: {1, 2, 3}, {{1.5, 2}, {3, 4}}. The rows of a list must be alike.
class TARN_API NestedList {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T value) : dtype_(literal_dtype<T>), values_{Scalar(value)} {}
  NestedList(std::initializer_list<NestedList> rows);

 private:
  friend Tensor tensor_from_list(const NestedList& list, const TensorOptions& options);
  ScalarType dtype_;
  Dims sizes_;
  std::vector<Scalar> values_;
};

TARN_API Tensor tensor_from_list(const NestedList& list, const TensorOptions& options);
// A copy of n elements as a tensor of one dim.
TARN_API Tensor tensor_from_array(const void* data, int64_t n, ScalarType dtype,
                                  const TensorOptions& options);
TARN_API Tensor tensor_over(void* data, IntArrayRef sizes, const IntArrayRef* strides, StorageDeleter deleter,
                            void* context, const TensorOptions& options);

// Applies options.requires_grad().
TARN_API Tensor with_grad_option(Tensor x, const TensorOptions& options);

}  // namespace detail

// A tensor of the values: tensor(3.5), tensor({1, 2}), tensor({{1, 2}, {3, 4}}, kFloat), tensor(vector). As
// in Python, integers give int64, floating numbers the default dtype and bools bool, unless options say
// otherwise.
inline Tensor tensor(const detail::NestedList& list, const TensorOptions& options = {}) {
  return detail::tensor_from_list(list, options);
}
template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(T value, const TensorOptions& options = {}) {
  return detail::tensor_from_list(detail::NestedList(value), options);
}
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  static_assert(dtype_of<T> != ScalarType::Undefined, "tensor: there is no dtype for this element type");
  return detail::tensor_from_array(values.data(), int64_t(values.size()), dtype_of<T>, options);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  if constexpr (std::is_same_v<T, bool>) {
    std::unique_ptr<bool[]> bools(new bool[values.size() + 1]);
    for (size_t i = 0; i < values.size(); ++i) bools[i] = values[i];
    return detail::tensor_from_array(bools.get(), int64_t(values.size()), kBool, options);
  } else {
    return tensor(ArrayRef<T>(values), options);
  }
}

// A tensor over memory of the caller, of options' dtype (default: get_default_dtype()). Nothing is copied:
// the memory must outlive every alias, unless a deleter is given, which is then called as deleter(data) when
// the last alias dies. Without strides the elements lie row by row.
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return detail::with_grad_option(detail::tensor_over(data, sizes, nullptr, nullptr, nullptr, options),
                                  options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                        const TensorOptions& options = {}) {
  return detail::with_grad_option(detail::tensor_over(data, sizes, &strides, nullptr, nullptr, options),
                                  options);
}
template <std::invocable<void*> Deleter>
Tensor from_blob(void* data, IntArrayRef sizes, Deleter deleter, const TensorOptions& options = {}) {
  auto call = [](void* memory, size_t, void* context) {
    std::unique_ptr<Deleter> own(static_cast<Deleter*>(context));
    (*own)(memory);
  };
  auto own = std::make_unique<Deleter>(std::move(deleter));
  Tensor out = detail::tensor_over(data, sizes, nullptr, call, own.get(), options);
  own.release();  // the tensor's now
  return detail::with_grad_option(out, options);
}
template <std::invocable<void*> Deleter>
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, Deleter deleter,
                 const TensorOptions& options = {}) {
  auto call = [](void* memory, size_t, void* context) {
    std::unique_ptr<Deleter> own(static_cast<Deleter*>(context));
    (*own)(memory);
  };
  auto own = std::make_unique<Deleter>(std::move(deleter));
  Tensor out = detail::tensor_over(data, sizes, &strides, call, own.get(), options);
  own.release();  // the tensor's now
  return detail::with_grad_option(out, options);
}

}  // namespace tarn::inline v1
