// A fused group on a CUDA device: its expression as a kernel that was built from text, launched once, or once
// for each slab of the two innermost dims where the operands step through more.
#pragma once

#include <memory>
#include <string>

#include <tarn/compile/expression.h>
#include <tarn/compile/iteration.h>
#include <tarn/core/device.h>

namespace tarn::inline v1::detail {

class KernelText;

// Whether kernels can be built for the device's kind at all: NVRTC, or for the emulated device a compiler, is
// there. Found out once.
bool can_build_device_kernels();

class DeviceGroup {
 public:
  // Kernels are shared by all groups of the same expression and device.
  DeviceGroup(const Expression& e, Device device);
  // operands: device addresses; numbers lie 8 bytes apart.
  void run(const char* name, const Expression& e, const IterationSpace& space, void* const* operands,
           const int64_t* numbers) const;

 private:
  Device device_;
  std::shared_ptr<const KernelText> kernel_;
};

}  // namespace tarn::inline v1::detail
