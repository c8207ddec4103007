// How long async_save holds a training step: 64 tensors of 4 MiB. The twin copies the same bytes into memory
// that is there, which is the least that a snapshot costs. Writing goes on between the steps, untimed, and in
// memory.
#include <cstdlib>
#include <string>

#include <tarn/bench/rows.h>
#include <tarn/tarn.h>

namespace tarn::bench {

namespace {

constexpr int64_t kTensors = 64, kElements = 1 << 20;

struct Saves : Row::Work {
  Saves() {
    char name[] = "/dev/shm/tarn-bench-XXXXXX";
    check(mkdtemp(name) != nullptr, "bench: cannot make a folder in /dev/shm");
    folder = name;
    for (int64_t i = 0; i < kTensors; ++i) {
      tensors.push_back(rand({kElements}));
      state.add(str("x", i), tensors.back());
    }
  }
  ~Saves() override {
    saving.wait();
    std::system(("rm -rf '" + folder + "'").c_str());
  }
  void step() override { saving = checkpoint::async_save(folder, state, count++, {.keep_last = 1}); }
  void rest() override { saving.wait(); }

  std::string folder;
  std::vector<Tensor> tensors;
  checkpoint::State state;
  checkpoint::Saving saving;
  int64_t count = 0;
};

}  // namespace

const Row async_save = {"async_save", [] { return static_cast<Row::Work*>(new Saves); },
                        kTensors* kElements * 4 >> 20, "MiB"};

}  // namespace tarn::bench
