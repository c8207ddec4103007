// TensorOptions: dtype, device and requires_grad for the functions that make tensors.
#pragma once

#include <optional>

#include <tarn/core/device.h>
#include <tarn/core/dtype.h>

namespace tarn::inline v1 {

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(type) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}

  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> t) const {
    return with(&TensorOptions::dtype_, t);
  }
  [[nodiscard]] TensorOptions device(std::optional<Device> d) const {
    return with(&TensorOptions::device_, d);
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  [[nodiscard]] TensorOptions requires_grad(bool on) const {
    return with(&TensorOptions::requires_grad_, on);
  }
  [[nodiscard]] TensorOptions memory_format(MemoryFormat f) const {
    return with(&TensorOptions::memory_format_, f);
  }
  [[nodiscard]] TensorOptions layout(Layout) const { return *this; }
  [[nodiscard]] TensorOptions pinned_memory(bool on) const {
    return with(&TensorOptions::pinned_memory_, on);
  }

  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device()); }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_memory_; }
  MemoryFormat memory_format() const { return memory_format_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }

 private:
  template <class Field, class Value>
  TensorOptions with(Field TensorOptions::*field, Value value) const {
    TensorOptions copy = *this;
    copy.*field = value;
    return copy;
  }
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
  bool pinned_memory_ = false;
  MemoryFormat memory_format_ = MemoryFormat::Contiguous;
};

inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace tarn::inline v1
