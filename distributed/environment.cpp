#include <tarn/distributed/environment.h>

#include <cstdlib>

namespace tarn::inline v1::distributed {

namespace {

const char* text(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

std::optional<int> number(const char* name, int low, int high) {
  const char* value = text(name);
  if (!value) return std::nullopt;
  char* end = nullptr;
  long parsed = std::strtol(value, &end, 10);
  check(*end == 0 && parsed >= low && parsed <= high, "init_process_group: ", name, " must be a number from ",
        low, " to ", high, ", got '", value, "'");
  return int(parsed);
}

constexpr int kMaxRanks = 1 << 20;

// The names by which one kind of launcher passes the same four numbers.
struct Names {
  const char *launcher, *rank, *world_size, *local_rank, *local_size;
};
constexpr Names kLaunchers[] = {
    {"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // SLURM_NTASKS is set in a batch script too, which is one process; this one only in a step of srun.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
};

// Jobs on one machine should not meet: Slurm's job number decides the port.
int default_port() {
  const char* job = text("SLURM_JOB_ID");
  return job ? 20000 + int(std::strtoul(job, nullptr, 10) % 20000) : 29500;
}

std::string master_address(const Names& names, int world_size) {
  if (const char* given = text("MASTER_ADDR")) return given;
  if (const char* nodes = text("SLURM_STEP_NODELIST")) return detail::first_host(nodes);
  const char* local = text(names.local_size);
  bool one_host = world_size == 1 || (local && std::to_string(world_size) == local);
  check(one_host,
        "init_process_group: MASTER_ADDR is not set; set it to the host of rank 0 (mpirun -x MASTER_ADDR)");
  return "127.0.0.1";
}

}  // namespace

// Of each bracket its first number, up to the first comma outside of brackets.
std::string detail::first_host(const std::string& nodes) {
  std::string host;
  for (size_t at = 0; at < nodes.size() && nodes[at] != ','; ++at) {
    if (nodes[at] != '[') {
      host += nodes[at];
      continue;
    }
    size_t end = nodes.find_first_of("-,]", at), close = nodes.find(']', at);
    check(close != std::string::npos, "init_process_group: cannot read the host list '", nodes,
          "'; set MASTER_ADDR to the host of rank 0");
    host += nodes.substr(at + 1, end - at - 1);
    at = close;
  }
  return host;
}

std::optional<Launch> launch_from_environment() {
  for (const Names& names : kLaunchers) {
    auto rank = number(names.rank, 0, kMaxRanks);
    auto world_size = number(names.world_size, 1, kMaxRanks);
    if (!rank && !world_size) continue;
    // Slurm sets a rank in batch scripts too; there it means nothing.
    if (names.launcher == std::string("srun") && !world_size) continue;
    check(rank && world_size, "init_process_group: ", rank ? names.rank : names.world_size,
          " is set, but not ", rank ? names.world_size : names.rank,
          "; start the program with tarn run, torchrun, mpirun or srun");
    check(*rank < *world_size, "init_process_group: ", names.rank, " is ", *rank, ", but ", names.world_size,
          " is ", *world_size);
    Launch launch;
    launch.rank = *rank;
    launch.world_size = *world_size;
    launch.local_rank = number(names.local_rank, 0, kMaxRanks).value_or(0);
    launch.master_addr = master_address(names, *world_size);
    launch.master_port = uint16_t(number("MASTER_PORT", 1, 65535).value_or(default_port()));
    const char* agent = text("TORCHELASTIC_USE_AGENT_STORE");
    launch.store_is_served = agent && agent == std::string("True");
    launch.launcher = names.launcher;
    return launch;
  }
  return std::nullopt;
}

}  // namespace tarn::inline v1::distributed
