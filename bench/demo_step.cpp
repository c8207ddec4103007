// The demo's training step; demo_step.py is the same in PyTorch.
#include <tarn/bench/demo_step.h>
#include <tarn/bench/rows.h>

namespace tarn::bench {

namespace {

struct Steps : Row::Work {
  DemoStep demo;
  void step() override { demo(); }
};

}  // namespace

const Row demo_step = {"demo_step", [] { return static_cast<Row::Work*>(new Steps); }, DemoStep::kBatch,
                       "images"};

}  // namespace tarn::bench
