// oneDNN as a provider.
#include <tarn/core/cpu/contractions.h>
#include <tarn_config.h>

#if TARN_HAS_ONEDNN
#include <tarn/core/cpu/conv_onednn.h>
#include <tarn/core/cpu/onednn.h>
#endif

namespace tarn::inline v1::detail {

#if TARN_HAS_ONEDNN

namespace {

// Below this many multiply-adds oneDNN's preparations cost more than the product; Eigen has few.
constexpr int64_t kTiny = 24 * 24 * 24;

void gemm_f32(const GemmCall<float>& g) {
  if (g.m * g.n * g.k <= kTiny) return eigen_contractions.gemm.f32(g);
  onednn::SerialScope serial;
  dnnl_status_t status = dnnl_sgemm(g.a_transposed ? 'T' : 'N', g.b_transposed ? 'T' : 'N', g.m, g.n, g.k,
                                    g.alpha, g.a, g.lda, g.b, g.ldb, g.accumulate ? 1.0f : 0.0f, g.c, g.ldc);
  onednn::ensure_ok(status, "dnnl_sgemm");
}

// oneDNN has no double.
void gemm_f64(const GemmCall<double>& g) { eigen_contractions.gemm.f64(g); }

constinit const ContractionProvider provider = {
    "onednn",
    {gemm_f32, gemm_f64},
    {onednn::conv_forward, onednn::conv_backward_input, onednn::conv_backward_weight}};

}  // namespace

constinit const ContractionProvider* const onednn_contractions = &provider;

#else

constinit const ContractionProvider* const onednn_contractions = nullptr;

#endif

}  // namespace tarn::inline v1::detail
