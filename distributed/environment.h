// Which rank this process is: what torchrun, tarn run, mpirun and srun say in the environment.
#pragma once

#include <optional>
#include <string>

#include <tarn/core/error.h>

namespace tarn::inline v1::distributed {

struct Launch {
  int rank = 0, world_size = 1;
  int local_rank = 0;
  std::string master_addr;
  uint16_t master_port = 0;
  // The launcher serves a store there already (torchrun does).
  bool store_is_served = false;
  const char* launcher = "";  // "RANK and WORLD_SIZE", "mpirun", "srun": where the ranks came from
};

// Nothing if no launcher started this process; an Error that names the variable if one says half of what is
// needed.
TARN_API std::optional<Launch> launch_from_environment();

namespace detail {
// The first host of Slurm's list: "node7" of "node[7-9,12],other3".
std::string first_host(const std::string& slurm_nodes);
}  // namespace detail

}  // namespace tarn::inline v1::distributed
