// The only way to include Eigen. Its namespace is renamed, per instruction set where there is one: a host
// program's own Eigen cannot clash with ours, and the linker cannot give baseline code a copy built for
// AVX-512. Include it first in a .cpp file. No Eigen type crosses a file boundary.
#pragma once

#define TARN_EIGEN_JOIN2(a, b) a##b
#define TARN_EIGEN_JOIN(a, b) TARN_EIGEN_JOIN2(a, b)
#ifdef TARN_ISA
#define Eigen TARN_EIGEN_JOIN(tarn_eigen_, TARN_ISA)
#else
#define Eigen tarn_eigen
#endif

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wdeprecated-enum-enum-conversion"
#pragma GCC diagnostic ignored "-Wclass-memaccess"
#include <Eigen/Core>
#pragma GCC diagnostic pop
