// What a program asks about GPUs. This version of Tarn computes on CPUs; these answer so, as PyTorch's CPU
// build does.
#pragma once

#include <tarn/core/device.h>

namespace tarn::inline v1::cuda {

inline bool is_available() { return false; }
inline bool cudnn_is_available() { return false; }
inline DeviceIndex device_count() { return 0; }

}  // namespace tarn::inline v1::cuda
