// Training under autocast, and GradScaler, whose rules and defaults are torch.amp's.
#include <cmath>

#include <tarn/core/autocast.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/random.h>
#include <tarn/nn/nn.h>
#include <tarn/optim/optim.h>
#include <tarn/tests/support.h>

#include <tarn/examples/resnet/resnet.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// Losses of some steps on one batch, with and without autocast, from the same weights.
template <class Net>
std::vector<double> losses(bool low, Net make, const Tensor& x, const Tensor& y, int steps) {
  manual_seed(3);
  auto net = make();
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  std::vector<double> out;
  for (int step = 0; step < steps; ++step) {
    Tensor loss;
    {
      AutocastGuard autocast(kCPU, {}, low);
      Tensor scores = net->forward(x);
      CHECK(scores.dtype() == (low ? kBFloat16 : kFloat));
      loss = nn::functional::cross_entropy(scores, y);
      CHECK(loss.dtype() == kFloat);
    }
    optimizer.zero_grad();
    loss.backward();
    for (const Tensor& parameter : net->parameters()) {
      CHECK(parameter.dtype() == kFloat);
      CHECK(parameter.grad().dtype() == kFloat);
    }
    optimizer.step();
    out.push_back(loss.item<double>());
  }
  return out;
}

template <class Net>
void check_trains(Net make, const Tensor& x, const Tensor& y, int steps) {
  std::vector<double> exact = losses(false, make, x, y, steps), low = losses(true, make, x, y, steps);
  CHECK(exact.back() < 0.8 * exact.front());
  CHECK(low != exact);
  for (int i = 0; i < steps; ++i) {
    INFO("step " << i);
    CHECK(std::abs(low[i] - exact[i]) < 0.05 * exact[i] + 0.02);
  }
}

TEST_CASE("an MLP trains under autocast as in float, but for rounding") {
  auto make = [] { return nn::Sequential(nn::Linear(8, 32), nn::ReLU(), nn::Linear(32, 4)); };
  check_trains(make, formula_tensor({16, 8}),
               formula_tensor({16}, kLong, {.a = 1, .b = 0, .m = 4, .c = 0, .d = 1}), 20);
}

TEST_CASE("the demo's network trains under autocast as in float, but for rounding") {
  check_trains([] { return ResNet(4); }, formula_tensor({8, 1, 28, 28}),
               formula_tensor({8}, kLong, {.a = 1, .b = 0, .m = 4, .c = 0, .d = 1}), 4);
}

struct Scaled {
  Tensor w = tensor_of({1, 2}).requires_grad_();
  optim::SGD optimizer{std::vector<Tensor>{w}, optim::SGDOptions(0.5)};

  // One iteration whose loss has the gradient `slope` for both weights.
  void run(amp::GradScaler& scaler, double slope) {
    optimizer.zero_grad();
    scaler.scale((w * slope).sum()).backward();
    scaler.step(optimizer);
    scaler.update();
  }
};

TEST_CASE("a scaled step is the step without scaling") {
  amp::GradScaler scaler;
  CHECK(scaler.get_scale() == 65536);
  Scaled run;
  run.run(scaler, 2);
  CHECK_SAME(run.w.detach(), tensor_of({0, 1}));
  CHECK(scaler.get_scale() == 65536);
}

TEST_CASE("a step with an infinite or undefined gradient is skipped and halves the scale") {
  for (double bad : {double(INFINITY), double(NAN)}) {
    amp::GradScaler scaler;
    Scaled run;
    run.run(scaler, bad);
    CHECK_SAME(run.w.detach(), tensor_of({1, 2}));
    CHECK(scaler.get_scale() == 32768);
    run.run(scaler, 2);
    CHECK_SAME(run.w.detach(), tensor_of({0, 1}));
  }
  // Gradients that the scale itself makes overflow.
  amp::GradScaler scaler;
  Scaled run;
  run.run(scaler, 1e35);
  CHECK_SAME(run.w.detach(), tensor_of({1, 2}));
}

TEST_CASE("the scale grows after enough good steps in a row") {
  amp::GradScaler scaler({.init_scale = 8, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 2});
  Scaled run;
  run.run(scaler, 1);
  CHECK(scaler.get_scale() == 8);
  run.run(scaler, INFINITY);
  CHECK(scaler.get_scale() == 2);
  run.run(scaler, 1);
  CHECK(scaler.get_scale() == 2);
  run.run(scaler, 1);
  CHECK(scaler.get_scale() == 6);
  scaler.update(100);
  CHECK(scaler.get_scale() == 100);
}

