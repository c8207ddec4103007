// The current device and stream of each thread, streams, events and their guards.
#include <atomic>
#include <mutex>
#include <utility>

#include <tarn/core/cuda/library.h>

namespace tarn::inline v1 {

namespace {

using detail::check_cuda;
using detail::cuda_table;

constexpr int kMaxDevices = 64;
constexpr int kPoolStreams = 32;  // per device, as in PyTorch

// A thread starts on device 0, in the runtime too, and on the default streams.
thread_local DeviceIndex current = 0;
thread_local void* current_streams[kMaxDevices] = {};

DeviceIndex resolve(const char* op, DeviceIndex device) {
  return detail::resolve_device(op, {kCUDA, device}).index();
}

// Streams live as long as the process.
void* pool_stream(DeviceIndex device) {
  struct Pool {
    std::mutex mutex;
    void* streams[kPoolStreams] = {};
    unsigned next = 0;
  };
  static Pool* pools = new Pool[kMaxDevices];
  Pool& pool = pools[device];
  std::lock_guard lock(pool.mutex);
  void*& stream = pool.streams[pool.next++ % kPoolStreams];
  if (!stream) {
    cuda::DeviceGuard guard(device);
    check_cuda("Stream", cuda_table().create_stream(&stream));
  }
  return stream;
}

}  // namespace

void* detail::current_cuda_stream() { return current_streams[current]; }

namespace cuda {

DeviceIndex current_device() { return current; }

void set_device(DeviceIndex device) {
  device = resolve("set_device", device);
  if (device == current) return;
  check_cuda("set_device", cuda_table().set_device(device));
  current = device;
}

void synchronize(DeviceIndex device) {
  DeviceGuard guard(resolve("synchronize", device));
  check_cuda("synchronize", cuda_table().synchronize());
}

Stream::Stream(DeviceIndex device) : device_(resolve("Stream", device)), handle_(pool_stream(device_)) {}
Stream Stream::default_stream(DeviceIndex device) { return {resolve("Stream", device), nullptr}; }
Stream Stream::current(DeviceIndex device) {
  device = resolve("Stream", device);
  return {device, current_streams[device]};
}

void Stream::synchronize() const {
  DeviceGuard guard(device_);
  check_cuda("synchronize", cuda_table().synchronize_stream(handle_));
}

bool Stream::query() const {
  DeviceGuard guard(device_);
  bool done = false;
  check_cuda("query", cuda_table().query_stream(handle_, &done));
  return done;
}

Event::~Event() {
  if (handle_) cuda_table().destroy_event(handle_);
}

Event::Event(Event&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), device_(other.device_), timing_(other.timing_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(device_, other.device_);
  std::swap(timing_, other.timing_);
  return *this;
}

void Event::record(const Stream& stream) {
  DeviceGuard guard(stream.device_index());
  if (!handle_) {
    check_cuda("Event", cuda_table().create_event(&handle_, timing_));
    device_ = stream.device_index();
  }
  check(device_ == stream.device_index(), "Event: was recorded on cuda:", int(device_),
        " and cannot be recorded on cuda:", int(stream.device_index()));
  check_cuda("Event", cuda_table().record_event(handle_, stream.handle()));
}

void Event::block(const Stream& stream) const {
  if (!handle_) return;
  DeviceGuard guard(stream.device_index());
  check_cuda("Event", cuda_table().wait_event(stream.handle(), handle_));
}

void Event::synchronize() const {
  if (handle_) check_cuda("Event", cuda_table().synchronize_event(handle_));
}

bool Event::query() const {
  bool done = true;
  if (handle_) check_cuda("Event", cuda_table().query_event(handle_, &done));
  return done;
}

float Event::elapsed_time(const Event& end) const {
  check(timing_ && end.timing_ && handle_ && end.handle_,
        "Event: elapsed_time needs two events made with timing, both recorded");
  float milliseconds = 0;
  check_cuda("Event", cuda_table().elapsed(&milliseconds, handle_, end.handle_));
  return milliseconds;
}

DeviceGuard::DeviceGuard(DeviceIndex device) : before_(current) {
  if (device >= 0 && device != current) set_device(device);
}

DeviceGuard::~DeviceGuard() {
  if (before_ == current) return;
  cuda_table().set_device(before_);
  current = before_;
}

StreamGuard::StreamGuard(const Stream& stream)
    : device_(stream.device_index()), before_(Stream::current(stream.device_index())) {
  current_streams[stream.device_index()] = stream.handle();
}

StreamGuard::~StreamGuard() { current_streams[before_.device_index()] = before_.handle(); }

}  // namespace cuda

}  // namespace tarn::inline v1
