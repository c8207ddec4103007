// DistributedDataParallel against one process that sees the joined batch.
#include <cstring>
#include <sstream>

#include <tarn/autograd/engine.h>
#include <tarn/distributed/data_parallel.h>
#include <tarn/tarn.h>
#include <tarn/tests/distributed/ranks.h>

namespace tarn {
namespace {

using namespace testing;
using nn::parallel::DistributedDataParallel;
using Options = nn::parallel::DistributedDataParallelOptions;
using Group = std::shared_ptr<distributed::ProcessGroup>;

// Convolutions, frozen batch norm, residual, linear: the demo's kinds of layer.
struct NetImpl : nn::Module {
  explicit NetImpl(int64_t hidden = 16)
      : conv(register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 8, 3).padding(1)))),
        bn(register_module("bn", nn::BatchNorm2d(8))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(8, 8, 3).padding(1).bias(false)))),
        fc1(register_module("fc1", nn::Linear(8 * 4 * 4, hidden))),
        fc2(register_module("fc2", nn::Linear(hidden, 5))) {}
  Tensor forward(const Tensor& x) {
    Tensor y = relu(bn(conv(x)));
    y = relu(y + conv2(y));
    return fc2(relu(fc1(y.flatten(1))));
  }
  nn::Conv2d conv;
  nn::BatchNorm2d bn;
  nn::Conv2d conv2;
  nn::Linear fc1, fc2;
};
TARN_MODULE(Net);

// The same on every rank; with batch norm frozen.
Net make_net(ScalarType dtype = kDouble) {
  manual_seed(3);
  Net net;
  net->to(dtype);
  net->bn->eval();
  return net;
}

struct Batch {
  Tensor images, labels;
};
// Examples [begin, end) of a step's joined batch of 8.
Batch batch(int step, int64_t begin, int64_t end, ScalarType dtype = kDouble) {
  Tensor images = formula_tensor({8, 2, 4, 4}, dtype) * (1 + 0.1 * step);
  Tensor labels = zeros({8}, kLong);
  for (int64_t i = 0; i < 8; ++i) labels.data_ptr<int64_t>()[i] = (i * 3 + step) % 5;
  return {images.narrow(0, begin, end - begin), labels.narrow(0, begin, end - begin)};
}

optim::SGD make_optimizer(const Net& net) {
  return optim::SGD(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
}

// What a single process makes of the joined batches.
Net trained_alone(int steps, ScalarType dtype = kDouble) {
  Net net = make_net(dtype);
  auto optimizer = make_optimizer(net);
  for (int step = 0; step < steps; ++step) {
    Batch b = batch(step, 0, 8, dtype);
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(b.images), b.labels).backward();
    optimizer.step();
  }
  return net;
}

// The weights of every rank, to the bit.
void check_same_on_all(const Group& group, const Net& net) {
  for (const auto& item : net->state_dict()) {
    INFO(item.key());
    testing::check_same_on_all(*group, item.value());
  }
}

void check_close_weights(const Net& net, const Net& want, Tolerance tolerance) {
  nn::StateDict state = want->state_dict();
  for (const auto& item : net->named_parameters()) {
    INFO(item.key());
    CHECK_CLOSE(item.value(), state[item.key()], tolerance);
  }
}

// Returns how many bytes were reduced.
int64_t train(int rank, const Group& group, Net& net, Options options, int steps,
              ScalarType dtype = kDouble) {
  DistributedDataParallel ddp(net, options.process_group(group));
  const int64_t before = group->counters().bytes_all_reduced;
  auto optimizer = make_optimizer(net);
  const int64_t share = 8 / group->getSize();
  for (int step = 0; step < steps; ++step) {
    Batch b = batch(step, rank * share, (rank + 1) * share, dtype);
    optimizer.zero_grad();
    nn::functional::cross_entropy(ddp->forward(b.images), b.labels).backward();
    optimizer.step();
  }
  return group->counters().bytes_all_reduced - before;
}

RANKS_TEST_CASE(2, "two ranks train like one process with the joined batch", "[rooms]") {
  const int steps = 20;
  Net net = make_net();
  // Only rank 0's weights count.
  if (rank == 1) {
    NoGradGuard no_grad;
    for (Tensor& p : net->parameters()) p.mul_(2);
  }
  int64_t bytes = train(rank, group, net, Options().bucket_cap_mb(0.004), steps);
  check_same_on_all(group, net);
  check_close_weights(net, trained_alone(steps), {1e-10, 1e-12});

  int64_t parameters = 0;
  for (const Tensor& p : net->parameters()) parameters += p.numel();
  CHECK(bytes == steps * parameters * 8);
}

RANKS_TEST_CASE(2, "two ranks train like one process in float32", "[rooms]") {
  Net net = make_net(kFloat);
  train(rank, group, net, Options(), 5, kFloat);
  check_same_on_all(group, net);
  check_close_weights(net, trained_alone(5, kFloat), {1e-4, 1e-5});
}

RANKS_TEST_CASE(2, "gradients as views of buckets give the same weights") {
  Net net = make_net();
  train(rank, group, net, Options().gradient_as_bucket_view(true).bucket_cap_mb(0.004), 6);
  check_same_on_all(group, net);
  check_close_weights(net, trained_alone(6), {1e-10, 1e-12});
}

RANKS_TEST_CASE(4, "four ranks train like one process") {
  Net net = make_net();
  train(rank, group, net, Options(), 3);
  check_same_on_all(group, net);
  check_close_weights(net, trained_alone(3), {1e-10, 1e-12});
}

