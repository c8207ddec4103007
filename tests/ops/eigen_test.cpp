// Eigen's matrices and tensors, each as the other.
#include <eigen3/Eigen/Core>

#include <tarn/core/eigen.h>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

namespace tarn::testing {

TEST_CASE("a matrix becomes a tensor by rows, whatever its own order") {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  CHECK_SAME(eigen::from(m), tensor_of({1, 2, 3, 4, 5, 6}, kFloat, {2, 3}));
  CHECK_SAME(eigen::from(m.transpose() * 2), tensor_of({2, 8, 4, 10, 6, 12}, kFloat, {3, 2}));
  CHECK_SAME(eigen::from(Eigen::VectorXd::Constant(3, 1.5)), tensor_of({1.5, 1.5, 1.5}, kDouble));
  CHECK(eigen::from(Eigen::MatrixXi(0, 4)).sizes() == IntArrayRef{0, 4});
}

TEST_CASE("a tensor over a matrix writes into it") {
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(2, 3);
  Eigen::Matrix<int, 2, 2, Eigen::RowMajor> rows;
  rows << 1, 2, 3, 4;
  Tensor t = eigen::over(m);
  t.select(0, 1).fill_(7);
  CHECK((m(1, 0) == 7 && m(1, 2) == 7 && m(0, 2) == 0));
  CHECK_SAME(eigen::over(rows).clone(), tensor_of({1, 2, 3, 4}, kInt, {2, 2}));
  Eigen::VectorXf v = Eigen::VectorXf::Zero(4);
  eigen::over(v).fill_(2);
  CHECK(v.sum() == 8);
}

TEST_CASE("a tensor becomes a matrix, a vector, a row") {
  Tensor t = tensor_of({1, 2, 3, 4, 5, 6}, kFloat, {2, 3});
  Eigen::MatrixXf m = eigen::to<Eigen::MatrixXf>(t);
  CHECK((m.rows() == 2 && m.cols() == 3 && m(0, 2) == 3 && m(1, 0) == 4));
  CHECK(eigen::to<Eigen::Matrix2f>(t.narrow(1, 1, 2))(1, 1) == 6);
  CHECK(eigen::to<Eigen::VectorXf>(t.select(0, 1))(2) == 6);
  CHECK(eigen::to<Eigen::RowVectorXf>(t.select(0, 1)).cols() == 3);
}

TEST_CASE("a tensor that a matrix cannot hold is refused") {
  CHECK_ERROR(eigen::to<Eigen::MatrixXf>(tensor_of({1}, kFloat, {})),
              "eigen::to: the tensor must have 1 or 2 dims, got sizes []");
  CHECK_ERROR(eigen::to<Eigen::MatrixXd>(tensor_of({1, 2}, kFloat)),
              "eigen::to: the tensor must be Double, got Float");
  CHECK_ERROR(eigen::to<Eigen::Matrix3f>(tensor_of({1, 2}, kFloat, {1, 2})),
              "eigen::to: a tensor of sizes [1, 2] does not fit in 3 rows and 3 columns");
}

}  // namespace tarn::testing
