// The process group over Gloo: CPU tensors, TCP between hosts, shared memory within one.
#pragma once

#include <tarn/distributed/process_group.h>
#include <tarn/distributed/store.h>

namespace tarn::inline v1::distributed {

struct GlooOptions {
  std::chrono::milliseconds timeout = kDefaultTimeout;
  // The address of this host to use; found out if empty. $GLOO_SOCKET_IFNAME names a network interface.
  std::string address = {};
  bool shared_memory = true;  // where all ranks are on one host
};

// Waits until all ranks have come. An Error if this build has no Gloo.
TARN_API std::shared_ptr<ProcessGroup> make_gloo_group(std::shared_ptr<Store> store, int rank, int size,
                                                       const GlooOptions& options = {});

// Whether this build has Gloo.
TARN_API bool is_gloo_available();

}  // namespace tarn::inline v1::distributed
