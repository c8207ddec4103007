#include <tarn/core/cuda/library.h>

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct Library {
  const CudaTable* table = nullptr;
  int devices = 0;
  std::string reason;  // why there is no device
};

// The folder of the file that this code is in: libtarn.so, or the program that links libtarn.a.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return "";
  std::string file = info.dli_fname;
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// Beside libtarn, else where the system looks for libraries.
void* open_library(const std::string& name, std::string* reason) {
  for (const std::string& path : {own_folder() + name, name}) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    *reason = std::string("the device library cannot be loaded: ") + dlerror();
    // Where the file is there, what it lacks is the reason.
    if (access(path.c_str(), F_OK) == 0) break;
  }
  return nullptr;
}

Library load(const std::string& name) {
  Library library;
  void* handle = open_library(name, &library.reason);
  if (!handle) return library;
  auto get = reinterpret_cast<const void* (*)()>(dlsym(handle, "tarn_cuda_table"));
  const auto* table = get ? static_cast<const CudaTable*>(get()) : nullptr;
  if (!table || table->bytes != sizeof(CudaTable)) {
    library.reason = name + " belongs to another version of Tarn";
    return library;
  }
  int status = table->device_count(&library.devices);
  if (status != 0 || library.devices == 0) {
    library.devices = 0;
    library.reason =
        status ? std::string("no driver: ") + table->error_text(status) : "the driver shows no GPU";
    return library;
  }
  library.table = table;
  return library;
}

Library choose() {
  const char* value = std::getenv("TARN_CUDA");
  std::string mode = value && *value ? value : "real";
  Library none;
  if (mode == "real") return load("libtarn_cuda.so");
  if (mode == "emulated") return load("libtarn_emu.so");
  if (mode == "checked") return load("libtarn_emu_check.so");
  none.reason = mode == "off" ? "switched off by TARN_CUDA=off"
                              : "TARN_CUDA must be real, emulated, checked or off, got " + mode;
  return none;
}

const Library& library() {
  static const Library* loaded = new Library(choose());
  return *loaded;
}

std::atomic<int64_t> launches;
std::mutex launch_mutex;
std::map<std::string, int64_t>& launches_by_name() {
  static auto* map = new std::map<std::string, int64_t>;
  return *map;
}

}  // namespace

const CudaTable& cuda_table() {
  const Library& l = library();
  check(l.table != nullptr, "cuda: ", l.reason);
  return *l.table;
}

std::string cuda_unavailable_reason() { return library().reason; }
bool cuda_is_emulated() { return library().table && library().table->emulated; }

void check_cuda(const char* op, int status) {
  check(status == 0, op, ": CUDA error: ", status ? cuda_table().error_text(status) : "");
}

void count_cuda_launch(const char* name) {
  launches.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(launch_mutex);
  ++launches_by_name()[name];
}

int64_t cuda_launches(const char* name) {
  if (!name) return launches.load(std::memory_order_relaxed);
  std::lock_guard lock(launch_mutex);
  auto found = launches_by_name().find(name);
  return found == launches_by_name().end() ? 0 : found->second;
}

Device resolve_device(const char* op, Device device) {
  if (!device.is_cuda()) return device;
  const Library& l = library();
  check(l.table != nullptr, op, ": device ", device, " cannot be used: cuda: ", l.reason);
  DeviceIndex index = device.has_index() ? device.index() : cuda::current_device();
  check(index < l.devices, op, ": no such device ", device, ": there ", l.devices == 1 ? "is " : "are ",
        l.devices);
  return {kCUDA, index};
}

}  // namespace detail

namespace cuda {

bool is_available() { return detail::library().table != nullptr; }
bool cudnn_is_available() { return is_available(); }
DeviceIndex device_count() { return DeviceIndex(detail::library().devices); }

std::string device_name(DeviceIndex device) {
  Device resolved = detail::resolve_device("device_name", {kCUDA, device});
  char name[256] = "";
  detail::check_cuda("device_name", detail::cuda_table().device_name(resolved.index(), name, sizeof name));
  return name;
}

}  // namespace cuda

}  // namespace tarn::inline v1
