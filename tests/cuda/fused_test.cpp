// Fused groups of compiled functions on a device: kernels from text give the bits of the eager kernels.
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// f of device tensors, eager and twice compiled (recorded, then followed), is the same to the last bit, and a
// group ran.
template <class F>
void check_fused(F f, int64_t groups = 1) {
  Tensor eager = f();
  auto compiled = tarn::compile(f);
  for (int call = 0; call < 2; ++call) {
    int64_t before = compile_stats().tier1_groups;
    Tensor got = compiled();
    CHECK(got.device() == kGpu);
    CHECK_SAME(got.cpu(), eager.cpu());
    CHECK(compile_stats().tier1_groups - before == groups);
  }
}

Tensor gpu(IntArrayRef sizes, ScalarType dtype = kFloat, const Formula& formula = kAround0) {
  return formula_tensor(sizes, dtype, formula).to(kGpu);
}

}  // namespace

TEST_CASE("a chain of pointwise ops is one kernel on the device, in each dtype") {
  ScalarType dtype = GENERATE(kFloat, kDouble, kBFloat16, kHalf);
  Tensor x = gpu({5, 31}, dtype), y = gpu({5, 31}, dtype, kPositive);
  check_fused([&] { return relu(x * 2.5 + y).sigmoid() * sqrt(y) - x; });
}

TEST_CASE("operands that are broadcast, transposed or sliced fuse on the device") {
  Tensor x = gpu({4, 6, 5}), row = gpu({5}, kFloat, kUnit), column = gpu({6, 1}),
         turned = gpu({5, 6, 4}).permute({2, 1, 0});
  check_fused([&] { return (x + row) * column + turned; });
  Tensor wide = gpu({4, 12, 10});
  Tensor part = wide.slice(1, 1, 12, 2).slice(2, 0, 10, 2);
  check_fused([&] { return exp(part * 0.1) + x; });
}

TEST_CASE("integers, comparisons and choices fuse on the device") {
  Tensor a = gpu({7, 9}, kInt), b = gpu({7, 9}, kLong), x = gpu({7, 9});
  check_fused([&] { return where(a * 3 > b, x * x, x + 1); });
}

TEST_CASE("numbers are arguments of the kernel: another one compiles nothing anew") {
  Tensor x = gpu({64});
  double factor = 1.5;
  auto scaled = tarn::compile([&] { return x * factor + 1; });
  for (double f : {1.5, -2.0, 7.25}) {
    factor = f;
    CHECK_SAME(scaled().cpu(), x.cpu() * f + 1);
  }
}

TEST_CASE("a group that writes its input gives what eager gives") {
  Tensor x = gpu({33}), eager = x.clone(), compiled = x.clone();
  auto update = [](Tensor t) { t.mul_(0.5).add_(t.sigmoid()); };
  update(eager);
  auto step = tarn::compile([&] { update(compiled); });
  step();
  CHECK_SAME(compiled.cpu(), eager.cpu());
}
