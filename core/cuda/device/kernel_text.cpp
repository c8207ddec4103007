// Builds kernels from text with NVRTC. It is looked for when the first is built: what needs no such kernel
// runs without it.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <string>
#include <vector>

#include <tarn/core/cuda/device/libraries.h>
#include <tarn/core/emu/blocks.h>

namespace tarn::inline v1::detail {

namespace {

struct Nvrtc {
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&nvrtcGetCUBIN) code = nullptr;
  bool found = false;
};

#if TARN_CUDA_EMULATED
Nvrtc find_nvrtc() {
  return {nvrtcCreateProgram, nvrtcDestroyProgram, nvrtcCompileProgram, nvrtcGetProgramLogSize,
          nvrtcGetProgramLog, nvrtcGetCUBINSize,   nvrtcGetCUBIN,       true};
}
#else
Nvrtc find_nvrtc() {
  Nvrtc n;
  std::string versioned = "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000);
  void* library = nullptr;
  for (const char* name : {versioned.c_str(), "libnvrtc.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return n;
  n.found = true;
  auto get = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)> >(dlsym(library, name));
    n.found = n.found && function;
  };
  get(n.create, "nvrtcCreateProgram");
  get(n.destroy, "nvrtcDestroyProgram");
  get(n.compile, "nvrtcCompileProgram");
  get(n.log_size, "nvrtcGetProgramLogSize");
  get(n.log, "nvrtcGetProgramLog");
  get(n.code_size, "nvrtcGetCUBINSize");
  get(n.code, "nvrtcGetCUBIN");
  return n;
}
#endif

const Nvrtc& nvrtc() {
  static const Nvrtc instance = find_nvrtc();
  return instance;
}

// The code of the text for the current device, or an empty one and a status.
int compile(const char* text, const char* name, std::vector<char>* code) {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  std::string architecture = "--gpu-architecture=sm_" + std::to_string(major * 10 + minor);
  const char* options[] = {architecture.c_str(), "--std=c++20", "--fmad=false"};
  std::string file = std::string(name) + ".cu";
  nvrtcProgram program = nullptr;
  if (nvrtc().create(&program, text, file.c_str(), 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return library_error("NVRTC: cannot take the text of " + file);
  nvrtcResult result = nvrtc().compile(program, 3, options);
  size_t bytes = 0;
  if (result == NVRTC_SUCCESS) {
    nvrtc().code_size(program, &bytes);
    code->resize(bytes);
    nvrtc().code(program, code->data());
  } else {
    nvrtc().log_size(program, &bytes);
  }
  std::string log(bytes, '\0');
  if (result != NVRTC_SUCCESS) nvrtc().log(program, log.data());
  nvrtc().destroy(&program);
  return result == NVRTC_SUCCESS ? 0 : library_error("NVRTC: " + file + " does not compile: " + log.c_str());
}

}  // namespace

int build_kernel(const char* text, const char* name, void** kernel) {
  if (!nvrtc().found) return library_error("NVRTC was not found; kernels that are built at run time need it");
  std::vector<char> code;
  if (int status = compile(text, name, &code)) return status;
  cudaLibrary_t library = nullptr;
  cudaError_t error = cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error == cudaSuccess)
    error = cudaLibraryGetKernel(reinterpret_cast<cudaKernel_t*>(kernel), library, name);
  if (error != cudaSuccess) cudaGetLastError();
  return int(error);
}

int launch_built(const BuiltKernelCall& call, void* stream) {
  if (tarn_emu_declare_uses) tarn_emu_declare_uses(call.pointers, call.written, call.count);
  void* arguments[] = {const_cast<void*>(call.parameters)};
  cudaError_t error = cudaLaunchKernel(call.kernel, dim3(unsigned(call.blocks)), dim3(unsigned(call.threads)),
                                       arguments, 0, static_cast<cudaStream_t>(stream));
  if (error != cudaSuccess) cudaGetLastError();
  return int(error);
}

}  // namespace tarn::inline v1::detail