TEST_CASE("unscale_ shows the true gradients before the step, which does not unscale again") {
  amp::GradScaler scaler({.init_scale = 4});
  Scaled run;
  scaler.scale(run.w.sum()).backward();
  CHECK_SAME(run.w.grad(), tensor_of({4, 4}));
  scaler.unscale_(run.optimizer);
  CHECK_SAME(run.w.grad(), tensor_of({1, 1}));
  scaler.step(run.optimizer);
  scaler.update();
  CHECK_SAME(run.w.detach(), tensor_of({0.5, 1.5}));
}

TEST_CASE("one bad optimizer backs the scale off, the others step") {
  amp::GradScaler scaler;
  Scaled good, bad;
  scaler.scale((good.w * 2).sum() + (bad.w * INFINITY).sum()).backward();
  scaler.step(good.optimizer);
  scaler.step(bad.optimizer);
  scaler.update();
  CHECK_SAME(good.w.detach(), tensor_of({0, 1}));
  CHECK_SAME(bad.w.detach(), tensor_of({1, 2}));
  CHECK(scaler.get_scale() == 32768);
}

TEST_CASE("GradScaler's state is saved and loaded under PyTorch's keys") {
  amp::GradScaler first({.init_scale = 16, .growth_interval = 3}), second;
  Scaled run;
  run.run(first, 1), run.run(first, 1);
  auto state = first.state_dict();
  CHECK(state.keys() == std::vector<std::string>{"scale", "growth_factor", "backoff_factor",
                                                 "growth_interval", "_growth_tracker"});
  second.load_state_dict(state);
  CHECK(second.get_scale() == 16);
  run.run(second, 1);
  CHECK(second.get_scale() == 32);

  amp::GradScaler off({.enabled = false});
  CHECK(off.state_dict().empty());
  CHECK_ERROR(second.load_state_dict(off.state_dict()),
              "GradScaler: the state dict is empty; was it saved by a disabled GradScaler?");
  CHECK(off.get_scale() == 1);
  Scaled plain;
  plain.run(off, 2);
  CHECK_SAME(plain.w.detach(), tensor_of({0, 1}));
}

TEST_CASE("a low loss is scaled in float, where the scale is finite") {
  amp::GradScaler scaler;
  Tensor scaled = scaler.scale(tensor_of({1}, kHalf));
  CHECK(scaled.dtype() == kFloat);
  CHECK(scaled.item<float>() == 65536);
}

TEST_CASE("calls of GradScaler out of order are refused") {
  amp::GradScaler scaler;
  Scaled run;
  CHECK_ERROR(scaler.update(), "GradScaler: update needs a step() or unscale_() before it");
  scaler.scale(run.w.sum()).backward();
  scaler.unscale_(run.optimizer);
  CHECK_ERROR(scaler.unscale_(run.optimizer),
              "GradScaler: unscale_ was called twice for an optimizer since the last update()");
  scaler.step(run.optimizer);
  CHECK_ERROR(scaler.step(run.optimizer),
              "GradScaler: step was called twice for an optimizer since the last update()");
  CHECK_ERROR(scaler.unscale_(run.optimizer),
              "GradScaler: unscale_ was called after step() for an optimizer since the last update()");
  scaler.update();
  CHECK_ERROR(scaler.update(-1), "GradScaler: a scale must be above 0, got -1");
  Tensor half = tensor_of({1}, kHalf).requires_grad_();
  optim::SGD other({half}, 0.1);
  half.set_grad(tensor_of({1}, kHalf));
  CHECK_ERROR(
      scaler.step(other),
      "GradScaler: a gradient of Half cannot be unscaled without loss; keep the parameters in Float and "
      "use autocast");
  CHECK_ERROR(amp::GradScaler({.growth_factor = 1}), "GradScaler: growth_factor must be above 1, got 1");
  CHECK_ERROR(amp::GradScaler({.backoff_factor = 1}),
              "GradScaler: backoff_factor must be between 0 and 1, got 1");
  CHECK_ERROR(amp::GradScaler({.init_scale = INFINITY}), "GradScaler: init_scale must be above 0, got inf");
  CHECK_ERROR(amp::GradScaler({.growth_interval = 0}),
              "GradScaler: growth_interval must be at least 1, got 0");
}

}  // namespace
