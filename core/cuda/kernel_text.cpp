#include <tarn/core/cuda/kernel_text.h>

#include <vector>

#include <tarn/core/cuda/library.h>

namespace tarn::inline v1::detail {

KernelText::KernelText(const std::string& text, const std::string& name) {
  check_cuda("KernelText", cuda_table().build_kernel(text.c_str(), name.c_str(), &kernel_));
}

void KernelText::launch(const char* name, int64_t blocks, int threads, const void* parameters,
                        ArrayRef<KernelUse> uses) const {
  constexpr size_t kMost = 64;
  ensure(uses.size() <= kMost, name, ": ", int64_t(uses.size()), " pointers in a kernel's parameters");
  const void* pointers[kMost];
  bool written[kMost];
  for (size_t i = 0; i < uses.size(); ++i) {
    pointers[i] = uses[i].pointer;
    written[i] = uses[i].written;
  }
  BuiltKernelCall call{kernel_, blocks, threads, parameters, pointers, written, uses.size()};
  launch_cuda(name, &CudaTable::built_kernel, call);
}

}  // namespace tarn::inline v1::detail
