// nn::utils: gradient clipping, and parameters as one vector.
#pragma once

#include <vector>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::nn::utils {

// Scales all gradients by one factor so that their joint norm_type-norm is at most max_norm; returns the norm
// before. Infinity is a norm_type. A norm that is not finite is an Error if error_if_nonfinite, else all
// gradients become NaN or 0, as in PyTorch.
TARN_API double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                                bool error_if_nonfinite = false);
TARN_API double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2,
                                bool error_if_nonfinite = false);
// Cuts every gradient to [-clip_value, clip_value].
TARN_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
TARN_API void clip_grad_value_(const Tensor& parameter, double clip_value);

// All parameters, flat, one after the other.
TARN_API Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
// Writes such a vector back.
TARN_API void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace tarn::inline v1::nn::utils
