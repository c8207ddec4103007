// bench_ranks WHAT STEPS: the median and best seconds of a step, as rank 0 sees them. WHAT is `alone` (a
// ResNet-18 step on one rank), `apart` (the same on every rank, each for itself), `ddp` (gradients averaged)
// or `all_reduce` (26 MB). peer.py is the same in PyTorch; run.py starts both.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tarn/distributed/data_parallel.h>
#include <tarn/distributed/distributed.h>
#include <tarn/tarn.h>

namespace distributed = tarn::distributed;
namespace nn = tarn::nn;
using tarn::Tensor;

namespace {

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", conv(in, out, 3, stride))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2", conv(out, out, 3, 1))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))),
        shortcut(register_module("shortcut", nn::Sequential())) {
    if (in == out && stride == 1) return;
    shortcut->push_back(conv(in, out, 1, stride));
    shortcut->push_back(nn::BatchNorm2d(out));
  }
  Tensor forward(const Tensor& x) {
    Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (shortcut->is_empty() ? x : shortcut->forward(x)));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential shortcut;
};
TARN_MODULE(Block);

struct ResNet18Impl : nn::Module {
  ResNet18Impl()
      : stem(register_module("stem", conv(3, 64, 7, 2))),
        bn(register_module("bn", nn::BatchNorm2d(64))),
        layers(register_module(
            "layers",
            nn::Sequential(Block(64, 64, 1), Block(64, 64, 1), Block(64, 128, 2), Block(128, 128, 1),
                           Block(128, 256, 2), Block(256, 256, 1), Block(256, 512, 2), Block(512, 512, 1)))),
        fc(register_module("fc", nn::Linear(512, 1000))) {}
  Tensor forward(const Tensor& images) {
    Tensor x = relu(bn(stem(images)));
    x = max_pool2d(x, 3, 2, 1);
    return fc(layers->forward(x).mean({2, 3}));
  }
  nn::Conv2d stem;
  nn::BatchNorm2d bn;
  nn::Sequential layers;
  nn::Linear fc;
};
TARN_MODULE(ResNet18);

template <class Step>
void time_steps(int count, Step step) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarmUp = 3;
  std::vector<double> times;
  for (int i = -kWarmUp; i < count; ++i) {
    auto start = Clock::now();
    step();
    if (i >= 0) times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  if (distributed::get_rank() == 0) std::printf("%.6f %.6f\n", times[times.size() / 2], times[0]);
}

template <class Forward>
void time_training(ResNet18& net, int count, const Forward& forward) {
  tarn::optim::SGD optimizer(net->parameters(), tarn::optim::SGDOptions(0.1).momentum(0.9));
  Tensor images = tarn::randn({8, 3, 112, 112}), labels = tarn::randint(1000, {8}, tarn::kLong);
  time_steps(count, [&] {
    optimizer.zero_grad();
    nn::functional::cross_entropy(forward(images), labels).backward();
    optimizer.step();
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_ranks alone|apart|ddp|all_reduce STEPS\n");
    return 2;
  }
  const std::string what = argv[1];
  const int steps = std::atoi(argv[2]);
  tarn::set_num_threads(1);
  if (what != "alone") distributed::init_process_group("gloo");
  if (what == "alone" || what == "apart") {
    ResNet18 net;
    time_training(net, steps, [&](const Tensor& x) { return net->forward(x); });
  } else if (what == "ddp") {
    ResNet18 net;
    nn::parallel::DistributedDataParallel ddp(net);
    time_training(net, steps, [&](const Tensor& x) { return ddp->forward(x); });
  } else {
    Tensor values = tarn::ones({6'500'000});
    time_steps(steps, [&] { distributed::all_reduce(values); });
  }
  if (what == "alone") return 0;
  distributed::barrier();  // nobody is done while another is still timed
  distributed::destroy_process_group();
  return 0;
}
