// Views: other sizes and strides on the same memory. Nothing is copied; writes go both ways.
#pragma once

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// The same elements in row-major order under other sizes; one size may be -1. An Error if strides do not
// allow it: use reshape(), which copies where it must.
TARN_API Tensor view(const Tensor& x, IntArrayRef sizes);
TARN_API Tensor reshape(const Tensor& x, IntArrayRef sizes);
TARN_API Tensor permute(const Tensor& x, IntArrayRef dims);
TARN_API Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
TARN_API Tensor swapaxes(const Tensor& x, int64_t dim0, int64_t dim1);
// Swaps the dims of a matrix; tensors of rank 0 and 1 are returned as they are.
TARN_API Tensor t(const Tensor& x);
TARN_API Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1);
// The last two dims swapped; 0-dim tensors are returned as they are.
TARN_API Tensor adjoint(const Tensor& x);
// Dim from[i] comes to place to[i], the others keep their order.
TARN_API Tensor movedim(const Tensor& x, int64_t from, int64_t to);
TARN_API Tensor movedim(const Tensor& x, IntArrayRef from, IntArrayRef to);
TARN_API Tensor moveaxis(const Tensor& x, int64_t from, int64_t to);
TARN_API Tensor moveaxis(const Tensor& x, IntArrayRef from, IntArrayRef to);
// Drops all dims of size 1, or those of `dim`, `dims` whose size is 1.
TARN_API Tensor squeeze(const Tensor& x);
TARN_API Tensor squeeze(const Tensor& x, int64_t dim);
TARN_API Tensor squeeze(const Tensor& x, IntArrayRef dims);
TARN_API Tensor unsqueeze(const Tensor& x, int64_t dim);
// Joins dims start..end into one; copies where strides do not allow a view.
TARN_API Tensor flatten(const Tensor& x, int64_t start = 0, int64_t end = -1);
TARN_API Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes);
TARN_API Tensor ravel(const Tensor& x);
// Repeats dims of size 1 without memory; -1 keeps a size.
TARN_API Tensor expand(const Tensor& x, IntArrayRef sizes);
TARN_API Tensor broadcast_to(const Tensor& x, IntArrayRef sizes);
// Any geometry inside the storage; `offset` counts elements from the storage's start.
TARN_API Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                           std::optional<int64_t> offset = {});
TARN_API Tensor select(const Tensor& x, int64_t dim, int64_t index);
TARN_API Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
// x[start:end:step] along dim, with Python's clamping.
TARN_API Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = {},
                      std::optional<int64_t> end = {}, int64_t step = 1);
TARN_API Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
// Windows of `size` every `step` along dim, as a new last dim.
TARN_API Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);
// Pieces of `size` (the last may be smaller), or of the given sizes. In-place writes to them under grad are
// refused.
TARN_API std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
TARN_API std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim = 0);
TARN_API std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0);
// `sections` pieces, the first size % sections of them longer by one; or the pieces between `indices`, which
// are clamped as slice() does. hsplit cuts columns (dim 1; dim 0 of a 1-dim tensor), vsplit dim 0, dsplit
// dim 2; their sections must divide the size.
TARN_API std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
TARN_API std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0);
TARN_API std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
TARN_API std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices);
TARN_API std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
TARN_API std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices);
TARN_API std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
TARN_API std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices);
// With at least that many dims: (n) becomes (1, n) and (1, n, 1), (n, m) becomes (n, m, 1).
TARN_API Tensor atleast_1d(const Tensor& x);
TARN_API Tensor atleast_2d(const Tensor& x);
TARN_API Tensor atleast_3d(const Tensor& x);
TARN_API std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
TARN_API std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
TARN_API Tensor alias(const Tensor& x);
// The same memory without history.
TARN_API Tensor detach(const Tensor& x);

}  // namespace tarn::inline v1
