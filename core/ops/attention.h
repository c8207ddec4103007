// Attention.
#pragma once

#include <optional>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// softmax(query x key^T * scale + mask) x value, for query (..., L, E), key (..., S, E) and value (..., S,
// D) -> (..., L, D); leading dims broadcast. A Bool mask (broadcast to (..., L, S)) says what may be looked
// at, a floating one is added. is_causal lets row i see keys 0 to i and excludes a mask. scale defaults to 1
// / sqrt(E). dropout_p drops attention weights. enable_gqa: query has a multiple of the heads (dim -3) of key
// and value. A row that may look at nothing gives zeros. 16-bit floats are computed in float.
// Source: Vaswani et al., arXiv:1706.03762; grouped queries: arXiv:2305.13245.
TARN_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const std::optional<Tensor>& attn_mask = {},
                                             double dropout_p = 0, bool is_causal = false,
                                             std::optional<double> scale = {}, bool enable_gqa = false);

}  // namespace tarn::inline v1
