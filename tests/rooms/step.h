// The training step of `./dev demo` (forward, loss, backward, SGD) on a fixed batch of 8, and what it leaves:
// the losses and every parameter and buffer, to be compared between the ways to run it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tarn/examples/resnet/resnet.h>
#include <tarn/tests/support.h>

namespace tarn::testing {

struct Trained {
  std::vector<double> losses;
  std::vector<std::pair<std::string, Tensor>> state;  // on the CPU
};

// The demo's network and optimizer with the same start each time.
struct DemoStep {
  ResNet net;
  optim::SGD optimizer;
  Device device;
  Tensor images, targets;

  DemoStep(Device device, ScalarType dtype)
      : net(make_net(device, dtype)),
        optimizer(net->parameters(), optim::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(5e-4)),
        device(device),
        images(formula_tensor({8, 1, 28, 28}, dtype).to(device)),
        targets(tensor_of({3, 1, 4, 1, 5, 9, 2, 6}, kLong).to(device)) {}

  static ResNet make_net(Device device, ScalarType dtype) {
    manual_seed(7);
    ResNet net;
    net->to(dtype);
    net->to(device);
    return net;
  }

  Tensor operator()() {
    return step([this](const Tensor& x) { return net->forward(x); });
  }
  // The same through a wrapper of the network.
  template <class Forward>
  Tensor step(const Forward& forward) {
    Tensor loss = nn::functional::cross_entropy(forward(images), targets);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss;
  }

  Trained run(int steps) {
    return run(steps, [this] { return (*this)(); });
  }
  // The same, with the step as `once` runs it.
  template <class F>
  Trained run(int steps, F once) {
    Trained result;
    for (int i = 0; i < steps; ++i) result.losses.push_back(once().template item<double>());
    for (const auto& item : net->state_dict()) result.state.emplace_back(item.key(), item.value().cpu());
    return result;
  }
};

// Empty if losses and weights agree within the tolerance (absolute and relative), else the first that does
// not.
inline std::string difference(const Trained& got, const Trained& want, double tolerance) {
  for (size_t i = 0; i < want.losses.size(); ++i)
    if (!close(got.losses.at(i), want.losses[i], {tolerance, tolerance}))
      return str("loss of step ", int64_t(i), ": got ", got.losses[i], ", expected ", want.losses[i]);
  for (size_t i = 0; i < want.state.size(); ++i) {
    std::string text = difference(got.state.at(i).second, want.state[i].second, {tolerance, tolerance});
    if (!text.empty()) return want.state[i].first + ": " + text;
  }
  return "";
}

}  // namespace tarn::testing
