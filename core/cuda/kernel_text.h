// Kernels that are compiled at run time: by NVRTC on a GPU, by the host's compiler on the emulated device.
// The text is whole (no includes) and has one kernel `extern "C" __global__ void name(Parameters)`; a struct
// of at most 4 KiB is all it takes.
#pragma once

#include <string>

#include <tarn/core/array_ref.h>
#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

struct KernelUse {
  const void* pointer;
  bool written;
};

// Lives as long as the process, on the device that was current when it was built. Any thread may launch it.
class TARN_API KernelText {
 public:
  // An Error with the compiler's complaints if the text does not compile.
  KernelText(const std::string& text, const std::string& name);

  // On the current stream; `name` is counted by cuda_launches(). `uses`: the device memory behind the
  // parameters.
  void launch(const char* name, int64_t blocks, int threads, const void* parameters,
              ArrayRef<KernelUse> uses) const;

 private:
  void* kernel_ = nullptr;
};

}  // namespace tarn::inline v1::detail
