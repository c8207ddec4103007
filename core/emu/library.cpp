#include <tarn/core/emu/library.h>

namespace tarn::inline v1::emu {

static thread_local std::string last_library_error;

void set_library_error(const std::string& text) { last_library_error = text; }
const std::string& library_error() { return last_library_error; }

void submit_call(cudaStream_t stream, const char* name, std::vector<Use> uses, std::function<void()> run) {
  cudaError_t code = submit(stream, {.name = name, .uses = std::move(uses), .run = [run = std::move(run)] {
                                       run();
                                       return Failure{};
                                     }});
  if (code == cudaSuccess) return;
  std::string text = cudaGetErrorString(code);
  cudaGetLastError();
  throw CallError{true, text};
}

}  // namespace tarn::inline v1::emu
