// Eigen as a provider: its GEMM of the best instruction set here. Convolution is the default one of conv.cpp,
// im2col over this GEMM.
#include <tarn/core/cpu/contractions.h>
#include <tarn/core/cpu/isa.h>

TARN_DECLARE_KERNELS(GemmProvider, gemm_eigen_kernels)

namespace tarn::inline v1::detail {

namespace {

void gemm_f32(const GemmCall<float>& call) { gemm_eigen_kernels().f32(call); }
void gemm_f64(const GemmCall<double>& call) { gemm_eigen_kernels().f64(call); }

}  // namespace

constinit const ContractionProvider eigen_contractions = {"eigen", {gemm_f32, gemm_f64}, {}};

}  // namespace tarn::inline v1::detail
