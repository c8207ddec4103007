// What users may say to compile(), and the environment variable TARN_COMPILE, a comma-separated list:
//   off        compiled functions run eagerly
//   plain      captured segments run op by op with eager kernels, without passes
//   interpret  no code is generated: fused groups run in the interpreter
//   native     fused groups wait for generated code
//   log        plans, graph breaks and mismatches go to stderr
//   passes     so do the graphs between passes
//   -NAME      leaves out the pass NAME
#pragma once

#include <string_view>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

struct CompileOptions {
  // "default", "reduce-overhead" or "max-autotune".
  std::string_view mode = "default";
  // A graph break is an Error.
  bool fullgraph = false;
  // Reserved for shapes as run-time values; plans are keyed by exact shapes either way.
  bool dynamic = false;
  // Not available yet, and refused: TARN_COMPILE=plain gives the values to compare with.
  bool verify = false;
  // A segment on which a pass fails runs op by op, with a warning, instead of throwing.
  bool suppress_errors = false;
};

namespace detail {

struct CompileEnvironment {
  bool off = false, plain = false, log = false;
};
// Read once. An unknown word is an Error at the first compile().
TARN_API const CompileEnvironment& compile_environment();

}  // namespace detail

}  // namespace tarn::inline v1
