#include <tarn/core/device.h>

namespace tarn::inline v1 {

Device::Device(const std::string& text) {
  size_t colon = text.find(':');
  std::string type = text.substr(0, colon);
  check(type == "cpu" || type == "cuda" || type == "meta", "Device: unknown device '", text,
        "'; use cpu, cuda or cuda:N");
  type_ = type == "cpu" ? kCPU : type == "cuda" ? kCUDA : kMeta;
  if (colon == std::string::npos) return;
  std::string index = text.substr(colon + 1);
  bool digits =
      !index.empty() && index.size() <= 2 && index.find_first_not_of("0123456789") == std::string::npos;
  check(digits, "Device: bad index in '", text, "'; use cpu, cuda or cuda:N");
  index_ = DeviceIndex(std::stoi(index));
}

std::string Device::str() const {
  std::string name = type_ == kCPU ? "cpu" : type_ == kCUDA ? "cuda" : "meta";
  return has_index() ? name + ":" + std::to_string(int(index_)) : name;
}

}  // namespace tarn::inline v1
