// The memory of CUDA tensors: a cache per device and stream, since cudaMalloc takes long and cudaFree waits
// for the device. A block freed on its stream's thread may be used again at once by what the stream runs
// next.
#pragma once

#include <cstddef>

#include <tarn/core/device.h>

namespace tarn::inline v1::detail {

// At least `bytes` bytes for the current stream of the device, aligned to 512; null for 0. Throws tarn::Error
// when the device has no more, after giving back what is cached. With TARN_ALLOC=system each block is the
// runtime's own, so that the emulated device's checks see overflows and uses after free.
void* allocate_cuda(size_t bytes, DeviceIndex device);
void deallocate_cuda(void* block, DeviceIndex device) noexcept;

// CPU memory that devices copy from and to by themselves.
void* allocate_pinned(size_t bytes);
// Takes back a block that a copy on some stream may still be using: it is used again once that is done.
void deallocate_pinned(void* block) noexcept;
// Says that what `stream` of the current device was given so far uses the block.
void note_pinned_use(void* block, void* stream);

}  // namespace tarn::inline v1::detail
