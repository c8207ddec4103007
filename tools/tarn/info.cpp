#include <cstdio>
#include <fstream>

#include <tarn/core/config.h>
#include <tarn/core/cuda.h>
#include <tarn/core/error.h>
#include <tarn/tools/tarn/commands.h>

namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

void print(const std::string& name, const std::string& text) {
  std::printf("%-10s %s\n", name.c_str(), text.c_str());
}

}  // namespace

int print_info() {
  for (const auto& [name, text] : tarn::detail::config_items()) print(name, text);
  print("CPU", cpu_name());
  std::string reason = tarn::detail::cuda_unavailable_reason();
  int count = tarn::cuda::device_count();
  print("CUDA", reason.empty() ? tarn::str(count, count == 1 ? " device" : " devices",
                                           tarn::detail::cuda_is_emulated() ? ", emulated" : "")
                               : "not available: " + reason);
  for (int device = 0; device < count; ++device)
    print(tarn::str("cuda:", device), tarn::cuda::device_name(tarn::DeviceIndex(device)));
  return 0;
}
