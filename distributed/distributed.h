// Data-parallel training over processes, with the names of torch.distributed.
//
//   distributed::init_process_group("gloo");          // torchrun, tarn run, mpirun or srun said who we are
//   auto net = nn::parallel::DistributedDataParallel(Net());
//   ...
//   distributed::destroy_process_group();
#pragma once

#include <tarn/distributed/gloo.h>
#include <tarn/distributed/process_group.h>

namespace tarn::inline v1::distributed {

struct InitOptions {
  // "tcp://host:port"; empty: MASTER_ADDR and MASTER_PORT of the environment.
  std::string init_method = {};
  // Negative: what the environment says.
  int world_size = -1, rank = -1;
};

// Makes the default group of all ranks; waits until they have come. backend: "gloo" for tensors on the CPU,
// "nccl" for GPUs. `timeout` is for this call and for each operation of the group. An Error if it was called
// before, no launcher started this process, the port is in use, or a rank does not come.
TARN_API void init_process_group(const std::string& backend = "gloo",
                                 std::chrono::milliseconds timeout = kDefaultTimeout,
                                 const InitOptions& options = {});
// Waits for what is under way and leaves the group.
TARN_API void destroy_process_group();

// Whether init_process_group("gloo") or ("nccl") can work in this build.
TARN_API bool is_available();
TARN_API bool is_initialized();
// Whether a launcher started this process as one of several ranks, as RANK and its like say.
TARN_API bool is_launched();

// An Error before init_process_group().
TARN_API std::shared_ptr<ProcessGroup> default_group();
// Of the default group; 0 and 1 where there is none.
TARN_API int get_rank();
TARN_API int get_world_size();
// Which GPU of this host is this rank's: LOCAL_RANK and its like, 0 without them.
TARN_API int get_local_rank();

// The group's operations, waited for. A group that is not given is the default one.
TARN_API void all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM,
                         const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void broadcast(const Tensor& tensor, int src = 0,
                        const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void reduce(const Tensor& tensor, int dst = 0, ReduceOp op = ReduceOp::SUM,
                     const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void all_gather(const std::vector<Tensor>& outputs, const Tensor& input,
                         const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void gather(const Tensor& input, const std::vector<Tensor>& outputs, int dst = 0,
                     const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src = 0,
                      const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs,
                             ReduceOp op = ReduceOp::SUM,
                             const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void barrier(const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void send(const Tensor& tensor, int dst, int tag = 0,
                   const std::shared_ptr<ProcessGroup>& group = nullptr);
TARN_API void recv(const Tensor& tensor, int src, int tag = 0,
                   const std::shared_ptr<ProcessGroup>& group = nullptr);

}  // namespace tarn::inline v1::distributed
