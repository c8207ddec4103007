// Rearranging: ops that put the elements of their inputs into another order or shape. All but the in-place
// ones return new memory, or the tensor itself where there is nothing to do; every dtype will do.
#pragma once

#include <optional>
#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// The part of each matrix (..., N, M) on and below (tril) or above (triu) diagonal `diagonal`, zeros
// elsewhere. Positive diagonals lie above the main one.
TARN_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
TARN_API Tensor triu(const Tensor& x, int64_t diagonal = 0);
// (N) -> a matrix with these values on a diagonal; (N, M) -> a copy of that diagonal.
TARN_API Tensor diag(const Tensor& x, int64_t diagonal = 0);
// (..., N) -> square matrices with the values on diagonal `offset`, whose dims come to places dim1 and dim2.
TARN_API Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);

// (count) copies of each element along dim, of the flattened tensor without dim. `repeats` (1) or (size of
// dim), Int or Long, gives one count for each element.
TARN_API Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {});
TARN_API Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {});
// The numbers 0 .. N-1, number i repeats[i] times, in the dtype of `repeats`.
TARN_API Tensor repeat_interleave(const Tensor& repeats);
// repeat() where missing repeats are 1.
TARN_API Tensor tile(const Tensor& x, IntArrayRef repeats);
// Turned by k quarters from dims[0] towards dims[1].
TARN_API Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1});
// Reversed along dim 1, dim 0.
TARN_API Tensor fliplr(const Tensor& x);
TARN_API Tensor flipud(const Tensor& x);

// Joined along the columns (dim 1; dim 0 of 1-dim tensors), the rows (dim 0), dim 2; of tensors with at least
// 1, 2, 3 dims. column_stack joins columns, 1-dim tensors are columns.
TARN_API Tensor hstack(TensorList tensors);
TARN_API Tensor vstack(TensorList tensors);
TARN_API Tensor row_stack(TensorList tensors);
TARN_API Tensor dstack(TensorList tensors);
TARN_API Tensor column_stack(TensorList tensors);
// Coordinates of a grid from those along each axis, 1-dim tensors of N0, N1, ... elements: views of sizes
// (N0, N1, ...), or (N1, N0, ...) with indexing "xy".
TARN_API std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij");
// All choices of one element of each 1-dim tensor, (count, number of tensors); of one tensor: itself.
TARN_API Tensor cartesian_prod(TensorList tensors);
// All choices of r elements of a 1-dim tensor in order, (count, r).
TARN_API Tensor combinations(const Tensor& x, int64_t r = 2, bool with_replacement = false);
// A matrix with the given matrices along its diagonal; tensors of fewer dims are one row. dtypes are
// promoted.
TARN_API Tensor block_diag(TensorList tensors);

// Pads the last dims, from the last one on: pad = {left, right, top, bottom, ...}; negative numbers cut.
// Modes constant (of any dims), reflect (without the edge; pads smaller than the size), replicate and
// circular (pads at most the size), which pad the last 1, 2 or 3 dims of (C, ...) or (N, C, ...) tensors.
TARN_API Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode = "constant",
                    std::optional<double> value = {});
TARN_API Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value = 0);

// (..., C r^2, H, W) -> (..., C, H r, W r), and back. Shi et al., "Real-time single image and video
// super-resolution using an efficient sub-pixel convolutional neural network", CVPR 2016.
TARN_API Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
TARN_API Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
// (N, C, ...): channels g C/groups + c -> c groups + g. Zhang et al., "ShuffleNet", CVPR 2018.
TARN_API Tensor channel_shuffle(const Tensor& x, int64_t groups);

}  // namespace tarn::inline v1
