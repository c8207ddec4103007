#include <tarn/distributed/distributed.h>

#include <cstdlib>
#include <mutex>

#include <tarn/core/cuda.h>
#include <tarn/distributed/environment.h>
#include <tarn/distributed/nccl.h>

namespace tarn::inline v1::distributed {

namespace {

struct Default {
  std::mutex mutex;
  std::shared_ptr<ProcessGroup> group;
};
// Never destroyed: a group's threads may run until the process ends.
Default& defaults() {
  static auto* only = new Default;
  return *only;
}

// "tcp://host:port" into the launch.
void read_init_method(const std::string& method, Launch& launch) {
  constexpr const char* kScheme = "tcp://";
  size_t colon = method.rfind(':');
  bool good = method.rfind(kScheme, 0) == 0 && colon != std::string::npos && colon > 6;
  char* end = nullptr;
  unsigned long port = good ? std::strtoul(method.c_str() + colon + 1, &end, 10) : 0;
  check(good && *end == 0 && port > 0 && port < 65536,
        "init_process_group: init_method must be tcp://host:port, got '", method, "'");
  launch.master_addr = method.substr(6, colon - 6);
  launch.master_port = uint16_t(port);
  launch.store_is_served = false;
}

Launch who_we_are(const InitOptions& options) {
  Launch launch;
  if (options.rank < 0 || options.world_size < 0 || options.init_method.empty()) {
    auto found = launch_from_environment();
    check(found.has_value(),
          "init_process_group: RANK and WORLD_SIZE are not set; start the program with tarn run, torchrun, "
          "mpirun or srun, or give rank, world_size and init_method");
    launch = *found;
  }
  if (options.rank >= 0) launch.rank = options.rank;
  if (options.world_size >= 0) launch.world_size = options.world_size;
  if (!options.init_method.empty()) read_init_method(options.init_method, launch);
  check(launch.world_size > 0 && launch.rank < launch.world_size, "init_process_group: rank is ", launch.rank,
        ", but world_size is ", launch.world_size);
  return launch;
}

// A host's ranks share out its GPUs; this rank's becomes the current one.
std::shared_ptr<ProcessGroup> nccl_group(std::shared_ptr<Store> store, const Launch& launch,
                                         std::chrono::milliseconds timeout) {
  check(cuda::is_available(),
        "init_process_group: nccl needs a GPU: ", tarn::detail::cuda_unavailable_reason(),
        "; use gloo for tensors on the CPU");
  int device = launch.local_rank % cuda::device_count();
  cuda::set_device(DeviceIndex(device));
  return make_nccl_group(std::move(store), launch.rank, launch.world_size,
                         {.timeout = timeout, .device = device});
}

std::shared_ptr<ProcessGroup> or_default(const std::shared_ptr<ProcessGroup>& group) {
  return group ? group : default_group();
}

}  // namespace

void init_process_group(const std::string& backend, std::chrono::milliseconds timeout,
                        const InitOptions& options) {
  check(backend == "gloo" || backend == "nccl", "init_process_group: backend must be gloo or nccl, got '",
        backend, "'");
  check(timeout.count() > 0, "init_process_group: timeout must be positive, got ", int64_t(timeout.count()),
        " ms");
  check(!is_initialized(),
        "init_process_group: there is a default group already; call destroy_process_group() first");
  if (backend == "gloo")
    check(is_gloo_available(), "init_process_group: this build of Tarn has no Gloo; install it (on Debian ",
          "libgloo-dev) and build again");
  else
    check(is_nccl_available(),
          "init_process_group: this build of Tarn has no NCCL; build it where the CUDA toolkit ",
          "and nccl.h are found");
  Launch launch = who_we_are(options);
  auto store = std::make_shared<TCPStore>(
      launch.master_addr, TCPStoreOptions{.port = launch.master_port,
                                          .is_server = launch.rank == 0 && !launch.store_is_served,
                                          .timeout = timeout});
  // A launcher that starts ranks again keeps its store; what an earlier attempt wrote is not ours.
  const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  auto ours = std::make_shared<PrefixStore>(str("tarn/", attempt ? attempt : "0"), store);
  auto group = backend == "gloo" ? make_gloo_group(ours, launch.rank, launch.world_size,
                                                   {.timeout = timeout, .address = store->local_host()})
                                 : nccl_group(ours, launch, timeout);
  std::lock_guard lock(defaults().mutex);
  defaults().group = std::move(group);
}

void destroy_process_group() {
  std::shared_ptr<ProcessGroup> group;  // ends after the lock is given back
  std::lock_guard lock(defaults().mutex);
  check(defaults().group != nullptr, "destroy_process_group: there is no default group");
  std::swap(group, defaults().group);
}

bool is_available() { return is_gloo_available() || is_nccl_available(); }

bool is_initialized() {
  std::lock_guard lock(defaults().mutex);
  return defaults().group != nullptr;
}

bool is_launched() { return launch_from_environment().has_value(); }

std::shared_ptr<ProcessGroup> default_group() {
  std::lock_guard lock(defaults().mutex);
  check(defaults().group != nullptr,
        "distributed: there is no default group; call init_process_group() first");
  return defaults().group;
}

int get_rank() { return is_initialized() ? default_group()->getRank() : 0; }
int get_world_size() { return is_initialized() ? default_group()->getSize() : 1; }
int get_local_rank() {
  auto launch = launch_from_environment();
  return launch ? launch->local_rank : 0;
}

void all_reduce(const Tensor& tensor, ReduceOp op, const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->allreduce(tensor, op)->wait();
}
void broadcast(const Tensor& tensor, int src, const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->broadcast(tensor, src)->wait();
}
void reduce(const Tensor& tensor, int dst, ReduceOp op, const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->reduce(tensor, dst, op)->wait();
}
void all_gather(const std::vector<Tensor>& outputs, const Tensor& input,
                const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->allgather(outputs, input)->wait();
}
void gather(const Tensor& input, const std::vector<Tensor>& outputs, int dst,
            const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->gather(outputs, input, dst)->wait();
}
void scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src,
             const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->scatter(output, inputs, src)->wait();
}
void reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                    const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->reduce_scatter(output, inputs, op)->wait();
}
void all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->alltoall(outputs, inputs)->wait();
}
void barrier(const std::shared_ptr<ProcessGroup>& group) { or_default(group)->barrier()->wait(); }
void send(const Tensor& tensor, int dst, int tag, const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->send(tensor, dst, tag)->wait();
}
void recv(const Tensor& tensor, int src, int tag, const std::shared_ptr<ProcessGroup>& group) {
  or_default(group)->recv(tensor, src, tag)->wait();
}

}  // namespace tarn::inline v1::distributed
