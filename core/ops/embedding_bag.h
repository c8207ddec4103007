// embedding_bag; embedding itself is in indexing.h.
#pragma once

#include <optional>
#include <tuple>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// Rows of `weight` (V, D) at `indices` (N), reduced over bags: bag b is indices[offsets[b]] up to, not with,
// indices[offsets[b + 1]]; the last one ends with the indices or, with include_last_offset, where the last
// offset says. mode 0 sums (each row times its per_sample_weight, if given), 1 averages, 2 takes the maximum;
// an empty bag gives zeros. Rows of padding_idx do not count. Returns the result (B, D), each index's bag
// (-1: none), the bags' sizes, and of max the rows that were taken, else the sizes again. On the CPU only;
// scale_grad_by_freq and sparse must be false.
TARN_API std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq = false,
    int64_t mode = 0, bool sparse = false, const std::optional<Tensor>& per_sample_weights = {},
    bool include_last_offset = false, std::optional<int64_t> padding_idx = {});

}  // namespace tarn::inline v1
