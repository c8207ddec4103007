#include <tarn/compile/device_group.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <tarn/compile/emit.h>
#include <tarn/core/cuda.h>
#include <tarn/core/cuda/kernel_text.h>

namespace tarn::inline v1::detail {

bool can_build_device_kernels() {
  static const bool can = [] {
    try {
      KernelText("extern \"C\" __global__ void tarn_probe(int unused) {}\n", "tarn_probe");
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return can;
}

static std::shared_ptr<const KernelText> kernel_for(const std::string& text, Device device) {
  static auto* mutex = new std::mutex;
  static auto* kernels = new std::map<std::pair<std::string, int>, std::shared_ptr<const KernelText>>;
  std::lock_guard lock(*mutex);
  auto& kernel = (*kernels)[{text, device.index()}];
  if (!kernel) kernel = std::make_shared<const KernelText>(with_device_prelude(text), "tarn_kernel");
  return kernel;
}

DeviceGroup::DeviceGroup(const Expression& e, Device device) : device_(device) {
  cuda::DeviceGuard guard(device.index());
  kernel_ = kernel_for(emit_cuda_kernel(e), device);
}

void DeviceGroup::run(const char* name, const Expression& e, const IterationSpace& space,
                      void* const* operands, const int64_t* numbers) const {
  if (space.count() == 0) return;
  cuda::DeviceGuard guard(device_.index());
  size_t count = e.operands.size(), number_count = std::max<size_t>(1, e.numbers.size());
  int64_t rows = space.rank() > 1 ? space.size(1) : 1, slabs = space.count() / (rows * space.row_length());

  // The kernel's struct: operands, steps, jumps, numbers, rows, count; all of it words of 8 bytes.
  std::vector<int64_t> words(3 * count + number_count + 2);
  for (size_t k = 0; k < count; ++k) {
    words[count + k] = space.step(int(k));
    words[2 * count + k] = space.rank() > 1 ? space.step(int(k), 1) : 0;
  }
  std::memcpy(&words[3 * count], numbers, e.numbers.size() * sizeof(int64_t));
  words[3 * count + number_count] = rows;
  words[3 * count + number_count + 1] = space.row_length();
  std::vector<KernelUse> uses;
  for (size_t k = 0; k < count; ++k)
    if (e.operands[k].read || e.operands[k].written) uses.push_back({operands[k], e.operands[k].written});

  constexpr int kThreads = 256;
  constexpr int64_t kBlocks = 4096;
  int64_t blocks = std::min<int64_t>(kBlocks, (rows * space.row_length() + kThreads - 1) / kThreads);
  for (int64_t slab = 0; slab < slabs; ++slab) {
    int64_t rest = slab;
    for (size_t k = 0; k < count; ++k) words[k] = reinterpret_cast<int64_t>(operands[k]);
    for (int d = 2; d < space.rank(); ++d) {
      int64_t place = rest % space.size(d);
      rest /= space.size(d);
      for (size_t k = 0; k < count; ++k) words[k] += place * space.step(int(k), d);
    }
    kernel_->launch(name, blocks, kThreads, words.data(), uses);
  }
}

}  // namespace tarn::inline v1::detail
