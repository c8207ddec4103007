// Random numbers on the device are the CPU's: the same stream, the same place in it.
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// What f makes with each device's options after the same seed.
template <class F>
void check_same(F f, Tolerance tolerance = {0, 0}) {
  manual_seed(5);
  Tensor expected = f(Device(kCPU));
  uint64_t offset = default_generator().get_offset();
  manual_seed(5);
  Tensor got;
  CHECK(launches_of([&] { got = f(kGpu); }) > 0);
  CHECK(got.device() == kGpu);
  CHECK_CLOSE(got.cpu(), expected, tolerance);
  CHECK(default_generator().get_offset() == offset);
}

}  // namespace

TEST_CASE("uniform, integer and bernoulli numbers on the device are the CPU's to the bit") {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    check_same([&](Device d) { return rand({7, 301}, TensorOptions(dtype).device(d)); });
    check_same([&](Device d) { return empty({1001}, TensorOptions(dtype).device(d)).uniform_(-3, 2.5); });
    check_same([&](Device d) { return empty({1001}, TensorOptions(dtype).device(d)).bernoulli_(0.3); });
  }
  check_same([&](Device d) { return randint(-5, 1000, {999}, TensorOptions(kLong).device(d)); });
  check_same([&](Device d) { return randint(0, int64_t(1) << 40, {99}, TensorOptions(kLong).device(d)); });
  check_same([&](Device d) { return randint(0, 200, {99}, TensorOptions(kByte).device(d)); });
  check_same([&](Device d) { return empty({99}, TensorOptions(kFloat).device(d)).random_(0, 10); });
  check_same([&](Device d) { return rand({20, 30}, Device(d)).t().uniform_(); });
}

TEST_CASE("normal numbers on the device are the CPU's to a few ULP") {
  check_same([](Device d) { return randn({1001}, Device(d)); }, {2e-6, 2e-6});
  check_same([](Device d) { return randn({1001}, TensorOptions(kDouble).device(d)); }, {1e-14, 1e-14});
  check_same([](Device d) { return empty({77}, Device(d)).normal_(3, 0.5); }, {2e-6, 2e-6});
}

TEST_CASE("dropout drops the same elements, also in its gradient") {
  for (ScalarType dtype : {kFloat, kDouble, kHalf}) {
    Tensor x = formula_tensor({40, 13}, dtype);
    check_same([&](Device d) { return dropout(x.to(d), 0.4, true); });
    check_same([&](Device d) {
      Tensor leaf = x.to(d).detach().requires_grad_();
      dropout(leaf, 0.4, true).sum().backward();
      return leaf.grad();
    });
  }
}

TEST_CASE("sequences on the device") {
  check_same([](Device d) { return arange(3, 40, 2, Device(d)); });
  check_same([](Device d) { return linspace(0, 1, 11, Device(d)); });
  check_same([](Device d) { return eye(4, Device(d)); });
  check_same([](Device d) { return randperm(50, Device(d)); });
}
