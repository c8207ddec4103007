#include <tarn/autograd/checkpoint.h>

#include <mutex>

#include <tarn/autograd/meta.h>
#include <tarn/autograd/saved.h>
#include <tarn/core/autocast.h>
#include <tarn/core/fault.h>
#include <tarn/core/hooks.h>
#include <tarn/core/random.h>

namespace tarn::inline v1::detail {

namespace {

// Sets the default generator back, and puts it where it was at the end.
class Rewound {
 public:
  Rewound(uint64_t seed, uint64_t offset) : seed_(now().current_seed()), offset_(now().get_offset()) {
    go_to(seed, offset);
  }
  ~Rewound() { go_to(seed_, offset_); }

 private:
  static const Generator& now() { return default_generator(); }
  static void go_to(uint64_t seed, uint64_t offset) {
    now().set_current_seed(seed);
    now().set_offset(offset);
  }
  uint64_t seed_, offset_;
};

struct AutocastState {
  bool on;
  ScalarType dtype;
  static AutocastState of(DeviceType device) {
    return {autocast::is_autocast_enabled(device), autocast::get_autocast_dtype(device)};
  }
};

}  // namespace

// The place of one saved tensor. What stands for it in the graph is this.
struct SavedPlace {
  std::shared_ptr<CheckpointFrame> frame;
  uint32_t version;  // when f saved it
  Tensor again;      // made by the second run, until it is asked for
};

// One call of checkpoint(). Owned by the places, so it lives as long as the graph of the call does.
struct CheckpointFrame {
  CheckpointScope::Again call_again;
  std::vector<SavedTensor> inputs;
  uint64_t seed, offset;  // of the default generator, before the first run
  bool rewinds;
  AutocastState cpu = AutocastState::of(kCPU), cuda = AutocastState::of(kCUDA);
  std::vector<std::weak_ptr<SavedPlace>> places;  // in the order of saving
  std::mutex mutex;

  void run_again();
};

// A tensor that f saves again takes the place of the one it saved first.
void CheckpointFrame::run_again() {
  AutoGradMode recording(true);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(inputs[i].unpack("checkpoint", "input", int(i)));
  size_t next = 0;
  SavedTensorsHooks fill;
  fill.pack = [&](const Tensor& t) -> std::shared_ptr<void> {
    if (auto place = next < places.size() ? places[next].lock() : nullptr) {
      check(place->version == t._version(), "checkpoint: a tensor of sizes ", t.sizes(),
            " that the function uses was changed in place since it ran first; call clone() before the "
            "in-place op");
      place->again = t;
    }
    ++next;
    return nullptr;
  };
  fill.unpack = [](const std::shared_ptr<void>&) { return Tensor(); };
  SavedTensorsScope scope(&fill);
  AutocastGuard as_then(kCPU, cpu.dtype, cpu.on), as_then_on_device(kCUDA, cuda.dtype, cuda.on);
  std::optional<Rewound> rewound;
  if (rewinds && !fault(71)) rewound.emplace(seed, offset);
  call_again(tensors);
  check(next == places.size(), "checkpoint: the function saved ", int64_t(places.size()),
        " tensors for backward when it ran first and ", int64_t(next),
        " when it ran again; it must do the same each time");
}

CheckpointScope::CheckpointScope(const std::vector<Tensor>& inputs, autograd::CheckpointOptions options,
                                 Again again)
    : frame_(std::make_shared<CheckpointFrame>()) {
  frame_->call_again = std::move(again);
  frame_->rewinds = options.preserve_rng_state;
  frame_->seed = default_generator().current_seed();
  frame_->offset = default_generator().get_offset();
  // By the hooks around: an outer checkpoint gives this one's inputs back by running itself again.
  for (const Tensor& t : inputs) {
    bool needed = t.defined() && needs_history(t);
    frame_->inputs.push_back(t.defined() ? SavedTensor(t, needed ? gradient_edge(t) : Edge(), "checkpoint")
                                         : SavedTensor());
  }
  hooks_.pack = [frame = frame_](const Tensor& t) -> std::shared_ptr<void> {
    auto place = std::make_shared<SavedPlace>(SavedPlace{frame, t._version(), {}});
    frame->places.push_back(place);
    return place;
  };
  hooks_.unpack = [](const std::shared_ptr<void>& packed) {
    SavedPlace& place = *static_cast<SavedPlace*>(packed.get());
    std::lock_guard lock(place.frame->mutex);
    if (!place.again.defined()) place.frame->run_again();
    check(place.again.defined(), "checkpoint: the function saved fewer tensors when it ran again");
    check(place.again._version() == place.version, "checkpoint: the function changed a tensor of sizes ",
          place.again.sizes(),
          " in place after an op saved it for its gradient; call clone() before the in-place op");
    return std::exchange(place.again, {});
  };
  scope_.emplace(&hooks_);
}

CheckpointScope::~CheckpointScope() = default;

}  // namespace tarn::inline v1::detail
