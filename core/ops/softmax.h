// softmax and log_softmax along one dim.
#pragma once

#include <optional>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// exp(x) / sum(exp(x)), safe for large values. Needs a floating tensor or dtype; with a dtype, x is converted
// first.
TARN_API Tensor softmax(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype = {});
// log(softmax(x)), without the loss of digits that taking the log would bring.
TARN_API Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype = {});

}  // namespace tarn::inline v1
