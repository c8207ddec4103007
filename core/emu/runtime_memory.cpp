// The runtime's calls for memory: allocation, copies, fills, pinned memory, pointer attributes.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <tarn/core/emu/config.h>
#include <tarn/core/emu/memory.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/stream.h>

using namespace tarn::emu;

namespace {

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Not while a stream captures into a graph.
Failure not_in_capture(const char* call) {
  CUstream_st* stream = capturing_stream();
  if (!stream || stream->capture_mode == cudaStreamCaptureModeRelaxed) return {};
  return {cudaErrorStreamCaptureUnsupported,
          std::string(call) + " while " + name_of(*stream) + " captures a graph"};
}

Failure allocate_now(const char* call, void** p, size_t bytes) {
  *p = nullptr;
  if (Failure failure = not_in_capture(call)) return failure;
  if (bytes == 0) return {};
  Allocation* a = allocate(current_device(), bytes);
  if (!a)
    return {cudaErrorMemoryAllocation,
            format("%s: out of memory: %zu bytes asked, %zu of %zu in use on cuda:%d", call, bytes,
                   bytes_in_use(current_device()), config().memory, current_device())};
  *p = reinterpret_cast<void*>(a->whole.begin);
  if (config().guard) open_memory(false);
  return {};
}

enum class Side { Host, Device };

// Which side a copy's kind says that its destination (or source) is on.
Side side(const void* p, cudaMemcpyKind kind, bool destination) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return Side::Host;
    case cudaMemcpyHostToDevice:
      return destination ? Side::Device : Side::Host;
    case cudaMemcpyDeviceToHost:
      return destination ? Side::Host : Side::Device;
    case cudaMemcpyDeviceToDevice:
      return Side::Device;
    default:
      return is_device_address(address(p)) ? Side::Device : Side::Host;
  }
}

bool is_pageable(const void* p, size_t bytes) {
  const Pinned* pinned = find_pinned(address(p));
  return !pinned || address(p) + bytes > pinned->begin + pinned->bytes;
}

// A host pointer of a copy must not be a device address: the kind was the wrong one.
Failure host_pointer(const char* call, const void* p, const char* which) {
  if (!is_device_address(address(p))) return {};
  return {cudaErrorInvalidValue, std::string(call) + ": the copy's kind says that its " + which +
                                     " is host memory, but it is " + describe(address(p))};
}

struct Copy {
  const char* call;
  void* to;
  const void* from;
  size_t bytes;
  cudaMemcpyKind kind;
};

// A copy from pageable memory reads it now; one into pageable memory is done when the call returns.
Failure copy(Lock& lock, const Copy& c, CUstream_st& stream, bool host_sync) {
  Operation operation{.name = c.call};
  bool to_host = side(c.to, c.kind, true) == Side::Host,
       from_host = side(c.from, c.kind, false) == Side::Host;
  if (c.bytes == 0) return {};
  if (to_host) {
    if (Failure failure = host_pointer(c.call, c.to, "destination")) return failure;
  } else {
    operation.uses.push_back({c.to, true, true, 0, c.bytes});
  }
  if (from_host) {
    if (Failure failure = host_pointer(c.call, c.from, "source")) return failure;
  } else {
    operation.uses.push_back({c.from, false, true, 1, c.bytes});
  }
  if (from_host && is_pageable(c.from, c.bytes)) {
    auto begin = static_cast<const char*>(c.from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + c.bytes);
    operation.run = [=] { return std::memcpy(c.to, staged->data(), c.bytes), Failure{}; };
  } else {
    operation.run = [=] { return std::memcpy(c.to, c.from, c.bytes), Failure{}; };
  }
  if (Failure failure = submit(stream, std::move(operation))) return failure;
  bool waits = host_sync || (to_host && is_pageable(c.to, c.bytes));
  return waits && !stream.capture ? host_waits(lock, stream) : Failure{};
}

cudaError_t copy_on(const Copy& c, cudaStream_t handle, bool host_sync) {
  Lock lock = lock_runtime();
  CUstream_st* stream = find_stream(handle);
  if (!stream)
    return error(cudaErrorInvalidResourceHandle,
                 std::string(c.call) + ": the stream does not exist any more");
  if (host_sync)
    if (Failure failure = not_in_capture(c.call)) return error(failure);
  return error(copy(lock, c, *stream, host_sync));
}

cudaError_t fill_on(const char* call, void* p, int value, size_t bytes, cudaStream_t handle) {
  if (bytes == 0) return finish();
  Operation fill{.name = call, .uses = {{p, true, true, 0, bytes}}, .run = [=] {
                   return std::memset(p, value, bytes), Failure{};
                 }};
  return submit(handle, std::move(fill));
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  Lock lock = lock_runtime();
  return error(allocate_now("cudaMalloc", p, bytes));
}

cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t handle) {
  Lock lock = lock_runtime();
  if (!find_stream(handle))
    return error(cudaErrorInvalidResourceHandle, "cudaMallocAsync: the stream does not exist any more");
  return error(allocate_now("cudaMallocAsync", p, bytes));
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t handle) {
  Lock lock = lock_runtime();
  if (!p) return finish();
  CUstream_st* stream = find_stream(handle);
  if (!stream)
    return error(cudaErrorInvalidResourceHandle, "cudaFreeAsync: the stream does not exist any more");
  return error(free_on(*stream, address(p), "cudaFreeAsync"));
}

// Waits for the device first, as NVIDIA's does.
cudaError_t cudaFree(void* p) {
  Lock lock = lock_runtime();
  if (!p) return finish();
  if (Failure failure = not_in_capture("cudaFree")) return error(failure);
  for (int device = 0; device < kDevices; ++device)
    if (Failure failure = host_waits_for_device(lock, device)) return error(failure);
  int device = device_of(address(p));
  return error(free_on(*legacy_stream(device < 0 ? current_device() : device), address(p), "cudaFree"));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_on({"cudaMemcpyAsync", to, from, bytes, kind}, stream, false);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_on({"cudaMemcpy", to, from, bytes, kind}, nullptr, true);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy_on({"cudaMemcpyPeerAsync", to, from, bytes, cudaMemcpyDeviceToDevice}, stream, false);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy_on({"cudaMemcpyPeer", to, from, bytes, cudaMemcpyDeviceToDevice}, nullptr, true);
}

// Row by row; each is checked like a copy of its own.
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch)
    return error(cudaErrorInvalidPitchValue, format("cudaMemcpy2DAsync: width %zu exceeds a pitch (%zu, %zu)",
                                                    width, to_pitch, from_pitch));
  for (size_t row = 0; row < height; ++row) {
    Copy c{"cudaMemcpy2DAsync", static_cast<char*>(to) + row * to_pitch,
           static_cast<const char*>(from) + row * from_pitch, width, kind};
    if (cudaError_t code = copy_on(c, stream, false)) return code;
  }
  return finish();
}

cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  return fill_on("cudaMemsetAsync", p, value, bytes, stream);
}

cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  return fill_on("cudaMemset", p, value, bytes, nullptr);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Lock lock = lock_runtime();
  *total = config().memory;
  *free = *total - bytes_in_use(current_device());
  return finish();
}

// --- host memory ---

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  Lock lock = lock_runtime();
  if (Failure failure = not_in_capture("cudaHostAlloc")) return error(failure);
  *p = bytes ? std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : nullptr;
  if (bytes && !*p)
    return error(cudaErrorMemoryAllocation, format("cudaHostAlloc: no %zu bytes of host memory", bytes));
  if (bytes) add_pinned({address(*p), bytes, false});
  return finish();
}

cudaError_t cudaMallocHost(void** p, size_t bytes) { return cudaHostAlloc(p, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* p) {
  Lock lock = lock_runtime();
  if (!p) return finish();
  const Pinned* pinned = find_pinned(address(p));
  if (!pinned || pinned->begin != address(p) || pinned->registered)
    return error(cudaErrorInvalidValue, format("cudaFreeHost: %p is no pinned allocation", p));
  for (int device = 0; device < kDevices; ++device)
    if (Failure failure = host_waits_for_device(lock, device)) return error(failure);
  remove_pinned(address(p));
  std::free(p);
  return finish();
}

cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  Lock lock = lock_runtime();
  if (!p || bytes == 0 || is_device_address(address(p)))
    return error(cudaErrorInvalidValue,
                 format("cudaHostRegister: %zu bytes at %p are no host memory", bytes, p));
  if (find_pinned(address(p)) && !is_pageable(p, 1))
    return error(cudaErrorHostMemoryAlreadyRegistered, format("cudaHostRegister: %p is pinned already", p));
  add_pinned({address(p), bytes, true});
  return finish();
}

cudaError_t cudaHostUnregister(void* p) {
  Lock lock = lock_runtime();
  const Pinned* pinned = find_pinned(address(p));
  if (!pinned || pinned->begin != address(p) || !pinned->registered)
    return error(cudaErrorHostMemoryNotRegistered, format("cudaHostUnregister: %p is not registered", p));
  remove_pinned(address(p));
  return finish();
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* p, unsigned) {
  Lock lock = lock_runtime();
  if (!find_pinned(address(p)))
    return error(cudaErrorInvalidValue, format("cudaHostGetDevicePointer: %p is not pinned", p));
  *device_pointer = p;
  return finish();
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  Lock lock = lock_runtime();
  *attributes = {};
  attributes->hostPointer = attributes->devicePointer = const_cast<void*>(p);
  Allocation* a = find_allocation(address(p));
  if (a && a->whole.live && a->whole.holds(address(p), 1)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = a->device;
    attributes->hostPointer = nullptr;
  } else if (find_pinned(address(p))) {
    attributes->type = cudaMemoryTypeHost;
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->devicePointer = nullptr;
  }
  return finish();
}

}  // extern "C"
