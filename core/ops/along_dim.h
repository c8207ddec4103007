// One index per element, along one dim: what gather, scatter and scatter_reduce share. Private to core/ops.
#pragma once

#include <tarn/core/cpu/strided.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1::detail {

struct DimAttrs {
  int64_t dim;
};

inline Dims without_dim(IntArrayRef strides, int64_t dim) {
  Dims out(strides);
  if (!out.empty()) out[int(dim)] = 0;
  return out;
}

inline int64_t size_at(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.sizes()[dim]; }
inline int64_t stride_at(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 0 : x.strides()[dim]; }

// Walks index's elements: f(element of `other`, offset of the indexed element of x).
template <class F>
void for_indexed(const char* op, const Tensor& index, const Tensor& other, const Tensor& x, int64_t dim,
                 F&& f) {
  Dims x_strides = without_dim(x.strides(), dim);
  StridedLoop<3> loop(index.sizes(), {index.strides(), other.strides(), IntArrayRef(x_strides)});
  const int64_t* indices = static_cast<const int64_t*>(index.data_ptr());
  const int64_t size = size_at(x, dim), stride = stride_at(x, dim);
  loop.for_rows(0, loop.rows(), [&](const auto& at) {
    for (int64_t i = 0; i < loop.row_length(); ++i) {
      int64_t k = indices[at[0] + i * loop.stride(0, 0)];
      check(k >= 0 && k < size, op, ": index ", k, " is outside of dim ", dim, " of a tensor of sizes ",
            x.sizes());
      f(at[1] + i * loop.stride(1, 0), at[2] + i * loop.stride(2, 0) + k * stride);
    }
  });
}

// The index as Long; it must have x's rank and fit inside x but for `dim`.
inline Tensor checked_index(const char* op, const Tensor& x, int dim, const Tensor& index) {
  check(index.dtype() == kLong || index.dtype() == kInt, op, ": index must be Int or Long, got ",
        index.dtype());
  check(index.dim() == x.dim() || index.numel() == 0, op, ": index of sizes ", index.sizes(),
        " must have the rank of a tensor of sizes ", x.sizes());
  for (int d = 0; d < index.dim() && index.numel() > 0; ++d)
    check(d == dim || index.sizes()[d] <= x.sizes()[d], op, ": index of sizes ", index.sizes(),
          " is larger than a tensor of sizes ", x.sizes(), " at dim ", d);
  return cast(index, kLong);
}

// The part of src that index speaks about.
inline Tensor fitted_source(const char* op, const Tensor& x, const Tensor& index, const Tensor& src) {
  check(src.dtype() == x.dtype(), op, ": src must have the dtype of the tensor, ", x.dtype(), ", got ",
        src.dtype());
  check(src.dim() == index.dim(), op, ": src of sizes ", src.sizes(), " must have the rank of index ",
        index.sizes());
  Tensor part = src;
  for (int d = 0; d < index.dim(); ++d) {
    check(index.sizes()[d] <= src.sizes()[d], op, ": index of sizes ", index.sizes(),
          " is larger than src of sizes ", src.sizes());
    if (index.sizes()[d] < src.sizes()[d]) part = narrow(part, d, 0, index.sizes()[d]);
  }
  return part;
}

// What scatter and its like were given, checked.
struct Scatter {
  int dim;
  Tensor index, src;
};

inline Scatter prepare(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  int d = wrap_dim(dim, x.dim(), op);
  Tensor checked = checked_index(op, x, d, index);
  return {d, checked, fitted_source(op, x, checked, src)};
}

}  // namespace tarn::inline v1::detail
