// Which elements of a storage do tensors share? In-place ops must know before they write.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// Whether some element of `a` lies where one of `b` does; they must be of one storage and dtype. Exact for
// any strides, but for contrived ones, where it may say yes for no.
bool share_elements(const Tensor& a, const Tensor& b);

}  // namespace tarn::inline v1::detail
