// Tensors of one shape put together along a new first dim. Private.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1::data::detail {

// Unlike stack() no gradient flows through: examples are data. Error names the row whose shape or dtype
// differs.
Tensor stack_rows(TensorList rows);

}  // namespace tarn::inline v1::data::detail
