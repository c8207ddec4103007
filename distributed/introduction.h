// Introduction: ranks that know nothing but a store find out who else is there and on which hosts, before
// they connect to each other. Private to distributed/.
#pragma once

#include <tarn/distributed/shared_memory.h>
#include <tarn/distributed/store.h>

namespace tarn::inline v1::distributed::detail {

struct Introduction {
  bool one_host = false;                 // all ranks run under one kernel and network
  std::string address;                   // one of this host that the other ranks can reach
  std::unique_ptr<SharedMemory> shared;  // if all ranks could open it
};

// An Error that names the ranks which do not come within the timeout, come twice, or were told of another
// number of ranks. `address` is what this rank would be reached at, as far as it knows.
Introduction introduce(Store& store, int rank, int size, const std::string& address, milliseconds timeout);

}  // namespace tarn::inline v1::distributed::detail
