// Kernels that are built from text at run time.
#include <tarn/core/cuda/kernel_text.h>
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

const char kText[] = R"(
struct Parameters { const float* x; float* y; float factor; long n; };
extern "C" __global__ void scale(Parameters p) {
  for (long i = long(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n; i += long(gridDim.x) * blockDim.x)
    p.y[i] = p.x[i] * p.factor;
}
)";

struct Parameters {
  const float* x;
  float* y;
  float factor;
  long n;
};

}  // namespace

TEST_CASE("a kernel from text runs on the device and is counted") {
  detail::KernelText scale(kText, "scale");
  Tensor x = formula_tensor({300}), on_device = x.to(kGpu), y = empty_like(on_device);
  Parameters parameters{on_device.data_ptr<float>(), y.data_ptr<float>(), 3, 300};
  detail::KernelUse uses[] = {{parameters.x, false}, {parameters.y, true}};
  CHECK(launches_of([&] { scale.launch("scale", 2, 64, &parameters, uses); }, "scale") == 1);
  CHECK_SAME(y.cpu(), x * 3);
}

TEST_CASE("a text that does not compile is an Error with the compiler's words") {
  std::string message =
      error_of([] { detail::KernelText("extern \"C\" __global__ void f(int x) { x = nothing; }\n", "f"); });
  CAPTURE(message);
  CHECK(message.find("KernelText: CUDA error: NVRTC: f.cu does not compile: ") == 0);
  CHECK(message.find("nothing") != std::string::npos);
}
