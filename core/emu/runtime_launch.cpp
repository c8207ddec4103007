// Launches: what cudaLaunchKernel checks, then blocks and threads (block.h).
#include <map>
#include <memory>
#include <string>

#include <tarn/core/emu/kernel.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/stream.h>

namespace tarn::inline v1::emu {

static constexpr size_t kSharedDefault = 48 << 10, kSharedOptIn = 227 << 10;

// What cudaFuncSetAttribute allowed each kernel.
static std::map<const void*, size_t>& shared_limits() {
  static auto* limits = new std::map<const void*, size_t>;
  return *limits;
}

static std::string text_of(dim3 d) { return format("(%u, %u, %u)", d.x, d.y, d.z); }

static std::string wrong_configuration(const Launch& launch) {
  const dim3 g = launch.grid, b = launch.block;
  uint64_t threads = uint64_t(b.x) * b.y * b.z;
  if (threads == 0 || threads > 1024 || b.z > 64)
    return "block " + text_of(b) + " must have 1 to 1024 threads and at most 64 in z";
  if (!g.x || !g.y || !g.z || g.x > 0x7fffffff || g.y > 65535 || g.z > 65535)
    return "grid " + text_of(g) + " must be at least (1, 1, 1) and at most (2147483647, 65535, 65535)";
  auto limit = shared_limits().find(launch.kernel);
  size_t allowed = limit == shared_limits().end() ? kSharedDefault : limit->second;
  if (launch.smem > allowed)
    return format(
        "%zu bytes of dynamic shared memory, allowed are %zu; "
        "cudaFuncAttributeMaxDynamicSharedMemorySize allows up to %zu",
        launch.smem, allowed, kSharedOptIn);
  return "";
}

cudaError_t enqueue(cudaStream_t stream, const Launch& launch, const char* arguments, size_t bytes,
                    const Use* uses, size_t use_count) {
  if (std::string wrong = wrong_configuration(launch); !wrong.empty())
    return error(cudaErrorInvalidConfiguration, kernel_name(launch.kernel) + ": " + wrong);
  struct alignas(16) Buffer {
    char bytes[4096];
  };
  auto copy = std::make_shared<Buffer>();
  std::memcpy(copy->bytes, arguments, bytes);
  return submit(stream, {.name = "a launch",
                         .kernel = launch.kernel,
                         .uses = std::vector<Use>(uses, uses + use_count),
                         .run = [=] { return run_grid(launch, copy->bytes); }});
}

}  // namespace tarn::inline v1::emu

using namespace tarn::emu;

extern "C" cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  Lock lock = lock_runtime();
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || size_t(value) > kSharedOptIn)
      return error(cudaErrorInvalidValue,
                   format("cudaFuncSetAttribute: %d bytes of dynamic shared memory, the device has %zu",
                          value, kSharedOptIn));
    shared_limits()[kernel] = size_t(value);
  }
  return finish();
}

extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  Lock lock = lock_runtime();
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  auto limit = shared_limits().find(kernel);
  attributes->maxDynamicSharedSizeBytes =
      int(limit == shared_limits().end() ? kSharedDefault : limit->second);
  return finish();
}

extern "C" cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size,
                                                                     size_t smem) {
  if (block_size <= 0 || block_size > 1024)
    return error(cudaErrorInvalidValue,
                 format("cudaOccupancyMaxActiveBlocksPerMultiprocessor: %d threads in a block", block_size));
  int by_threads = 2048 / ((block_size + 31) / 32 * 32);
  int by_memory = int(kSharedOptIn / (smem + 1024));
  *blocks = std::min({by_threads, by_memory, 32});
  return finish();
}
