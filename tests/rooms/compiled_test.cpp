// The demo's training step compiled on the CPU, on each tier: losses and weights are eager's, and counters
// show that fused groups really ran.
#include <tarn/compile/compile.h>
#include <tarn/compile/kernel.h>
#include <tarn/tests/rooms/step.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

constexpr int kNormsBeforeRelu = 7;  // the stem's, and two of each of three blocks

struct Tier {
  explicit Tier(detail::TierChoice choice) : before(detail::tier_choice()) {
    detail::set_tier_choice(choice);
  }
  ~Tier() { detail::set_tier_choice(before); }
  detail::TierChoice before;
};

void compare(detail::TierChoice choice, ScalarType dtype, int steps, double tolerance) {
  Tier tier(choice);
  Trained eager = DemoStep(kCPU, dtype).run(steps);
  CompileStats before = compile_stats();
  DemoStep demo(kCPU, dtype);
  auto step = tarn::compile([&] { return demo(); });
  Trained compiled = demo.run(steps, [&] { return step(); });
  CompileStats after = compile_stats();
  CHECK(difference(compiled, eager, tolerance) == "");
  CHECK(compiled.losses.back() < compiled.losses.front());
  CHECK(after.fused_groups - before.fused_groups >= steps * kNormsBeforeRelu);
  int64_t tier0 = after.tier0_groups - before.tier0_groups, tier1 = after.tier1_groups - before.tier1_groups;
  CHECK(tier0 + tier1 == after.fused_groups - before.fused_groups);
  CHECK((choice == detail::TierChoice::Native ? tier0 : tier1) == 0);
  const int64_t kernels = after.tier1_kernels - before.tier1_kernels;
  CHECK((choice == detail::TierChoice::Native ? kernels > 0 : kernels == 0));
}

}  // namespace

TEST_CASE("the demo's step compiled for the interpreter equals the eager one") {
  compare(detail::TierChoice::Interpret, kFloat, 5, 1e-4);
  compare(detail::TierChoice::Interpret, kDouble, 20, 1e-10);
}

TEST_CASE("the demo's step compiled to machine code equals the eager one") {
  compare(detail::TierChoice::Native, kFloat, 5, 1e-4);
  compare(detail::TierChoice::Native, kDouble, 20, 1e-10);
}
