// Eigen's GEMM, built once per instruction set.
#include <tarn/core/cpu/eigen.h>
#include <tarn/core/cpu/gemm_types.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::GemmProvider gemm_eigen_kernels;

namespace {

// A matrix stored row-major is its transpose stored column-major, so both kinds are maps over the same
// memory.
template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ColMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class M>
using View = Eigen::Map<const M, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T, class A, class B>
void multiply(const detail::GemmCall<T>& g, const A& a, const B& b) {
  Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>> c(g.c, g.m, g.n,
                                                                    Eigen::OuterStride<>(g.ldc));
  if (!g.accumulate) c.setZero();
  c.noalias() += g.alpha * (a * b);
}

template <class T>
void gemm(const detail::GemmCall<T>& g) {
  View<RowMajor<T>> a(g.a, g.m, g.k, Eigen::OuterStride<>(g.lda)),
      b(g.b, g.k, g.n, Eigen::OuterStride<>(g.ldb));
  View<ColMajor<T>> at(g.a, g.m, g.k, Eigen::OuterStride<>(g.lda)),
      bt(g.b, g.k, g.n, Eigen::OuterStride<>(g.ldb));
  if (g.a_transposed) return g.b_transposed ? multiply(g, at, bt) : multiply(g, at, b);
  return g.b_transposed ? multiply(g, a, bt) : multiply(g, a, b);
}

}  // namespace

const detail::GemmProvider gemm_eigen_kernels = {gemm<float>, gemm<double>};

}  // namespace tarn::inline v1::TARN_ISA
