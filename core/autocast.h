// Autocast: inside its scope, ops that gain from a lower precision run in it, and ops that need float32 run
// in float32, whatever dtype their inputs have. Parameters stay as they are; autograd casts their gradients
// back.
//
//   { AutocastGuard autocast(kCPU);  // bfloat16
//     loss = cross_entropy(net->forward(x), y); }
//   loss.backward();
//
// Which op does what is the field `autocast` of its Op; the lists are PyTorch's for the CPU. In-place ops and
// doubles are left alone. A scope belongs to its thread. Backward runs in the dtypes that forward chose, also
// when it is called inside a scope.
#pragma once

#include <optional>

#include <tarn/core/device.h>
#include <tarn/core/op.h>

namespace tarn::inline v1 {

class TARN_API AutocastGuard {
 public:
  // dtype: BFloat16 or Half; by default BFloat16 on the CPU, Half on CUDA. With enabled = false the ops
  // inside run as without autocast. With cache_enabled a parameter is cast once per scope, not at every use.
  explicit AutocastGuard(DeviceType device = kCPU, std::optional<ScalarType> dtype = {}, bool enabled = true,
                         bool cache_enabled = true);
  // "cpu" or "cuda".
  explicit AutocastGuard(const Device& device, std::optional<ScalarType> dtype = {}, bool enabled = true,
                         bool cache_enabled = true);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType device_;
  ScalarType dtype_before_;
  uint16_t mode_before_;
  bool cache_before_;
};

namespace amp {
using autocast = AutocastGuard;
}

// The switches that the guard sets, under libtorch's names.
namespace autocast {
TARN_API bool is_autocast_enabled(DeviceType device);
TARN_API void set_autocast_enabled(DeviceType device, bool enabled);
TARN_API ScalarType get_autocast_dtype(DeviceType device);
TARN_API void set_autocast_dtype(DeviceType device, ScalarType dtype);
TARN_API bool is_autocast_cache_enabled();
TARN_API void set_autocast_cache_enabled(bool enabled);
// Forgets the casts of parameters; the outermost guard does so at its end.
TARN_API void clear_cache();
}  // namespace autocast

namespace detail {

// Casts the inputs as op.autocast asks, then runs the op.
void dispatch_autocast(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars, Tensor* out);

// x as an op with Autocast::Float32 would see it: for losses that are made of other ops.
TARN_API Tensor autocast_to_float(const Tensor& x);

// Autocast is off in this scope.
class AutocastOff {
 public:
  AutocastOff() : before_(mode.autocast) { mode.autocast = 0; }
  ~AutocastOff() { mode.autocast = before_; }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  uint16_t before_;
};

}  // namespace detail

}  // namespace tarn::inline v1
