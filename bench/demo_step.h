// One training step of the demo's network on a batch of 128 images.
#pragma once

#include <tarn/core/ops/random.h>
#include <tarn/examples/resnet/resnet.h>

namespace tarn::bench {

struct DemoStep {
  static constexpr int64_t kBatch = 128;

  ResNet net;
  optim::SGD optimizer{net->parameters(),
                       optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(5e-4)};
  Tensor images = randn({kBatch, 1, 28, 28});
  Tensor labels = randint(10, {kBatch}, kLong);

  void operator()() {
    Tensor loss = nn::functional::cross_entropy(net->forward(images), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
};

}  // namespace tarn::bench
