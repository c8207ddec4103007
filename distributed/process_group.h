// ProcessGroup: ranks that compute together, and the operations in which all of them take part. Every rank
// calls the same operations in the same order; each returns at once, and its Work says when it is done.
//
//   auto group = distributed::default_group();
//   auto work = group->allreduce(gradient, ReduceOp::AVG);
//   work->wait();
//
// The group holds on to the tensors until then; leave them alone meanwhile. Any strides will do. Operations
// are checked between the ranks: where op, dtype, sizes, root or order differ, both sides are named in the
// Error, and the group goes on working. After a rank was lost, every further operation is an Error.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::distributed {

// AVG is the sum divided by the number of ranks; floating types only. The bitwise ones take integers.
enum class ReduceOp : uint8_t { SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR };

// Where no other time is given: the group's timeout.
inline constexpr std::chrono::milliseconds kUnsetTimeout{-1};
inline constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(30);

class TARN_API Work {
 public:
  virtual ~Work();
  virtual bool isCompleted() = 0;
  // Completed without error.
  virtual bool isSuccess() = 0;
  // Throws what went wrong. With a timeout: an Error if it is not done by then; it goes on all the same.
  // On a GPU the current stream waits, not the host.
  virtual bool wait(std::chrono::milliseconds timeout = kUnsetTimeout) = 0;
};
using WorkPtr = std::shared_ptr<Work>;

namespace detail {
struct Collective;
}

class TARN_API ProcessGroup {
 public:
  struct Counters {
    int64_t all_reduces = 0;
    int64_t bytes_all_reduced = 0;
    int64_t bytes_shared = 0;  // of these, those that went through shared memory
  };

  ProcessGroup(int rank, int size, std::chrono::milliseconds timeout);
  virtual ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int getRank() const { return rank_; }
  int getSize() const { return size_; }
  virtual std::string getBackendName() const = 0;
  // Where the tensors of this group live.
  virtual DeviceType device_type() const = 0;
  std::chrono::milliseconds timeout() const { return timeout_; }
  virtual Counters counters() const { return {}; }

  // Every rank's `tensor` becomes the reduction over all ranks', the same bits everywhere.
  WorkPtr allreduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM);
  // ... a name that errors show for it: "gradients 1 of 3".
  WorkPtr allreduce(const Tensor& tensor, ReduceOp op, const std::string& label);
  // ... of what lies in `parts`, dense tensors whose elements one after the other are as many as `tensor`'s;
  // it is only room for them. For groups of tensors on the CPU.
  WorkPtr allreduce(const Tensor& tensor, ReduceOp op, const std::string& label,
                    const std::vector<Tensor>& parts);
  // `tensor` of rank `root` goes to every other's.
  WorkPtr broadcast(const Tensor& tensor, int root = 0);
  // As allreduce, but only `root` has the result; the others keep what they have.
  WorkPtr reduce(const Tensor& tensor, int root = 0, ReduceOp op = ReduceOp::SUM);
  // outputs[r] becomes rank r's input, on every rank or on `root` only (where the others give no outputs).
  WorkPtr allgather(const std::vector<Tensor>& outputs, const Tensor& input);
  WorkPtr gather(const std::vector<Tensor>& outputs, const Tensor& input, int root = 0);
  // Rank r's output becomes inputs[r] of `root`; the others give no inputs.
  WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int root = 0);
  // Rank r's output becomes the reduction of every rank's inputs[r].
  WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs,
                         ReduceOp op = ReduceOp::SUM);
  // outputs[s] of rank r becomes inputs[r] of rank s.
  WorkPtr alltoall(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs);
  // Done when every rank has come here.
  WorkPtr barrier();
  // From one rank to another; messages of one tag arrive in order.
  WorkPtr send(const Tensor& tensor, int to, int tag = 0);
  WorkPtr recv(const Tensor& tensor, int from, int tag = 0);

 protected:
  // Starts a collective whose arguments have been checked.
  virtual WorkPtr start(detail::Collective collective) = 0;

 private:
  WorkPtr run(detail::Collective collective);

  int rank_, size_;
  std::chrono::milliseconds timeout_;
};

}  // namespace tarn::inline v1::distributed
