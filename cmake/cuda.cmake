# The device libraries beside libtarn, which loads one of them at first use: libtarn_cuda for GPUs (nvcc), libtarn_emu for
# the emulated device (g++). Both have the same kernels (core/ops/*.cu) and the same covers over the toolkit's libraries
# (core/cuda/device/*.cpp).
file(GLOB tarn_kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/ops/*.cu)
file(GLOB tarn_device_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/cuda/device/*.cpp)

set(tarn_cuda_build ${TARN_CUDA_BUILD})
if(tarn_cuda_build STREQUAL AUTO)
  set(tarn_cuda_build emu)
endif()

function(tarn_device_library target emulated)
  target_sources(${target} PRIVATE ${tarn_device_sources})
  tarn_compile_options(${target})
  target_compile_definitions(${target} PRIVATE TARN_CUDA_EMULATED=${emulated})
  target_include_directories(${target} PRIVATE ${tarn_include})
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LINKER_LANGUAGE CXX)
endfunction()

# --- the emulated device: nothing of it is installed ---

set(TARN_BUILDS_EMU OFF)
if("emu" IN_LIST tarn_cuda_build AND TARN_HAS_EMULATION)
  set(TARN_BUILDS_EMU ON)
  # A file that includes the kernel file: a .cu file of one folder cannot be C++ in one target and CUDA in another.
  set(emulated_kernels)
  foreach(kernel ${tarn_kernels})
    cmake_path(GET kernel STEM name)
    set(wrapper ${PROJECT_BINARY_DIR}/generated/emulated/${name}.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include <tarn/core/ops/${name}.cu>\n")
    list(APPEND emulated_kernels ${wrapper})
  endforeach()

  # tarn_emu, and with `checked` tarn_emu_check, whose kernels call core/emu/check.cpp on every access.
  function(tarn_emulated_library target checked)
    add_library(${target}_kernels OBJECT ${emulated_kernels})
    tarn_emulation_options(${target}_kernels)
    target_compile_options(${target}_kernels PRIVATE -O1)
    if(checked)
      target_compile_options(${target}_kernels PRIVATE -g1 -fsanitize=thread --param tsan-instrument-func-entry-exit=0)
    endif()
    add_library(${target} SHARED $<TARGET_OBJECTS:${target}_kernels> $<TARGET_OBJECTS:tarn_emulation>)
    tarn_device_library(${target} true)
    target_link_libraries(${target} PRIVATE ${TARN_EMULATION_LIBRARIES})
  endfunction()

  tarn_emulated_library(tarn_emu OFF)
  if(NOT TARN_SANITIZE)
    tarn_emulated_library(tarn_emu_check ON)
  endif()
endif()

# --- GPUs ---

set(TARN_BUILDS_CUDA OFF)
if("nvcc" IN_LIST tarn_cuda_build)
  if(NOT CUDAToolkit_FOUND OR NOT TARN_CUDNN_INCLUDE_DIR OR NOT TARN_CUDNN_LIBRARY)
    message(FATAL_ERROR "tarn: TARN_CUDA_BUILD has nvcc, but the CUDA toolkit or cuDNN was not found")
  endif()
  set(TARN_BUILDS_CUDA ON)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
  set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "GPU architectures")
  enable_language(CUDA)
  add_library(tarn_cuda_kernels OBJECT ${tarn_kernels})
  target_include_directories(tarn_cuda_kernels PRIVATE ${tarn_include})
  target_compile_definitions(tarn_cuda_kernels PRIVATE TARN_CUDA_ALL_ROWS=$<BOOL:${TARN_CUDA_ALL_ROWS}>)
  set_target_properties(tarn_cuda_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
  # As on the CPU nothing contracts (docs/decisions.md); constexpr functions of the rows' tables serve both sides.
  # CMake 3.25 does not know that nvcc 13 takes C++20.
  target_compile_options(tarn_cuda_kernels PRIVATE -std=c++20 --fmad=false --expt-relaxed-constexpr)
  add_library(tarn_cuda SHARED $<TARGET_OBJECTS:tarn_cuda_kernels>)
  tarn_device_library(tarn_cuda false)
  target_link_libraries(tarn_cuda PRIVATE CUDA::cudart CUDA::cublasLt ${TARN_CUDNN_LIBRARY})
  if(TARN_INSTALL)
    install(TARGETS tarn_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endif()

message(STATUS "tarn: device libraries: GPU ${TARN_BUILDS_CUDA}, emulated ${TARN_BUILDS_EMU}")
