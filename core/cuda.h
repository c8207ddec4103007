// CUDA devices: what is there, which is current, streams and events, and the memory that Tarn holds on them.
//
// libtarn itself links nothing of CUDA. At first use it loads libtarn_cuda.so (a GPU) or libtarn_emu.so (an
// emulated device, for tests) from beside itself; TARN_CUDA=real|emulated|off in the environment says which.
// Without one is_available() is false, and what needs a device is an Error that says why there is none.
//
// Kernels run in the order of their stream, and the CPU does not wait for them: item(), printing, cpu() and
// synchronize() do. A tensor used on another stream than the one it was made on needs an Event between the
// two, as in PyTorch.
#pragma once

#include <cstddef>
#include <string>

#include <tarn/core/device.h>

namespace tarn::inline v1 {

namespace detail {
// Why there is no CUDA device; empty if there is one.
TARN_API std::string cuda_unavailable_reason();
// Whether the device is the emulated one.
TARN_API bool cuda_is_emulated();
// Kernels and library calls so far, of all threads; of those only that have this name, if one is given.
TARN_API int64_t cuda_launches(const char* name = nullptr);
}  // namespace detail

namespace cuda {

TARN_API bool is_available();
TARN_API bool cudnn_is_available();
TARN_API DeviceIndex device_count();
// Device -1 is the current one, here and below. The current device is the thread's.
TARN_API std::string device_name(DeviceIndex device = -1);
TARN_API DeviceIndex current_device();
TARN_API void set_device(DeviceIndex device);
// Waits for all that was started on the device.
TARN_API void synchronize(DeviceIndex device = -1);

// A handle to a queue of work on one device. Copies are the same stream.
class TARN_API Stream {
 public:
  // One of the device's 32 streams beside the default one, in turn.
  explicit Stream(DeviceIndex device = -1);
  static Stream default_stream(DeviceIndex device = -1);
  // What ops on the device use on this thread.
  static Stream current(DeviceIndex device = -1);

  void synchronize() const;
  // Whether all its work is done.
  bool query() const;
  DeviceIndex device_index() const { return device_; }
  // The cudaStream_t; null for the default stream.
  void* handle() const { return handle_; }
  friend bool operator==(const Stream& a, const Stream& b) {
    return a.device_ == b.device_ && a.handle_ == b.handle_;
  }

 private:
  friend class StreamGuard;
  Stream(DeviceIndex device, void* handle) : device_(device), handle_(handle) {}
  DeviceIndex device_;
  void* handle_;
};

// A place in a stream's work. Belongs to the device of the stream that it was first recorded on.
class TARN_API Event {
 public:
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(const Stream& stream);
  void record() { record(Stream::current()); }
  // What is given to `stream` from now on waits for the event.
  void block(const Stream& stream) const;
  void synchronize() const;
  bool query() const;
  // Milliseconds from this event to the other; both need timing, and to have happened.
  float elapsed_time(const Event& end) const;

 private:
  void* handle_ = nullptr;  // null until recorded: then it counts as having happened
  DeviceIndex device_ = -1;
  bool timing_;
};

// Makes a device current for a scope, on this thread.
class TARN_API DeviceGuard {
 public:
  explicit DeviceGuard(DeviceIndex device);
  explicit DeviceGuard(Device device) : DeviceGuard(device.index()) {}
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  DeviceIndex before_;
};

// Makes a stream, and its device, current for a scope.
class TARN_API StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  DeviceGuard device_;
  Stream before_;
};

struct MemoryStats {
  int64_t live_bytes;      // in tensors
  int64_t peak_bytes;      // highest live_bytes since reset_peak_memory_stats()
  int64_t reserved_bytes;  // held from the device: live, and cached for the next tensors
  int64_t live_blocks;
};
TARN_API MemoryStats memory_stats(DeviceIndex device = -1);
TARN_API void reset_peak_memory_stats(DeviceIndex device = -1);
// Gives cached memory back to the devices.
TARN_API void empty_cache();

}  // namespace cuda
}  // namespace tarn::inline v1
