// Tensors from and to Eigen's matrices and arrays. Not part of tarn.h, and it includes nothing of Eigen: the
// functions take what has Eigen's members.
#pragma once

#include <type_traits>
#include <utility>

#include <tarn/core/ops/from.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::eigen {

// A copy of a matrix or an expression as (rows, columns), of a vector as (size).
template <class Expression>
Tensor from(const Expression& expression) {
  using T = std::decay_t<decltype(expression.coeff(0, 0))>;
  static_assert(dtype_of<T> != ScalarType::Undefined, "eigen::from: there is no dtype for these elements");
  int64_t rows = expression.rows(), columns = expression.cols();
  Tensor out = Expression::IsVectorAtCompileTime ? detail::make_tensor({rows * columns}, dtype_of<T>)
                                                 : detail::make_tensor({rows, columns}, dtype_of<T>);
  T* to = out.data_ptr<T>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = expression.coeff(i, j);
  return out;
}

// The matrix's own memory as a tensor of the same form; it must outlive every alias and keep its size.
template <class Matrix>
Tensor over(Matrix& matrix) {
  using T = typename Matrix::Scalar;
  static_assert(dtype_of<T> != ScalarType::Undefined, "eigen::over: there is no dtype for these elements");
  int64_t rows = matrix.rows(), columns = matrix.cols();
  if (Matrix::IsVectorAtCompileTime)
    return from_blob(matrix.data(), {rows * columns}, {matrix.innerStride()}, dtype_of<T>);
  return from_blob(matrix.data(), {rows, columns}, {matrix.rowStride(), matrix.colStride()}, dtype_of<T>);
}

// A copy of a tensor of 1 or 2 dims as a matrix; (size) becomes a column unless the type is a row. The dtype
// must be the matrix's, and its fixed sizes the tensor's.
template <class Matrix>
Matrix to(const Tensor& x) {
  using T = typename Matrix::Scalar;
  check(x.dim() == 1 || x.dim() == 2, "eigen::to: the tensor must have 1 or 2 dims, got sizes ", x.sizes());
  check(x.dtype() == dtype_of<T>, "eigen::to: the tensor must be ", dtype_of<T>, ", got ", x.dtype());
  bool row = x.dim() == 1 && Matrix::RowsAtCompileTime == 1;
  int64_t rows = row ? 1 : x.size(0), columns = row ? x.size(0) : x.dim() == 2 ? x.size(1) : 1;
  check((Matrix::RowsAtCompileTime < 0 || Matrix::RowsAtCompileTime == rows) &&
            (Matrix::ColsAtCompileTime < 0 || Matrix::ColsAtCompileTime == columns),
        "eigen::to: a tensor of sizes ", x.sizes(), " does not fit in ", int64_t(Matrix::RowsAtCompileTime),
        " rows and ", int64_t(Matrix::ColsAtCompileTime), " columns");
  Matrix out;
  out.resize(rows, columns);
  Tensor dense = x.cpu().contiguous();
  const T* values = dense.data_ptr<T>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out.coeffRef(i, j) = values[i * columns + j];
  return out;
}

}  // namespace tarn::inline v1::eigen
