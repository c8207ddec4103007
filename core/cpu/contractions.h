// Who computes matmul and conv: Eigen, which is always there, or oneDNN where it was found. A provider is one
// struct of functions, built in one file each (gemm_eigen.cpp, gemm_onednn.cpp).
#pragma once

#include <tarn/core/cpu/conv_types.h>
#include <tarn/core/cpu/gemm_types.h>
#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

struct ContractionProvider {
  const char* name;
  GemmProvider gemm;
  ConvProvider conv;
};

extern const ContractionProvider eigen_contractions;
// Null where oneDNN is not part of this build.
extern const ContractionProvider* const onednn_contractions;

// The environment's TARN_CONTRACTIONS (eigen, onednn), or the fastest there is. tarn::Error if it names
// another word or an absent provider.
TARN_API const ContractionProvider& contractions();

// Switches provider from now on, for tests and benches; same errors.
TARN_API void use_contractions(const char* name);

}  // namespace tarn::inline v1::detail
