// Plan: a segment ready to run. It owns a tensor for every value that an eager kernel sees; their storages
// point, for the time of one run, to the inputs' memory, to fresh memory for what outlives the segment, or
// into one arena, where storages share places if their lives do not overlap. Steps run in order on the
// calling thread.
#pragma once

#include <memory>
#include <vector>

#include <tarn/compile/graph.h>

namespace tarn::inline v1::detail {

// Memory that the plans of one compiled function use in turn; per device, as large as the largest needs.
class Arena {
 public:
  // The address of at least `bytes` bytes. Earlier addresses become invalid.
  void* reserve(Device device, int64_t bytes);
  void release() { memory_.clear(); }

 private:
  std::vector<Tensor> memory_;
};

class Plan {
 public:
  explicit Plan(Graph graph);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  // storages[s]: where external and escaping storages lie (their origin, see GraphValue::offset); null
  // elsewhere. `scalars`: all of the segment's. Throws what a kernel throws; failed_step() then says where.
  void run(const std::vector<void*>& storages, const Scalar* scalars, Arena& arena);

  const Graph& graph() const { return graph_; }
  int64_t arena_bytes() const;
  int kernels() const { return kernels_; }  // steps that are eager kernels
  int groups() const { return groups_; }    // steps that are fused groups
  // After run() threw: whether storage s had its last write before.
  bool is_complete(int s) const { return last_write_[size_t(s)] < next_step_; }

 private:
  struct Step;
  void place_storages();
  void make_tensors();
  void run_step(const Step& step, const Scalar* scalars);
  void run_group(const GraphNode& node, const Scalar* scalars);

  Graph graph_;
  std::vector<Step> steps_;
  std::vector<StorageImpl*> storages_;  // one reference each
  std::vector<Tensor> tensors_;         // by value; undefined where no eager kernel sees it
  struct Region {
    Device device;
    int64_t bytes = 0;
  };
  std::vector<Region> regions_;        // of the arena, one for each device
  std::vector<int> region_;            // by storage; -1: not in the arena
  std::vector<int64_t> arena_offset_;  // by storage
  std::vector<int> last_write_;        // by storage: the last step that writes it, -1: none
  std::vector<void*> operands_;        // of the fused group that runs
  int next_step_ = 0;
  int kernels_ = 0, groups_ = 0;
};

}  // namespace tarn::inline v1::detail
