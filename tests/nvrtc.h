// NVRTC, NVIDIA's run-time compiler, as tests ask it about a text: does this compile?
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>

#include <tarn/tests/catch.h>

namespace tarn::testing {

class Nvrtc {
 public:
  // None where it is not installed, and under sanitizers: its code is not instrumented, and what it leaks
  // would count as ours.
  static std::optional<Nvrtc> find() {
#ifndef __SANITIZE_ADDRESS__
    for (const char* name :
         {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Nvrtc(library);
#endif
    SUCCEED("NVRTC is not asked here; nothing was compiled");
    return {};
  }

  // The compiler's complaints; "" if it has none.
  std::string complaints(const std::string& source) const {
    void* program = nullptr;
    REQUIRE(call<void**, const char*, const char*, int, const char* const*, const char* const*>(
                "nvrtcCreateProgram", &program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) == 0);
    const char* options[] = {"--gpu-architecture=compute_80", "--std=c++20", "--fmad=false"};
    int failed = call<void*, int, const char* const*>("nvrtcCompileProgram", program, 3, options);
    size_t size = 0;
    call<void*, size_t*>("nvrtcGetProgramLogSize", program, &size);
    std::string log(size, ' ');
    call<void*, char*>("nvrtcGetProgramLog", program, log.data());
    call<void**>("nvrtcDestroyProgram", &program);
    return failed ? log : "";
  }

 private:
  explicit Nvrtc(void* library) : library_(library) {}
  template <class... A>
  int call(const char* function, A... a) const {
    auto* f = reinterpret_cast<int (*)(A...)>(dlsym(library_, function));
    REQUIRE(f != nullptr);
    return f(a...);
  }

  void* library_;
};

}  // namespace tarn::testing
