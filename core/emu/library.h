// What the host versions of library calls share: an error is a text and a status, arguments are checked like
// a kernel's.
#pragma once

#include <string>

#include <tarn/core/emu/stream.h>

namespace tarn::inline v1::emu {

// Thrown inside a call and turned into its status at the entry point.
struct CallError {
  bool supported;  // false: right, but nothing that the library (or its host version) does
  std::string text;
};

// The text of this thread's last failed library call.
void set_library_error(const std::string& text);
const std::string& library_error();

// Submits the call to the stream; throws CallError for wrong pointers and streams.
void submit_call(cudaStream_t stream, const char* name, std::vector<Use> uses, std::function<void()> run);

}  // namespace tarn::inline v1::emu
