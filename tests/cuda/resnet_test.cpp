// The demo's training step on the device: its calls, compiled and eager alike, and its memory. That eager
// steps equal the CPU's is in tests/rooms.
#include <tarn/tests/cuda/device.h>
#include <tarn/tests/rooms/step.h>

using namespace tarn;
using namespace tarn::testing;

TEST_CASE("the demo's step calls each library and kernel as often as it should") {
  DemoStep step(kGpu, kFloat);
  auto count = [&](const char* name) { return launches_of([&] { step(); }, name); };
  step();
  // Ten convolutions forward; backward twice each, but for the gradient of the images.
  CHECK(count("conv") == 10 + 10 + 9);
  CHECK(count("batch_norm") == 10);
  CHECK(count("batch_norm_grad") == 10);
  CHECK(count("matmul") == 3);
  CHECK(count("cross_entropy") == 1);
  CHECK(count("cross_entropy_backward") == 1);
  CHECK(count("sgd") == 1);
}

TEST_CASE("the demo's step compiled on the device equals eager there", "[rooms]") {
  for (ScalarType dtype : {kFloat, kDouble}) {
    DemoStep eager(kGpu, dtype), compiled(kGpu, dtype);
    auto step = compile([&] { return compiled(); });
    double tolerance = dtype == kFloat ? 1e-4 : 1e-10;
    for (int i = 0; i < 4; ++i) {
      double expected = eager().item<double>(), got = 0;
      int64_t launches = launches_of([&] { got = step().template item<double>(); });
      CHECK(std::abs(got - expected) <= tolerance * std::abs(expected));
      CHECK(launches > 80);  // fused groups are one each
    }
    const auto want = eager.net->state_dict(), have = compiled.net->state_dict();
    for (const auto& item : want)
      CHECK_CLOSE(have[item.key()].cpu(), item.value().cpu(), Tolerance{tolerance, tolerance});
  }
}

TEST_CASE("the device's memory is given back after training") {
  int64_t before = cuda::memory_stats().live_bytes;
  DemoStep(kGpu, kFloat).run(1);
  CHECK(cuda::memory_stats().live_bytes == before);
}
