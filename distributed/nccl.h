// The process group over NCCL: tensors on GPUs, one GPU for each rank.
#pragma once

#include <tarn/distributed/process_group.h>
#include <tarn/distributed/store.h>

namespace tarn::inline v1::distributed {

struct NcclOptions {
  std::chrono::milliseconds timeout = kDefaultTimeout;
  int device = 0;  // of this rank
};

// Waits until all ranks have come. An Error if this build has no NCCL, its library cannot be loaded or there
// is no such GPU. Operations run on a stream of the group's own: they wait for what the current stream holds
// when they are called, and Work::wait() makes the current stream wait for them. A thread of the group
// watches them: where one fails or does not end within the timeout, every later operation and wait is an
// Error.
TARN_API std::shared_ptr<ProcessGroup> make_nccl_group(std::shared_ptr<Store> store, int rank, int size,
                                                       const NcclOptions& options = {});

// Whether this build was compiled for NCCL; the library is loaded when a group is made.
TARN_API bool is_nccl_available();

}  // namespace tarn::inline v1::distributed