RANKS_TEST_CASE(2, "no_sync accumulates and the next backward averages the sums") {
  for (bool views : {false, true}) {
    Net net = make_net();
    DistributedDataParallel ddp(net, Options().process_group(group).gradient_as_bucket_view(views));
    auto optimizer = make_optimizer(net);
    int64_t before = group->counters().bytes_all_reduced;
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      {
        auto guard = ddp->no_sync();
        Batch b = batch(step, rank * 4, rank * 4 + 2);
        (nn::functional::cross_entropy(ddp->forward(b.images), b.labels) * 0.5).backward();
      }
      CHECK(group->counters().bytes_all_reduced == before);
      Batch b = batch(step, rank * 4 + 2, rank * 4 + 4);
      (nn::functional::cross_entropy(ddp->forward(b.images), b.labels) * 0.5).backward();
      CHECK(group->counters().bytes_all_reduced > before);
      before = group->counters().bytes_all_reduced;
      optimizer.step();
    }
    check_same_on_all(group, net);
    check_close_weights(net, trained_alone(2), {1e-10, 1e-12});
  }
}

// Two heads; which one is used is an argument.
struct HeadsImpl : nn::Module {
  HeadsImpl()
      : body(register_module("body", nn::Linear(4, 4))),
        left(register_module("left", nn::Linear(4, 1))),
        right(register_module("right", nn::Linear(4, 1))),
        never(register_module("never", nn::Linear(4, 1))) {}
  std::pair<Tensor, std::optional<Tensor>> forward(const Tensor& x, bool use_left) {
    Tensor y = body(x);
    return {use_left ? left(y) : right(y), std::nullopt};
  }
  nn::Linear body, left, right, never;
};
TARN_MODULE(Heads);

RANKS_TEST_CASE(2, "unused parameters are found; used on one rank is used") {
  manual_seed(1);
  Heads net;
  DistributedDataParallel ddp(net, Options().process_group(group).find_unused_parameters(true));
  Tensor x = full({2, 4}, rank + 1.0);
  for (int step = 0; step < 3; ++step) {
    net->zero_grad();
    ddp->forward(x, rank == 0).first.sum().backward();
    // d left.bias is 2 on rank 0 alone, so 1 on average; on rank 1 nothing came from its own backward.
    CHECK_SAME(net->left->bias.grad(), full({1}, 1.0));
    CHECK_SAME(net->right->bias.grad(), full({1}, 1.0));
    CHECK(net->body->weight.grad().defined());
    CHECK(!net->never->weight.grad().defined());
  }
}

RANKS_TEST_CASE(2, "without find_unused_parameters a parameter without gradient is named") {
  Heads net;
  DistributedDataParallel ddp(net, Options().process_group(group));
  std::string error = error_of([&] { ddp->forward(ones({2, 4}), true).first.sum().backward(); });
  CHECK(error ==
        "DistributedDataParallel: this backward gave no gradient to 4 of 8 parameters: right.weight, "
        "right.bias, "
        "never.weight, never.bias; set find_unused_parameters(true), or leave them out with "
        "requires_grad_(false)");
}

RANKS_TEST_CASE(2, "modules that differ between ranks are named") {
  Net net(rank == 0 ? 16 : 12);
  std::string error = error_of([&] { DistributedDataParallel ddp(net, Options().process_group(group)); });
  CHECK(error ==
        "DistributedDataParallel: ranks have different parameters: number 5 is fc1.weight Float [16, 128] on "
        "rank 0 "
        "and fc1.weight Float [12, 128] on rank 1");
}

RANKS_TEST_CASE(2, "rank 0's buffers go to all before each training forward") {
  Net net = make_net();
  net->train();
  DistributedDataParallel ddp(net, Options().process_group(group));
  ddp->train();
  Batch b = batch(rank, 0, 4);
  ddp->forward(b.images);
  Tensor mine = net->bn->running_mean.clone();
  ddp->forward(b.images);
  // Both went on from rank 0's first update, each with its own images: rank 1 differs from what it would have
  // alone.
  std::vector<Tensor> firsts = {zeros_like(mine), zeros_like(mine)};
  group->allgather(firsts, mine)->wait();
  CHECK(!firsts[0].equal(firsts[1]));
  Net alone = make_net();
  alone->train();
  for (int r : {0, rank}) alone->forward(batch(r, 0, 4).images);
  CHECK_SAME(net->bn->running_mean, alone->bn->running_mean);
  CHECK(net->bn->num_batches_tracked.item<int64_t>() == 2);

  // In evaluation nobody waits for anybody.
  ddp->eval();
  if (rank == 0) CHECK(ddp->forward(b.images).size(0) == 4);
}

RANKS_TEST_CASE(2, "the wrapper prints and names its state like PyTorch") {
  Net net = make_net();
  DistributedDataParallel ddp(net, Options().process_group(group));
  std::ostringstream text;
  text << ddp;
  CHECK(text.str().find("DistributedDataParallel(\n  (module): ") == 0);
  CHECK(ddp->state_dict().contains("module.conv.weight"));
  CHECK(ddp->module().get() == net.get());
  CHECK(ddp->bucket_count() == 1);
}

TEST_CASE("a wrapper without a group says what to call") {
  Net net = make_net();
  CHECK_ERROR(DistributedDataParallel(net),
              "distributed: there is no default group; call init_process_group() first");
}

TEST_CASE("callbacks of hooks run when the whole backward is through") {
  Tensor a = ones({2}).requires_grad_(), b = ones({2}).requires_grad_();
  std::string order;
  a.register_hook([&](const Tensor&) {
    tarn::detail::queue_callback([&] { order += str("end, ", a.grad().defined(), b.grad().defined()); });
    order += "hook ";
  });
  ((a * b).sum() * 2).backward();
  CHECK(order == "hook end, truetrue");
  CHECK_ERROR(tarn::detail::queue_callback([] {}),
              "queue_callback: no backward is running on this thread; call it from a hook");
}

}  // namespace
}  // namespace tarn
