// NVRTC with the host's compiler behind it, and the runtime's calls that load and launch what it gives.
#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include <tarn/core/emu/blocks.h>
#include <tarn/core/emu/kernel.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/stream.h>
#include <tarn/core/emu/text.h>

using namespace tarn::emu;

struct _nvrtcProgram {
  std::string text, name;
  Compiled compiled;
};

struct CUlib_st {
  void* handle;
  int file;
};

struct CUkern_st {
  const void* function;
  void (*invoke)(const void*, const char*);
  unsigned long (*layout)(unsigned long, unsigned long*);
};

namespace {

struct CodeHead {
  uint64_t mark, bytes;
};
constexpr uint64_t kCodeMark = 0x65646f632d756d65;

// A kernel's handles live as long as the process, as a library's kernels may be launched until it is
// unloaded.
std::map<const void*, CUkern_st*>& kernels() {
  static auto* all = new std::map<const void*, CUkern_st*>;
  return *all;
}

thread_local std::vector<Use> declared_uses;

TARN_EMU_HIDDEN void give_index(int which, unsigned* out) {
  uint3 t = thread_index(), b = block_index();
  dim3 size = block_size(), grid = grid_size();
  unsigned all[4][3] = {{t.x, t.y, t.z}, {b.x, b.y, b.z}, {size.x, size.y, size.z}, {grid.x, grid.y, grid.z}};
  std::memcpy(out, all[which], sizeof all[which]);
}

uint64_t warp_operation(int kind, uint32_t mask, uint64_t value, int source, const char* file, int line) {
  return collective(Collective(kind), mask, value, source, file, line);
}

void access(void* p, size_t bytes, int write, int aligned, void* pc) {
  check_text_access(p, bytes, write, aligned, pc);
}

using Function = void (*)();
// In the order of text_prelude.inc.
const Function kFunctions[] = {
    reinterpret_cast<Function>(give_index),     reinterpret_cast<Function>(barrier),
    reinterpret_cast<Function>(warp_operation), reinterpret_cast<Function>(static_shared),
    reinterpret_cast<Function>(dynamic_shared), reinterpret_cast<Function>(access)};

// Loads the bytes of a shared object from a file in memory; its path stays good for addr2line.
CUlib_st* load_object(const void* code) {
  CodeHead head;
  std::memcpy(&head, code, sizeof head);
  if (head.mark != kCodeMark) return nullptr;
  int file = memfd_create("tarn-kernel", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  bool written = write(file, static_cast<const char*>(code) + sizeof head, head.bytes) == ssize_t(head.bytes);
  std::string path = format("/proc/%d/fd/%d", int(getpid()), file);
  void* handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!handle) {
    close(file);
    return nullptr;
  }
  *static_cast<const Function**>(dlsym(handle, "tarn_emu_functions")) = kFunctions;
  return new CUlib_st{handle, file};
}

}  // namespace

extern "C" {

// --- NVRTC ---

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = CUDART_VERSION / 1000;
  *minor = CUDART_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int headers,
                               const char* const*, const char* const*) {
  if (headers) return NVRTC_ERROR_INVALID_INPUT;  // texts are whole
  *program = new _nvrtcProgram{text, name ? name : "kernel.cu", {}};
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete std::exchange(*program, nullptr);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    bool known = false;
    for (const char* option :
         {"--gpu-architecture=", "-arch=", "--std=", "-std=", "--fmad=", "-fmad=", "-default-device"})
      known = known || std::strncmp(options[i], option, std::strlen(option)) == 0;
    if (known) continue;
    program->compiled.log = std::string("unknown option ") + options[i];
    return NVRTC_ERROR_INVALID_OPTION;
  }
  program->compiled = compile_text(program->text, program->name);
  return program->compiled.object.empty() ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  *bytes = program->compiled.log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->compiled.log.c_str(), program->compiled.log.size() + 1);
  return NVRTC_SUCCESS;
}
// The object's length stands before it: the runtime is told only where the code begins.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  *bytes = sizeof(CodeHead) + program->compiled.object.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  CodeHead head{kCodeMark, program->compiled.object.size()};
  std::memcpy(code, &head, sizeof head);
  std::memcpy(code + sizeof head, program->compiled.object.data(), head.bytes);
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    default:
      return "NVRTC_ERROR";
  }
}

// --- the runtime ---

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  Lock lock = lock_runtime();
  *library = reinterpret_cast<cudaLibrary_t>(load_object(code));
  return *library
             ? finish()
             : error(cudaErrorInvalidValue, "cudaLibraryLoadData: this is no code of the emulated device");
}

cudaError_t cudaLibraryUnload(cudaLibrary_t handle) {
  Lock lock = lock_runtime();
  auto* library = reinterpret_cast<CUlib_st*>(handle);
  dlclose(library->handle);
  close(library->file);
  delete library;
  return finish();
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t handle, const char* name) {
  Lock lock = lock_runtime();
  auto* library = reinterpret_cast<CUlib_st*>(handle);
  CUkern_st found{dlsym(library->handle, name), nullptr, nullptr};
  found.invoke = reinterpret_cast<decltype(found.invoke)>(
      dlsym(library->handle, (std::string("tarn_emu_invoke_") + name).c_str()));
  found.layout = reinterpret_cast<decltype(found.layout)>(
      dlsym(library->handle, (std::string("tarn_emu_layout_") + name).c_str()));
  if (!found.function || !found.invoke || !found.layout)
    return error(cudaErrorSymbolNotFound, format("cudaLibraryGetKernel: the library has no kernel %s", name));
  CUkern_st*& known = kernels()[found.function];
  if (!known) known = new CUkern_st;
  *known = found;
  *kernel = reinterpret_cast<cudaKernel_t>(known);
  return finish();
}

// Of a kernel that cudaLibraryGetKernel gave. Its pointers are those that tarn_emu_declare_uses named, else
// every word.
cudaError_t cudaLaunchKernel(const void* handle, dim3 grid, dim3 block_dim, void** arguments, size_t smem,
                             cudaStream_t stream) {
  std::vector<Use> uses = std::exchange(declared_uses, {});
  auto* kernel = static_cast<const CUkern_st*>(handle);
  alignas(16) char buffer[4096];
  size_t end = 0;
  bool declared = !uses.empty();
  unsigned long at = 0;
  for (int i = 0; unsigned long bytes = kernel->layout(i, &at); ++i) {
    if (at + bytes > sizeof buffer)
      return error(cudaErrorInvalidValue, "cudaLaunchKernel: more than 4 KiB of arguments");
    std::memcpy(buffer + at, arguments[i], bytes);
    end = at + bytes;
    for (size_t word = 0; !declared && word + 8 <= bytes; word += 8) {
      void* p;
      std::memcpy(&p, buffer + at + word, 8);
      uses.push_back({p, true, false, i});
    }
  }
  Launch launch{kernel->function, kernel->invoke, grid, block_dim, smem};
  return enqueue(stream, launch, buffer, end, uses.data(), uses.size());
}

void tarn_emu_declare_uses(const void* const* pointers, const bool* written, size_t count) {
  declared_uses.clear();
  for (size_t i = 0; i < count; ++i) declared_uses.push_back({pointers[i], written[i], true, int(i)});
}

}  // extern "C"
