// The demo's step on one and on two ranks gives the losses and weights of one process with the joined batch.
#include <tarn/distributed/data_parallel.h>
#include <tarn/tests/distributed/ranks.h>
#include <tarn/tests/rooms/step.h>

namespace tarn {
namespace {

using namespace testing;
using nn::parallel::DistributedDataParallel;
using Group = std::shared_ptr<distributed::ProcessGroup>;

enum class Norms { Training, Frozen };  // a share's moments would not be the joined batch's

struct RankedStep : DemoStep {
  RankedStep(ScalarType dtype, Norms norms) : DemoStep(kCPU, dtype) {
    if (norms == Norms::Training) return;
    for (const auto& module : net->modules())
      if (module->as<nn::BatchNorm2dImpl>()) module->eval();
  }
  void take_share(int rank, int size) {
    const int64_t share = images.size(0) / size;
    images = images.narrow(0, rank * share, share);
    targets = targets.narrow(0, rank * share, share);
  }
};

void compare(int rank, const Group& group, ScalarType dtype, int steps, double tolerance) {
  const int ranks = group->getSize();
  const Norms norms = ranks == 1 ? Norms::Training : Norms::Frozen;
  Trained alone = RankedStep(dtype, norms).run(steps);

  RankedStep demo(dtype, norms);
  demo.take_share(rank, ranks);
  DistributedDataParallel ddp(
      demo.net, nn::parallel::DistributedDataParallelOptions().process_group(group).bucket_cap_mb(0.25));
  CHECK(ddp->bucket_count() > 1);
  const int64_t before = group->counters().bytes_all_reduced;
  Trained shared = demo.run(steps, [&] {
    Tensor loss = demo.step([&](const Tensor& x) { return ddp->forward(x); }).detach();
    group->allreduce(loss, distributed::ReduceOp::AVG)->wait();
    return loss;
  });

  CHECK(difference(shared, alone, tolerance) == "");
  CHECK(shared.losses.back() < shared.losses.front());
  int64_t numbers = 1;  // the loss
  for (const Tensor& p : demo.net->parameters()) numbers += p.numel();
  CHECK(group->counters().bytes_all_reduced - before ==
        steps * numbers * int64_t(demo.images.element_size()));
  for (const auto& [name, value] : shared.state) {
    INFO(name);
    check_same_on_all(*group, value);
  }
}

RANKS_TEST_CASE(1, "the demo's step on one rank is that of no rank to the bit", "[rooms]") {
  compare(rank, group, kFloat, 5, 0);
  compare(rank, group, kDouble, 20, 0);
}

RANKS_TEST_CASE(2, "the demo's step on two ranks equals that of one process", "[rooms]") {
  compare(rank, group, kFloat, 5, 1e-4);
  compare(rank, group, kDouble, 20, 1e-10);
}

}  // namespace
}  // namespace tarn
