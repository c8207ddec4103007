// What this build lacks. A case of an absent room stays in the list and says which room it is and which
// option decided it; ctest then counts it as skipped.
//
//   if (absent_gloo()) return;
#pragma once

#include <string>

#include <tarn/tests/catch.h>
#include <test_config.h>

namespace tarn::testing {

inline bool absent(bool built, const std::string& room, const std::string& option) {
  if (built) return false;
  // The words that ctest looks for: tests/list_cases.sh.
  WARN("not in this build: " << room << " (" << option << ")");
  SUCCEED();
  return true;
}

inline bool absent_gloo() {
  return absent(TARN_TEST_HAS_GLOO, "Gloo", "TARN_WITH_GLOO=" TARN_TEST_WITH_GLOO);
}
inline bool absent_nccl() {
  return absent(TARN_TEST_HAS_NCCL, "NCCL", "TARN_CUDA_BUILD=" TARN_TEST_CUDA_BUILD);
}
inline bool absent_emulation() {
  return absent(TARN_TEST_HAS_EMU, "emulated device", "TARN_CUDA_BUILD=" TARN_TEST_CUDA_BUILD);
}
// Neither a library for GPUs nor the emulated device.
inline bool absent_cuda() {
  return absent(TARN_TEST_HAS_EMU || TARN_TEST_HAS_CUDA, "cuda", "TARN_CUDA_BUILD=" TARN_TEST_CUDA_BUILD);
}

}  // namespace tarn::testing
