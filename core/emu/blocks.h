// What a caching allocator tells the emulated device, so that lifetime, bounds and stream order are checked
// per block and not per segment of cudaMalloc. They are null in libtarn_cuda: `if (tarn_emu_block_taken)
// tarn_emu_block_taken(p, n, stream);` A violation is returned by the next cuda call.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

extern "C" {

// [p, p + bytes) of a live allocation goes to a user, who will first use it on `stream`. It is filled with
// NaN (0xff) there.
__attribute__((weak)) void tarn_emu_block_taken(void* p, size_t bytes, cudaStream_t stream);

// The pointers that the next cudaLaunchKernel of this thread uses; a kernel from text has no types to tell
// them by.
__attribute__((weak)) void tarn_emu_declare_uses(const void* const* pointers, const bool* written,
                                                 size_t count);

// The block at p comes back and may be handed out again on `stream`: an error unless every use on another
// stream is ordered before what `stream` does next. Later uses of it are uses after free.
__attribute__((weak)) void tarn_emu_block_returned(void* p, cudaStream_t stream);
}
