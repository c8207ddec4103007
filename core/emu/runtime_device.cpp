// The runtime's calls for devices, versions and errors. Each emulated device looks like a small H200.
#include <cstdio>
#include <cstring>
#include <string>

#include <tarn/core/emu/config.h>
#include <tarn/core/emu/order.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/segfault.h>
#include <tarn/core/emu/stream.h>

using namespace tarn::emu;

namespace {

struct ErrorName {
  cudaError_t code;
  const char *name, *text;
};

// NVIDIA's names and texts of what the emulated device can return.
constexpr ErrorName kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
};

const ErrorName* find_error(cudaError_t code) {
  for (const ErrorName& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

cudaError_t bad_device(const char* call, int device) {
  return error(cudaErrorInvalidDevice, format("%s: device %d of %d", call, device, kDevices));
}

constexpr int kMultiprocessors = 8;

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (!config().driver) return cudaErrorInsufficientDriver;
  *count = kDevices;
  return finish();
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return finish();
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return bad_device("cudaSetDevice", device);
  static bool guarded = false;
  if (config().guard && !std::exchange(guarded, true)) install_host_guard();
  set_current_device(device);
  return finish();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device < 0 || device >= kDevices) return bad_device("cudaGetDeviceProperties", device);
  *p = {};
  std::snprintf(p->name, sizeof p->name, "Tarn emulated GPU");
  p->totalGlobalMem = config().memory;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->reservedSharedMemPerBlock = 1 << 10;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 64 << 10;
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = kMultiprocessors;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 6144;
  p->unifiedAddressing = 1;
  p->asyncEngineCount = 3;
  p->concurrentKernels = 1;
  p->canMapHostMemory = 1;
  p->memoryPoolsSupported = 1;
  p->pciDomainID = 0xe;
  p->pciBusID = device;
  return finish();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= kDevices) return bad_device("cudaDeviceGetAttribute", device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *value = 1024;
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = 64;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 227 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 228 << 10;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = 65536;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = 32;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      break;
    case cudaDevAttrClockRate:
      *value = 1980000;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = 3201000;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 6144;
      break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      return error(
          cudaErrorNotSupported,
          format("cudaDeviceGetAttribute: the emulated device knows no attribute %d", int(attribute)));
  }
  return finish();
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (device < 0 || device >= kDevices) return bad_device("cudaDeviceGetPCIBusId", device);
  std::snprintf(text, length, "000E:%02X:00.0", device);
  return finish();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return finish();
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (device < 0 || device >= kDevices || peer < 0 || peer >= kDevices)
    return bad_device("cudaDeviceCanAccessPeer", device < 0 || device >= kDevices ? device : peer);
  *can = device != peer;
  return finish();
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  Lock lock = lock_runtime();
  if (peer < 0 || peer >= kDevices || peer == current_device())
    return bad_device("cudaDeviceEnablePeerAccess", peer);
  bool& enabled = peer_access(current_device(), peer);
  if (enabled)
    return error(cudaErrorPeerAccessAlreadyEnabled,
                 format("cudaDeviceEnablePeerAccess: cuda:%d may use memory of cuda:%d already",
                        current_device(), peer));
  enabled = true;
  return finish();
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  Lock lock = lock_runtime();
  if (peer < 0 || peer >= kDevices || peer == current_device())
    return bad_device("cudaDeviceDisablePeerAccess", peer);
  if (!std::exchange(peer_access(current_device(), peer), false))
    return error(cudaErrorPeerAccessNotEnabled,
                 format("cudaDeviceDisablePeerAccess: cuda:%d has none to cuda:%d", current_device(), peer));
  return finish();
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return finish();
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return finish();
}

// --- errors ---

cudaError_t cudaGetLastError() {
  Lock lock = lock_runtime();
  finish();
  cudaError_t code = last_failure().code;
  clear_last_failure();
  return code;
}

cudaError_t cudaPeekAtLastError() {
  Lock lock = lock_runtime();
  finish();
  return last_failure().code;
}

const char* cudaGetErrorName(cudaError_t code) {
  const ErrorName* e = find_error(code);
  return e ? e->name : "unrecognized error code";
}

// The text of the code; for this thread's last error, what happened in particular as well.
const char* cudaGetErrorString(cudaError_t code) {
  static thread_local std::string text;
  const ErrorName* e = find_error(code);
  text = e ? e->text : "unrecognized error code";
  if (code != cudaSuccess && code == last_failure_code()) text += ": " + last_failure().text;
  return text.c_str();
}

}  // extern "C"
