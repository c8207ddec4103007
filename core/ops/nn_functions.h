// Functions of neural networks that have no file of their own: dropouts, bilinear, softmin, gumbel_softmax.
#pragma once

#include <optional>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// As dropout, but x (N, C, ...) loses whole channels.
TARN_API Tensor feature_dropout(const Tensor& x, double p, bool train);
TARN_API Tensor& feature_dropout_(const Tensor& x, double p, bool train);
// What is dropped takes selu's lowest value, and an affine map keeps mean 0 and variance 1. Source: Klambauer
// et al., arXiv:1706.02515.
TARN_API Tensor alpha_dropout(const Tensor& x, double p, bool train);
TARN_API Tensor& alpha_dropout_(const Tensor& x, double p, bool train);
TARN_API Tensor feature_alpha_dropout(const Tensor& x, double p, bool train);
TARN_API Tensor& feature_alpha_dropout_(const Tensor& x, double p, bool train);

// y[..., o] = sum over i, j of x1[..., i] * weight[o, i, j] * x2[..., j] + bias[o].
TARN_API Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias = {});

// What libtorch has in nn::functional alone.
namespace detail {
// softmax(-x).
TARN_API Tensor softmin(const Tensor& x, int64_t dim, std::optional<ScalarType> dtype = {});
// softmax((logits + Gumbel noise) / tau): samples of the categories. With `hard`, one-hot ones whose gradient
// is that of the soft ones. Source: Jang, Gu and Poole, arXiv:1611.01144.
TARN_API Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1);
}  // namespace detail

}  // namespace tarn::inline v1
