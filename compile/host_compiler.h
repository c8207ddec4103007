// The host's C++ compiler as a child process: TARN_CXX, else the first of g++, clang++ and c++ in PATH.
#pragma once

#include <optional>
#include <string>

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

struct HostCompiler {
  std::string path;
  std::string identity;  // path, size and time of change: what a cache entry depends on
  std::string flags;
};

// Where it is; `why` says why there is none. Its flags suit the instruction set that Tarn's kernels use here.
TARN_API std::optional<HostCompiler> find_host_compiler(std::string* why);

// Builds a shared library from a source file at low priority. "" on success, else what went wrong, with the
// beginning of the compiler's own words. A compiler that takes longer than `seconds` is killed.
TARN_API std::string compile_library(const HostCompiler& compiler, const std::string& source,
                                     const std::string& library, int seconds = 120);

// How wide generated vectors are here, in bytes.
TARN_API int host_vector_bytes();

}  // namespace tarn::inline v1::detail
