// The device library is chosen at its first use: here, before any test.
#include <cstdlib>

namespace {
const bool chosen = setenv("TARN_CUDA", "emulated", /*overwrite=*/0) == 0;
}
