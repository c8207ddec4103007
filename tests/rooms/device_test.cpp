// The demo's step on a CUDA device (the emulated one if it is built, unless TARN_CUDA says otherwise) gives
// the CPU's numbers.
#include <cstdlib>

#include <tarn/tests/absent.h>
#include <tarn/tests/rooms/step.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// Chosen before anything asks for a device.
const bool chosen = setenv("TARN_CUDA", TARN_TEST_HAS_EMU ? "emulated" : "real", /*overwrite=*/0) == 0;

// A build with a device library has a device: the emulated one, or the GPU that TARN_CUDA=real asks for.
bool has_device() {
  if (absent_cuda()) return false;
#ifdef __SANITIZE_ADDRESS__
  // The sanitizer's dlopen may not look where the caller's would.
  if (absent(cuda::is_available(), "cuda", detail::cuda_unavailable_reason())) return false;
#endif
  INFO(detail::cuda_unavailable_reason());
  REQUIRE(cuda::is_available());
  return true;
}

// Eager and compiled, with counters that prove that the device did it.
void compare(ScalarType dtype, int steps, double tolerance) {
  Trained cpu = DemoStep(kCPU, dtype).run(steps);
  CHECK(detail::cuda_is_emulated() == (std::getenv("TARN_CUDA") != std::string("real")));
  int64_t launches = detail::cuda_launches();
  Trained eager = DemoStep({kCUDA, 0}, dtype).run(steps);
  CHECK(difference(eager, cpu, tolerance) == "");
  CHECK(cpu.losses.back() < cpu.losses.front());
  // Each of the 10 convolutions takes three calls a step, but for the images' gradient.
  CHECK(detail::cuda_launches() - launches > steps * 29);

  launches = detail::cuda_launches();
  CompileStats before = compile_stats();
  DemoStep demo({kCUDA, 0}, dtype);
  auto step = tarn::compile([&] { return demo(); });
  Trained compiled = demo.run(steps, [&] { return step(); });
  CHECK(difference(compiled, cpu, tolerance) == "");
  CHECK(detail::cuda_launches() - launches > steps * 29);
  CompileStats after = compile_stats();
  CHECK(after.calls - before.calls == steps);
  CHECK(after.segments - before.segments >= steps);
  CHECK(after.followed > before.followed);
  CHECK(after.eager_calls == before.eager_calls);
  // Kernels built from text: add and relu at the end of each of the three blocks, and what their gradients
  // meet.
  int64_t groups = after.fused_groups - before.fused_groups;
  CHECK(groups >= steps * 6);
  CHECK(after.tier1_groups - before.tier1_groups >= groups);
}

}  // namespace

TEST_CASE("the demo's step on a device equals the CPU's, eager and compiled, in float32") {
  if (has_device()) compare(kFloat, 5, 1e-4);
}

TEST_CASE("the demo's step on a device equals the CPU's, eager and compiled, in float64") {
#ifdef __SANITIZE_ADDRESS__
  constexpr int kSteps = 3;  // each takes a second there
#else
  constexpr int kSteps = 20;
#endif
  if (has_device()) compare(kDouble, kSteps, 1e-10);
}
