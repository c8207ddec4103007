// Training steps against PyTorch: the losses of ten steps and of eval mode, from the same weights and inputs.
#include <cmath>

#include <tarn/nn/nn.h>
#include <tarn/tarn.h>
#include <tarn/tests/number_rows.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
namespace F = tarn::nn::functional;

namespace {

// As golden/make.py: parameter k has the formula with b = 60 + 37 k and values up to 1/4.
void set_parameters(nn::Module& net) {
  int64_t k = 0;
  for (const Tensor& parameter : net.parameters())
    fill_with(parameter, [&](int64_t i) { return evaluate({.b = 60 + 37 * k, .d = 1024}, i, false); }), ++k;
}

struct Task {
  nn::Sequential net;
  Tensor x, y;
};

Tensor targets(int64_t n) {
  Tensor y = empty({n}, kLong);
  fill_with(y, [](int64_t i) { return double(i * 7 % 5); });
  return y;
}

Task mlp() {
  nn::Sequential net(nn::Linear(20, 32), nn::ReLU(), nn::Linear(32, 16), nn::Tanh(), nn::Linear(16, 5));
  return {net, formula_tensor({12, 20}, kFloat, {.d = 128}), targets(12)};
}

Task convnet() {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1).bias(false)), nn::BatchNorm2d(8),
                     nn::ReLU(), nn::MaxPool2d(2),
                     nn::Conv2d(nn::Conv2dOptions(8, 16, 3).stride(2).padding(1)), nn::ReLU(),
                     nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(16, 5));
  return {net, formula_tensor({6, 3, 8, 8}, kFloat, {.d = 128}), targets(6)};
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const std::vector<Tensor>& params) {
  if (name == "sgd")
    return std::make_unique<optim::SGD>(
        params, optim::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(5e-4));
  if (name == "adam") return std::make_unique<optim::Adam>(params, optim::AdamOptions(0.005));
  return std::make_unique<optim::AdamW>(params, optim::AdamWOptions(0.005).weight_decay(0.05));
}

// The losses of the steps.
std::vector<double> train(Task& task, optim::Optimizer& optimizer, int steps) {
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    Tensor loss = F::cross_entropy(task.net->forward(task.x), task.y);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

// Empty if all losses are within 1e-5 of PyTorch's.
std::string compare(Task task, const std::string& net, const std::string& optimizer) {
  std::vector<double> want = golden_row("nn/golden/trajectories.txt", net + " " + optimizer);
  nn::Sequential model = task.net;
  set_parameters(*model);
  std::vector<double> got = train(task, *make_optimizer(optimizer, model->parameters()), 10);
  model->eval();
  got.push_back(F::cross_entropy(model->forward(task.x), task.y).item<double>());
  if (want.size() != got.size()) return "the golden row is of another length";
  for (size_t i = 0; i < want.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= 1e-5))
      return str("loss ", i, ": got ", got[i], ", expected ", want[i]);
  return "";
}

}  // namespace

TEST_CASE("an MLP trains as in PyTorch with SGD", "[nn]") { CHECK(compare(mlp(), "mlp", "sgd") == ""); }

TEST_CASE("an MLP trains as in PyTorch with Adam", "[nn]") { CHECK(compare(mlp(), "mlp", "adam") == ""); }

TEST_CASE("an MLP trains as in PyTorch with AdamW", "[nn]") { CHECK(compare(mlp(), "mlp", "adamw") == ""); }

TEST_CASE("a conv net trains as in PyTorch with SGD", "[nn]") {
  CHECK(compare(convnet(), "convnet", "sgd") == "");
}

TEST_CASE("a conv net trains as in PyTorch with Adam", "[nn]") {
  CHECK(compare(convnet(), "convnet", "adam") == "");
}

TEST_CASE("a conv net trains as in PyTorch with AdamW", "[nn]") {
  CHECK(compare(convnet(), "convnet", "adamw") == "");
}

TEST_CASE("a model goes on from saved states to the same bits", "[nn]") {
  Task whole = convnet(), first = convnet(), second = convnet();
  for (Task* task : {&whole, &first}) set_parameters(*task->net);
  auto all = make_optimizer("adam", whole.net->parameters()),
       before = make_optimizer("adam", first.net->parameters()),
       after = make_optimizer("adam", second.net->parameters());
  std::vector<double> expected = train(whole, *all, 6);
  train(first, *before, 3);
  second.net->load_state_dict(first.net->state_dict());
  after->load_state_dict(before->state_dict());
  CHECK(train(second, *after, 3) == std::vector<double>(expected.begin() + 3, expected.end()));
}
