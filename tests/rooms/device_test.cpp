// The demo's step on a CUDA device (the emulated one, unless TARN_CUDA says otherwise) gives the CPU's
// numbers.
#include <tarn/tests/rooms/step.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// Chosen before anything asks for a device.
const bool emulated = setenv("TARN_CUDA", "emulated", /*overwrite=*/0) == 0;

bool has_device() {
  if (cuda::is_available()) return true;
  WARN("room cuda is absent: " << detail::cuda_unavailable_reason());
  CHECK_FALSE(detail::cuda_unavailable_reason().empty());
  return false;
}

}  // namespace

TEST_CASE("the demo's step on a device equals the CPU's in float32") {
  if (!has_device()) return;
  int64_t before = detail::cuda_launches();
  Trained device = DemoStep({kCUDA, 0}, kFloat).run(5), cpu = DemoStep(kCPU, kFloat).run(5);
  CHECK(difference(device, cpu, 1e-4) == "");
  // Each of the 10 convolutions takes three calls a step.
  CHECK(detail::cuda_launches() - before > 5 * 10 * 3);
  CHECK(device.losses[4] < device.losses[0]);
}

TEST_CASE("the demo's step on a device equals the CPU's in float64") {
  if (!has_device()) return;
  Trained device = DemoStep({kCUDA, 0}, kDouble).run(20), cpu = DemoStep(kCPU, kDouble).run(20);
  CHECK(difference(device, cpu, 1e-10) == "");
}
