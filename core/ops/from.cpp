#include <tarn/core/ops/from.h>

#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/ops/make.h>

namespace tarn::inline v1::detail {

namespace {

// As Python's torch.tensor has it.
ScalarType dtype_for(ScalarType literal, const TensorOptions& options) {
  if (options.has_dtype()) return options.dtype();
  if (literal == kInt || literal == kLong) return kLong;
  if (literal == kFloat || literal == kDouble) return get_default_dtype();
  return literal;
}

ScalarType common(ScalarType a, ScalarType b) { return a == b ? a : promote_types(a, b); }

}  // namespace

NestedList::NestedList(std::initializer_list<NestedList> rows)
    : dtype_(rows.size() ? rows.begin()->dtype_ : kFloat), sizes_{int64_t(rows.size())} {
  if (rows.size() == 0) return;
  const Dims& first = rows.begin()->sizes_;
  for (int64_t size : first) sizes_.push_back(size);
  for (const NestedList& row : rows) {
    check(row.sizes_ == first, "tensor: the rows of a nested list differ: sizes ", first, " and ",
          row.sizes_);
    dtype_ = common(dtype_, row.dtype_);
    values_.insert(values_.end(), row.values_.begin(), row.values_.end());
  }
}

Tensor tensor_from_list(const NestedList& list, const TensorOptions& options) {
  Tensor out = make_tensor(list.sizes_, dtype_for(list.dtype_, options));
  visit(out.dtype(), "tensor", [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out.data_ptr());
    for (const Scalar& value : list.values_) *to++ = value.to<T>();
  });
  return with_grad_option(out.to(options.device()), options);
}

Tensor tensor_from_array(const void* data, int64_t n, ScalarType dtype, const TensorOptions& options) {
  Tensor out = make_tensor({n}, dtype_for(dtype, options));
  if (n > 0)
    copy_elements(out, make_foreign(const_cast<void*>(data), {n}, {}, dtype, Device(), nullptr, nullptr));
  return with_grad_option(out.to(options.device()), options);
}

Tensor tensor_over(void* data, IntArrayRef sizes, const IntArrayRef* strides, StorageDeleter deleter,
                   void* context, const TensorOptions& options) {
  int64_t elements = numel_of(sizes, "from_blob");
  Device device = resolve_device("from_blob", options.device());
  check(data != nullptr || elements == 0, "from_blob: the data is null, but sizes ", sizes, " have elements");
  if (strides) {
    check(strides->size() == sizes.size(), "from_blob: sizes ", sizes, " and strides ", *strides,
          " differ in number");
    for (int64_t stride : *strides)
      check(stride >= 0, "from_blob: strides must be 0 or more, got ", *strides);
  }
  return make_foreign(data, sizes, strides ? *strides : IntArrayRef(), options.dtype(), device, deleter,
                      context);
}

}  // namespace tarn::inline v1::detail
