// Where a tensor lives: "cpu", "cuda:1".
#pragma once

#include <string>

#include <tarn/core/error.h>

namespace tarn::inline v1 {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };
using DeviceIndex = int8_t;

inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kMeta = DeviceType::Meta;

struct Device {
  DeviceType type_ = kCPU;
  DeviceIndex index_ = -1;  // -1: the current one

  constexpr Device() = default;
  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  // "cpu", "cuda", "cuda:0"; anything else is an Error.
  TARN_API Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const { return type_; }
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool has_index() const { return index_ >= 0; }
  constexpr bool is_cpu() const { return type_ == kCPU; }
  constexpr bool is_cuda() const { return type_ == kCUDA; }
  TARN_API std::string str() const;
  friend void append(std::string& out, const Device& device) { out.append(device.str()); }
  friend constexpr bool operator==(Device a, Device b) {
    return a.type_ == b.type_ && (a.index_ == b.index_ || a.type_ == kCPU);
  }
};

}  // namespace tarn::inline v1
