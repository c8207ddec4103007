// One training step of the demo's network on a batch of 128 images; demo_step.py is the same in PyTorch.
#include <tarn/bench/rows.h>
#include <tarn/core/ops/random.h>
#include <tarn/examples/resnet/resnet.h>
#include <tarn/optim/optim.h>

namespace tarn::bench {

namespace {

constexpr int64_t kBatch = 128;

struct DemoStep : Row::Work {
  ResNet net;
  optim::SGD optimizer{net->parameters(),
                       optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(5e-4)};
  Tensor images = randn({kBatch, 1, 28, 28});
  Tensor labels = randint(10, {kBatch}, kLong);

  void step() override {
    Tensor loss = nn::functional::cross_entropy(net->forward(images), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
};

}  // namespace

const Row demo_step = {"demo_step", [] { return static_cast<Row::Work*>(new DemoStep); }, kBatch, "images"};

}  // namespace tarn::bench
