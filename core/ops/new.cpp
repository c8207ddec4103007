// Makers of small things: tensors like another one, places of triangles, Vandermonde's matrix.
#include <algorithm>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/from.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// The options with the tensor's dtype and device where they do not say.
TensorOptions filled_options(const Tensor& x, const TensorOptions& options) {
  TensorOptions out = options;
  return out.dtype(options.dtype_opt().value_or(x.dtype())).device(options.device_opt().value_or(x.device()));
}

// Columns [begin, end) of row i that a triangle keeps.
struct Columns {
  int64_t begin, end;
};

Columns kept(bool upper, int64_t row, int64_t columns, int64_t offset) {
  int64_t edge = std::clamp<int64_t>(row + offset + !upper, 0, columns);
  return upper ? Columns{edge, columns} : Columns{0, edge};
}

// The number of elements on and below a diagonal: rows that grow, then whole ones.
int64_t count_below(int64_t rows, int64_t columns, int64_t offset) {
  int64_t first = std::clamp<int64_t>(-offset, 0, rows),
          whole = std::clamp(columns - offset - 1, first, rows);
  int64_t growing = whole - first, shortest = first + offset + 1;
  return growing * shortest + growing * (growing - 1) / 2 + (rows - whole) * columns;
}

Tensor triangle_indices(const char* op, bool upper, int64_t rows, int64_t columns, int64_t offset,
                        const TensorOptions& options) {
  check(rows >= 0 && columns >= 0, op, ": sizes must be 0 or more, got ", rows, " and ", columns);
  check(options.dtype() == kLong || options.dtype() == kInt, op, ": the dtype must be Int or Long, got ",
        options.dtype());
  numel_of({rows, columns, 2}, op);
  offset = std::clamp(offset, -rows - 1, columns + 1);
  int64_t lower = count_below(rows, columns, upper ? offset - 1 : offset);
  int64_t count = upper ? rows * columns - lower : lower;
  Tensor out = make_tensor({2, count}, kLong);
  int64_t* to = static_cast<int64_t*>(out.data_ptr());
  for (int64_t i = 0; i < rows; ++i) {
    auto [begin, end] = kept(upper, i, columns, offset);
    for (int64_t j = begin; j < end; ++j, ++to) {
      to[0] = i;
      to[count] = j;
    }
  }
  return with_grad_option(out.to(options.device(), options.dtype()), options);
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, const TensorOptions& options) {
  return triangle_indices("tril_indices", false, rows, columns, offset, options);
}

Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, const TensorOptions& options) {
  return triangle_indices("triu_indices", true, rows, columns, offset, options);
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  check(x.dim() == 1, "vander: the tensor must have 1 dim, got sizes ", x.sizes());
  int64_t count = n.value_or(x.numel());
  check(count >= 0, "vander: n must be 0 or more, got ", count);
  numel_of({x.numel(), count}, "vander");
  Tensor in = unsqueeze(is_floating(x.dtype()) ? x : cast(x, kLong), 1);
  ScalarType dtype = !is_floating(x.dtype()) ? kLong : x.dtype() == kDouble ? kDouble : kFloat;
  Tensor exponents = arange(count, TensorOptions(dtype).device(x.device()));
  return cast(pow(in, increasing ? exponents : flip(exponents, {0})), in.dtype());
}

Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& options) const {
  return empty(sizes, filled_options(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& options) const {
  return zeros(sizes, filled_options(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef sizes, const TensorOptions& options) const {
  return ones(sizes, filled_options(*this, options));
}
Tensor Tensor::new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) const {
  return full(sizes, value, filled_options(*this, options));
}

}  // namespace tarn::inline v1
