// libtarn's side of the call table: the device library, found and loaded at first use.
#pragma once

#include <tarn/core/cuda.h>
#include <tarn/core/cuda/table.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

// The table; an Error that says why if there is no device.
const CudaTable& cuda_table();

// An Error "op: CUDA error: ..." if the status is one.
void check_cuda(const char* op, int status);

// The current stream of the current device.
void* current_cuda_stream();

// Counts a kernel or library call for cuda_launches().
void count_cuda_launch(const char* name);

// Starts a kernel on the current stream.
template <class Call>
void launch_cuda(const char* op, int (*CudaTable::*kernel)(const Call&, void*), const Call& call) {
  count_cuda_launch(op);
  check_cuda(op, (cuda_table().*kernel)(call, current_cuda_stream()));
}

// The device with its index: the current one if it has none. An Error naming `op` if there is no such device.
Device resolve_device(const char* op, Device device);

}  // namespace tarn::inline v1::detail
