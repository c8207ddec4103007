# The libraries: objects once, from them `tarn` (shared) and `tarn_static`.

# Flags every translation unit of Tarn and of its tests is built with. Results must not depend on the compiler's
# mood: no contraction (GCC contracts even through intrinsics). Nothing here changes NaN, infinities or denormals.
function(tarn_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-omit-frame-pointer)
  if(TARN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TARN_SANITIZE} -fno-sanitize-recover=all)
  endif()
endfunction()

# `#include <tarn/core/tensor.h>` means the same in the tree and after installation.
set(tarn_include ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${tarn_include})
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${tarn_include}/tarn SYMBOLIC)

# What was found, for our .cpp files only: never an option in a public header or in a global -D.
foreach(level v3 v4)
  string(TOUPPER ${level} upper)
  set(TARN_HAS_${upper} OFF)
  if(level IN_LIST tarn_isa_levels)
    set(TARN_HAS_${upper} ON)
  endif()
endforeach()
set(TARN_THREADS_STD OFF)
if(TARN_THREADS STREQUAL std)
  set(TARN_THREADS_STD ON)
endif()
set(tarn_private_include ${PROJECT_BINARY_DIR}/generated)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tarn_config.h.in ${tarn_private_include}/tarn_config.h)

file(GLOB tarn_sources CONFIGURE_DEPENDS
  core/*.cpp core/ops/*.cpp core/cpu/*.cpp core/cuda/*.cpp autograd/*.cpp nn/*.cpp nn/*/*.cpp optim/*.cpp
  data/*.cpp serialize/*.cpp compile/*.cpp distributed/*.cpp)
set(tarn_isa_sources ${tarn_sources})
list(FILTER tarn_isa_sources INCLUDE REGEX "_isa\\.cpp$")
list(FILTER tarn_sources EXCLUDE REGEX "_isa\\.cpp$")

function(tarn_object_library target)
  add_library(${target} OBJECT ${ARGN})
  tarn_compile_options(${target})
  target_include_directories(${target} PUBLIC ${tarn_include} PRIVATE ${tarn_private_include})
  target_link_libraries(${target} PRIVATE ${TARN_HEADER_LIBRARIES} ${TARN_LINK_LIBRARIES})
endfunction()

# The text of our vector functions, for kernels that the compile room generates at run time.
set(tarn_prelude ${tarn_private_include}/kernel_prelude.cpp)
set(tarn_prelude_headers core/cpu/vec.h core/cpu/vec_ops.h core/cpu/vec_load.h core/cpu/math_exp.h core/cpu/math_special.h
  core/cpu/math_trig.h core/cpu/math.h compile/kernel_lanes.h core/cuda/value.h compile/kernel_device.h cmake/embed_prelude.cmake)
list(TRANSFORM tarn_prelude_headers PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(OUTPUT ${tarn_prelude} DEPENDS ${tarn_prelude_headers} VERBATIM
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${tarn_prelude}
    -P ${PROJECT_SOURCE_DIR}/cmake/embed_prelude.cmake)

if(TARN_HAS_NCCL)
  set_source_files_properties(distributed/nccl.cpp core/cpu/config.cpp PROPERTIES COMPILE_DEFINITIONS TARN_HAS_NCCL=1
    COMPILE_OPTIONS "-isystem${TARN_NCCL_INCLUDE_DIR};-isystem${CUDAToolkit_INCLUDE_DIRS}")
endif()
tarn_object_library(tarn_objects ${tarn_sources} ${tarn_prelude})
set(tarn_all_objects $<TARGET_OBJECTS:tarn_objects>)

# One object library per instruction set. The files live in namespace tarn::TARN_ISA, so that no two copies of a
# function share a name (the linker would keep one of them for everybody).
if(tarn_isa_sources)
  foreach(level ${tarn_isa_levels})
    tarn_object_library(tarn_isa_${level} ${tarn_isa_sources})
    target_compile_definitions(tarn_isa_${level} PRIVATE TARN_ISA=${level})
    target_compile_options(tarn_isa_${level} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -Wno-psabi)
    if(NOT level STREQUAL generic)
      target_compile_options(tarn_isa_${level} PRIVATE -march=x86-64-${level})
    endif()
    list(APPEND tarn_all_objects $<TARGET_OBJECTS:tarn_isa_${level}>)
  endforeach()
endif()

function(tarn_library target type)
  add_library(${target} ${type} ${tarn_all_objects})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${tarn_include}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE ${TARN_LINK_LIBRARIES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tarn LINKER_LANGUAGE CXX)
  if(TARN_SANITIZE)
    target_link_options(${target} PUBLIC -fsanitize=${TARN_SANITIZE})
  endif()
endfunction()

tarn_library(tarn_static STATIC)
set_target_properties(tarn_static PROPERTIES EXPORT_NAME static)
add_library(tarn::static ALIAS tarn_static)
if(TARN_BUILD_SHARED)
  tarn_library(tarn SHARED)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(tarn PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${exports} -Wl,-z,defs)
  if(TARN_SANITIZE)
    set_property(TARGET tarn APPEND PROPERTY LINK_OPTIONS -Wl,-z,undefs)
  endif()
  set_target_properties(tarn PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${exports})
  add_library(tarn::tarn ALIAS tarn)
else()
  add_library(tarn::tarn ALIAS tarn_static)
endif()

# For programs written for libtorch: tarn::torch is tarn::tarn with <torch/torch.h> on the path.
add_library(tarn_torch INTERFACE)
target_include_directories(tarn_torch INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/compat> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tarn/compat>)
if(TARN_BUILD_SHARED)
  target_link_libraries(tarn_torch INTERFACE tarn)
else()
  target_link_libraries(tarn_torch INTERFACE tarn_static)
endif()
set_target_properties(tarn_torch PROPERTIES EXPORT_NAME torch)
add_library(tarn::torch ALIAS tarn_torch)
