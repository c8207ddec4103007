# Writes the text that stands before every generated kernel into a C++ file: the headers of core/cpu without their
# includes. Called by the build: cmake -DSOURCE=<root> -DOUTPUT=<file> -P embed_prelude.cmake
set(text [[
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define INT64_MIN (-__INT64_MAX__ - 1)
#define TARN_ISA kernel
// Vectors of the compiler's own are enough, and intrinsics would cost a large header.
#undef __AVX512F__
#undef __AVX2__
#undef __FMA__
#undef __F16C__
#undef __SSE2__
]])

set(device_text [[
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long uint64_t;
#if defined(__CUDACC_RTC__)
#define __builtin_huge_val() __longlong_as_double(0x7ff0000000000000)
#endif
]])

# Appends a header's text without includes and whole lines of comment.
macro(embed_into variable header)
  file(READ ${SOURCE}/${header}.h part)
  string(REGEX REPLACE "#include [^\n]*\n" "" part "${part}")
  string(REPLACE "#pragma once\n" "" part "${part}")
  string(REGEX REPLACE "(^|\n)//[^\n]*" "" part "${part}")
  string(APPEND ${variable} "${part}")
endmacro()
foreach(header core/cpu/vec core/cpu/vec_ops core/cpu/vec_load core/cpu/math_exp core/cpu/math_special core/cpu/math_trig
        core/cpu/math compile/kernel_lanes)
  embed_into(text ${header})
endforeach()
embed_into(device_text core/cuda/value)
embed_into(device_text compile/kernel_device)

file(WRITE ${OUTPUT} "#include <tarn/compile/emit.h>\n\nnamespace tarn::inline v1::detail {\n
const char* const kHostPrelude = R\"tarn_text(${text})tarn_text\";\n
const char* const kDevicePrelude = R\"tarn_text(${device_text})tarn_text\";\n\n}  // namespace tarn::inline v1::detail\n")
