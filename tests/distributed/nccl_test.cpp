// The NCCL group with two emulated devices: the ranks are two threads of one process that has them.
#include <thread>

#include <tarn/core/cuda.h>
#include <tarn/distributed/data_parallel.h>
#include <tarn/distributed/nccl.h>
#include <tarn/tarn.h>
#include <tarn/tests/distributed/ranks.h>

namespace tarn {
namespace {

using namespace testing;
using distributed::ProcessGroup;
using distributed::ReduceOp;
using Group = std::shared_ptr<ProcessGroup>;

// In a process of its own with the emulated device: f(rank, group) on two threads; gives their errors. Checks
// are made afterwards, on the main thread.
template <class F>
void on_two_devices(F f) {
  if (absent_nccl() || absent_emulation()) return;
#if defined(__SANITIZE_ADDRESS__)
  WARN("two threads on emulated devices have not been tried under AddressSanitizer yet");
  SUCCEED();
  return;
#endif
  if (!is_rank()) return Ranks(1, {{"TARN_CUDA", "emulated"}}).expect_success();
  INFO(detail::cuda_unavailable_reason());
  REQUIRE(distributed::is_nccl_available());
  REQUIRE(cuda::is_available());
  distributed::TCPStore server("127.0.0.1", {.port = 0, .is_server = true});
  std::string errors[2];
  auto run = [&](int rank) {
    errors[rank] = error_of([&] {
      auto store = std::make_shared<distributed::TCPStore>(
          "127.0.0.1", distributed::TCPStoreOptions{.port = server.port()});
      cuda::set_device(DeviceIndex(rank));
      auto group =
          distributed::make_nccl_group(store, rank, 2, {.timeout = std::chrono::seconds(30), .device = rank});
      f(rank, group);
    });
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CHECK(errors[0] == "no error");
  CHECK(errors[1] == "no error");
}

Tensor on(int rank, const Tensor& t) { return t.to(Device(kCUDA, DeviceIndex(rank))); }

void expect_same(const Tensor& got, const Tensor& want) {
  std::string difference = bit_difference(got.cpu(), want);
  check(difference.empty(), "expected: ", difference);
}

TEST_CASE("NCCL moves and reduces between two emulated devices") {
  on_two_devices([](int rank, const Group& group) {
    for (ScalarType dtype : {kFloat, kLong}) {
      Tensor mine = full({3, 4}, rank + 1.0, dtype), three = full({3, 4}, 3.0, dtype);
      Tensor t = on(rank, mine);
      group->allreduce(t)->wait();
      expect_same(t, three);
      Tensor strided = on(rank, mine).t();
      group->allreduce(strided)->wait();
      expect_same(strided, three.t().contiguous());
      group->broadcast(t, 1)->wait();

      std::vector<Tensor> all = {on(rank, zeros({3, 4}, dtype)), on(rank, zeros({3, 4}, dtype))};
      group->allgather(all, on(rank, mine))->wait();
      expect_same(all[1], full({3, 4}, 2.0, dtype));
      Tensor part = on(rank, zeros({3, 4}, dtype));
      group->reduce_scatter(part, all)->wait();
      expect_same(part, full({3, 4}, 2.0 * (rank + 1), dtype));
      group->alltoall(all, {on(rank, mine), on(rank, mine + 10)})->wait();
      expect_same(all[1], full({3, 4}, 2.0 + 10 * rank, dtype));
    }
    Tensor average = on(rank, full({5}, rank * 3.0));
    group->allreduce(average, ReduceOp::AVG)->wait();
    expect_same(average, full({5}, 1.5));
    Tensor message = on(rank, full({2}, 7.0 + rank));
    (rank == 0 ? group->send(message, 1) : group->recv(message, 0))->wait();
    expect_same(message, full({2}, 7.0));
    group->barrier()->wait();
    check(group->counters().all_reduces == 5, "counted ", group->counters().all_reduces);
    check(error_of([&] { group->allreduce(ones({1})); }) ==
              "all_reduce: nccl takes tensors on cuda, got one on cpu",
          "a CPU tensor was taken");
  });
}

struct MlpImpl : nn::Module {
  MlpImpl() : a(register_module("a", nn::Linear(6, 16))), b(register_module("b", nn::Linear(16, 3))) {}
  Tensor forward(const Tensor& x) { return b(relu(a(x))); }
  nn::Linear a, b;
};
TARN_MODULE(Mlp);

TEST_CASE("two emulated devices train like one CPU with the joined batch", "[rooms]") {
  manual_seed(5);
  Mlp nets[3];
  Tensor images = formula_tensor({8, 6}), labels = zeros({8}, kLong);
  for (int64_t i = 0; i < 8; ++i) labels.data_ptr<int64_t>()[i] = i % 3;
  for (int i : {1, 2}) nets[i]->load_state_dict(nets[0]->state_dict());

  optim::SGD optimizer(nets[2]->parameters(), optim::SGDOptions(0.1));
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(nets[2]->forward(images), labels).backward();
    optimizer.step();
  }
  on_two_devices([&](int rank, const Group& group) {
    Device device(kCUDA, DeviceIndex(rank));
    Mlp net = nets[rank];
    net->to(device);
    nn::parallel::DistributedDataParallel ddp(
        net, nn::parallel::DistributedDataParallelOptions().process_group(group));
    optim::SGD own(net->parameters(), optim::SGDOptions(0.1));
    Tensor x = on(rank, images.narrow(0, rank * 4, 4)), y = on(rank, labels.narrow(0, rank * 4, 4));
    for (int step = 0; step < 5; ++step) {
      own.zero_grad();
      nn::functional::cross_entropy(ddp->forward(x), y).backward();
      own.step();
    }
    for (const auto& item : nets[2]->named_parameters()) {
      std::string difference =
          testing::difference(net->get_parameter(item.key()).cpu(), item.value(), {1e-4, 1e-6});
      check(difference.empty(), item.key(), ": ", difference);
    }
  });
}

}  // namespace
}  // namespace tarn
