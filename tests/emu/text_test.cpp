// Kernels from text: NVRTC's calls with the host's compiler behind them.
#include <nvrtc.h>

#include <tarn/core/emu/blocks.h>
#include <tarn/tests/emu/support.h>

namespace {

// A text's kernel `scale`, or what the compiler said.
struct Text {
  std::string log;
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;

  explicit Text(const char* source) {
    nvrtcProgram program;
    REQUIRE(nvrtcCreateProgram(&program, source, "scale.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS);
    const char* options[] = {"--gpu-architecture=sm_90", "--std=c++20", "--fmad=false"};
    nvrtcResult result = nvrtcCompileProgram(program, 3, options);
    size_t bytes = 0;
    nvrtcGetProgramLogSize(program, &bytes);
    log.resize(bytes);
    nvrtcGetProgramLog(program, log.data());
    if (result == NVRTC_SUCCESS) load(program);
    nvrtcDestroyProgram(&program);
  }
  void load(nvrtcProgram program) {
    size_t bytes = 0;
    REQUIRE(nvrtcGetCUBINSize(program, &bytes) == NVRTC_SUCCESS);
    std::vector<char> code(bytes);
    REQUIRE(nvrtcGetCUBIN(program, code.data()) == NVRTC_SUCCESS);
    REQUIRE_OK(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    REQUIRE_OK(cudaLibraryGetKernel(&kernel, library, "scale"));
  }
  ~Text() {
    if (library) cudaLibraryUnload(library);
  }
  std::string launch(int blocks, int threads, std::initializer_list<const void*> arguments) const {
    std::vector<void*> list;
    for (const void* p : arguments) list.push_back(const_cast<void*>(p));
    return text(
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel), blocks, threads, list.data(), 0, nullptr));
  }
};

const char kScale[] = R"(
struct Call { const float* x; float* y; double factor; long n; };
static const float kOffsets[3] = {0, 10, 20};
extern "C" __global__ void scale(Call c, int shift) {
  long i = long(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < c.n + shift) c.y[i] = float(c.x[i] * c.factor) + kOffsets[i % 3];
}
)";

struct Call {
  const float* x;
  float* y;
  double factor;
  long n;
};

}  // namespace

TEST_CASE("a kernel from text runs and is checked like one from a file") {
  Text scale(kScale);
  REQUIRE(scale.kernel != nullptr);
  Array<float> x(numbers(100)), y(100);
  Call call{x.p, y.p, 2.5, 100};
  int shift = 0;
  REQUIRE(scale.launch(2, 64, {&call, &shift}) == "");
  Values expected = numbers(100), got = y.get();
  for (int i = 0; i < 100; ++i) CHECK(got[i] == float(expected[i] * 2.5) + i % 3 * 10);

  if (checked()) {
    shift = 1;
    std::string message = scale.launch(2, 64, {&call, &shift});
    CAPTURE(message);
    CHECK(has(message, {"out of bounds: read of 4 bytes at 0 bytes past the end of allocation #",
                        "scale.cu:6", "[kernel scale, block (1,0,0)]"}));
  }
  Values host(100);
  call.x = host.data();
  const void* pointers[] = {call.x, call.y};
  const bool written[] = {false, true};
  tarn_emu_declare_uses(pointers, written, 2);
  CHECK(has(scale.launch(2, 64, {&call, &shift}), {"argument 0 of scale is the host pointer"}));
}

TEST_CASE("a kernel from text may use shared memory, barriers and shuffles") {
  Text scale(R"(
extern "C" __global__ void scale(const float* x, float* sum) {
  SHARED(float, part, [2]);
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) *sum = part[0] + part[1];
}
)");
  CAPTURE(scale.log);
  REQUIRE(scale.kernel != nullptr);
  Array<float> x(Values(64, 0.5f)), sum(1);
  REQUIRE(scale.launch(1, 64, {&x.p, &sum.p}) == "");
  CHECK(sum.get()[0] == 32);
}

TEST_CASE("a kernel from text may stand in a namespace, with launch bounds") {
  Text scale(R"(
namespace deep {
inline __device__ float twice(float x) { if (x < 0) { return 2 * x; } return x + x; }
extern "C" __global__ void __launch_bounds__(64) scale(float* x) { { x[threadIdx.x] = twice(x[threadIdx.x]); } }
}
)");
  CAPTURE(scale.log);
  REQUIRE(scale.kernel != nullptr);
  Array<float> x(Values(64, -1.5f));
  REQUIRE(scale.launch(1, 64, {&x.p}) == "");
  CHECK(x.get() == Values(64, -3));
}

TEST_CASE("a text that does not compile gives its log, a missing kernel its name") {
  Text wrong("extern \"C\" __global__ void scale(float* x) { x[0] = nothing; }\n");
  CAPTURE(wrong.log);
  CHECK(wrong.kernel == nullptr);
  CHECK(has(wrong.log, {"scale.cu:1", "nothing"}));
  Text scale(kScale);
  cudaKernel_t kernel;
  CHECK_CAUGHT(cudaLibraryGetKernel(&kernel, scale.library, "other"), "the library has no kernel other");
}
