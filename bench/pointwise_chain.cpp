// A chain of seven pointwise ops over a million floats: eager, and fused on each tier. The twins are
// PyTorch's eager ops.
#include <tarn/bench/rows.h>
#include <tarn/compile/compile.h>
#include <tarn/compile/kernel.h>
#include <tarn/core/mode.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>

namespace tarn::bench {

namespace {

constexpr int64_t kElements = 1 << 20;

Tensor chain(const Tensor& x) { return tanh(x * 1.1 + 0.5) * sigmoid(x) + x * x; }

struct Eager : Row::Work {
  Tensor x = randn({kElements});
  void step() override {
    NoGradGuard guard;
    Tensor y = chain(x);
  }
};

struct Fused : Row::Work {
  explicit Fused(detail::TierChoice choice) { detail::set_tier_choice(choice); }
  Tensor x = randn({kElements});
  Compiled<Tensor (*)(const Tensor&)> fused{chain, {}};
  void step() override {
    NoGradGuard guard;
    Tensor y = fused(x);
  }
};

}  // namespace

const Row pointwise_chain = {"pointwise_chain", [] { return static_cast<Row::Work*>(new Eager); }, kElements,
                             "elements"};
const Row pointwise_chain_tile = {
    "pointwise_chain_tile", [] { return static_cast<Row::Work*>(new Fused(detail::TierChoice::Interpret)); },
    kElements, "elements"};
const Row pointwise_chain_native = {
    "pointwise_chain_native", [] { return static_cast<Row::Work*>(new Fused(detail::TierChoice::Native)); },
    kElements, "elements"};

}  // namespace tarn::bench
