// The demo's training step on the device equals the CPU's: forward, loss, backward, SGD, over several steps.
#include <tarn/examples/resnet/resnet.h>
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct Run {
  std::vector<double> losses;
  std::vector<Tensor> weights;  // on the CPU, with the buffers
};

Run train(Device device, ScalarType dtype, int steps, int64_t batch) {
  manual_seed(7);
  ResNet net;
  net->to(device, dtype);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(5e-4));
  Run run;
  for (int step = 0; step < steps; ++step) {
    Tensor images = formula_tensor({batch, 1, 28, 28}, dtype, Formula{.b = 60 + step, .d = 256}).to(device);
    std::vector<int64_t> classes(static_cast<size_t>(batch));
    for (int64_t i = 0; i < batch; ++i) classes[size_t(i)] = (3 * i + step) % 10;
    Tensor loss = nn::functional::cross_entropy(net->forward(images), tensor(classes).to(device));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    run.losses.push_back(loss.item<double>());
  }
  for (const Tensor& t : net->parameters()) run.weights.push_back(t.detach().cpu());
  for (const Tensor& t : net->buffers()) run.weights.push_back(t.detach().cpu());
  return run;
}

void check_same(const Run& got, const Run& expected, double tolerance) {
  REQUIRE(got.losses.size() == expected.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i)
    CHECK(std::abs(got.losses[i] - expected.losses[i]) <= tolerance * std::abs(expected.losses[i]));
  REQUIRE(got.weights.size() == expected.weights.size());
  for (size_t i = 0; i < got.weights.size(); ++i)
    CHECK_CLOSE(got.weights[i], expected.weights[i], Tolerance{tolerance, tolerance});
}

}  // namespace

TEST_CASE("the demo's step on the device equals the CPU in float64", "[rooms]") {
  int64_t convolutions = detail::cuda_launches("conv"), steps = detail::cuda_launches("sgd");
  Run device = train(kGpu, kDouble, 3, 8);
  // Ten convolutions forward; backward twice each, but for the gradient of the images.
  CHECK(detail::cuda_launches("conv") - convolutions == 3 * (10 + 10 + 9));
  CHECK(detail::cuda_launches("sgd") - steps == 3);
  check_same(device, train(Device(kCPU), kDouble, 3, 8), 1e-10);
}

TEST_CASE("the demo's step on the device equals the CPU in float32", "[rooms]") {
  int64_t norms = detail::cuda_launches("batch_norm");
  Run device = train(kGpu, kFloat, 2, 8);
  CHECK(detail::cuda_launches("batch_norm") - norms == 2 * 10);
  check_same(device, train(Device(kCPU), kFloat, 2, 8), 1e-4);
}

TEST_CASE("the device's memory is given back after training", "[rooms]") {
  int64_t before = cuda::memory_stats().live_bytes;
  train(kGpu, kFloat, 1, 2);
  CHECK(cuda::memory_stats().live_bytes == before);
}
