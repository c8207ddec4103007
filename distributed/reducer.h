// Reducer: averages the gradients of a module's parameters over the ranks while backward still computes.
//
// Parameters are grouped into buckets, in the order in which their gradients come. When the last gradient of
// a bucket is there, its all_reduce starts on the group's thread; at the end of backward the results are
// waited for and go into .grad. Buckets start in one order on every rank, whatever order gradients come in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tarn/core/arg.h>
#include <tarn/distributed/process_group.h>

namespace tarn::inline v1::nn::parallel {

struct DistributedDataParallelOptions {
  // The ranks; the default group unless given.
  TARN_ARG(std::shared_ptr<distributed::ProcessGroup>, process_group);
  // Gradients travel in pieces of this many MiB, the first piece in one of 1 MiB, so that it leaves early.
  TARN_ARG(double, bucket_cap_mb) = 25;
  // Before each forward in training mode, rank 0's buffers (running means and the like) go to all.
  TARN_ARG(bool, broadcast_buffers) = true;
  // Looks at the graph of each forward's outputs for parameters that get no gradient this time. Without it
  // every parameter must get one in every backward.
  TARN_ARG(bool, find_unused_parameters) = false;
  // .grad is a part of the bucket: no copy back, but what you keep of it changes in the next backward.
  TARN_ARG(bool, gradient_as_bucket_view) = false;
};

}  // namespace tarn::inline v1::nn::parallel

namespace tarn::inline v1::distributed::detail {

using nn::parallel::DistributedDataParallelOptions;

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Reducer {
 public:
  // `parameters`: those that require grad, in the module's order.
  Reducer(std::vector<NamedTensor> parameters, const DistributedDataParallelOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // With find_unused_parameters: what the next backward will start from.
  void look_for_unused(const std::vector<Tensor>& outputs);
  // Whether backward reduces, or only accumulates.
  void set_enabled(bool on) { enabled_ = on; }
  bool enabled() const { return enabled_; }
  size_t bucket_count() const;

 private:
  struct Parameter;
  struct Bucket;

  void make_buckets(const std::vector<size_t>& order);
  void close_bucket(Bucket bucket);
  void begin_backward();
  void gradient_ready(size_t index);
  void put_into_bucket(size_t index);
  void launch_ready_buckets();
  void finish_backward();
  void check_all_ready();
  void take_results();
  std::vector<bool> used_somewhere();
  void follow_arrival_order();

  const DistributedDataParallelOptions options_;
  distributed::ProcessGroup& group_;
  // Gradients stay where they are while they are reduced: the copies into a bucket and back take longer on a
  // host than its shared memory does.
  const bool reduces_in_place_;
  std::vector<Parameter> parameters_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> arrival_;  // of the backward under way
  size_t launched_ = 0;          // buckets
  bool enabled_ = true, running_ = false, order_is_learnt_ = false;
};

// Makes the tensors of all ranks equal to rank 0's, in one message. Checks first that the ranks have tensors
// of the same names, dtypes and sizes; the Error names both sides. `what` says what they are: "parameters".
void broadcast_all(distributed::ProcessGroup& group, const std::vector<NamedTensor>& tensors,
                   const char* what, bool check_names);

}  // namespace tarn::inline v1::distributed::detail
