// Memory for small objects that live and die with tensors (handles, graph nodes): the allocator's
// thread-local free lists without its statistics. A few nanoseconds a pair; any thread may return a block.
#pragma once

#include <cstddef>

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

// `bytes` is 1 to 8192; blocks are aligned to 64. Throws std::bad_alloc when the system has no more.
TARN_API void* pool_allocate(size_t bytes);
TARN_API void pool_deallocate(void* block, size_t bytes) noexcept;

}  // namespace tarn::inline v1::detail
