// The demo's training saved in the middle while it goes on, and resumed by a process that knows nothing: the
// end is the uninterrupted one's, to the bit.
#include <tarn/serialize/checkpoint.h>
#include <tarn/tests/rooms/step.h>
#include <tarn/tests/temp_dir.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct Run {
  explicit Run(ScalarType dtype) : demo(kCPU, dtype) {
    state.add("model", demo.net).add("optimizer", demo.optimizer).add("steps", steps);
  }
  Trained train(int count) {
    steps += count;
    return demo.run(count);
  }
  DemoStep demo;
  int64_t steps = 0;
  checkpoint::State state;
};

void save_and_resume(ScalarType dtype, int steps) {
  TempDir folder;
  Trained unsaved = DemoStep(kCPU, dtype).run(steps);
  Run whole(dtype);
  whole.train(steps / 2);
  checkpoint::Saving saving = checkpoint::async_save(folder.path(), whole.state, whole.steps);
  Trained wanted = whole.train(steps - steps / 2);  // changes what is being written
  saving.wait();
  unsaved.losses.erase(unsaved.losses.begin(), unsaved.losses.begin() + steps / 2);
  CHECK(difference(wanted, unsaved, 0) == "");

  Run resumed(dtype);
  resumed.train(1);  // so that nothing of a fresh start helps
  auto found = checkpoint::load_latest(folder.path(), resumed.state);
  REQUIRE(found);
  CHECK(found->step == steps / 2);
  CHECK(resumed.steps == steps / 2);
  CHECK(difference(resumed.train(steps - steps / 2), wanted, 0) == "");
}

}  // namespace

TEST_CASE("the demo's training saved on the way and resumed ends as if it had not been, to the bit") {
  save_and_resume(kFloat, 6);
  save_and_resume(kDouble, 20);
}
