// Checkpoints: all that a run needs to go on, in a folder that is whole or not there.
//
//   checkpoint::State state;
//   state.add("model", net).add("optimizer", optimizer).add("scheduler", *scheduler);
//   state.add("generator", default_generator()).add("loader", *loader).add("epoch", epoch);
//   if (auto found = checkpoint::load_latest(dir, state)) std::cout << "from " << found->path << "\n";
//   for (; epoch < 10; saving = checkpoint::async_save(dir, state, ++epoch)) train();
//   saving.wait();
//
// Step 12 lies in dir/step-12: shards in safetensors format, keys "model.", "optimizer." and so on before
// PyTorch's names, and manifest.json with every shard's size and checksum and all that is no tensor. It is
// written under another name, flushed to the disk, renamed; only then is dir/latest replaced. So a process
// that is killed, or a disk that is full, at any moment leaves the last checkpoint as it was. One process
// writes to a dir at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <tarn/core/function.h>
#include <tarn/core/ordered_dict.h>
#include <tarn/core/random.h>
#include <tarn/nn/holder.h>
#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::checkpoint {

namespace detail {

using tarn::detail::Function;
using Dict = OrderedDict<std::string, Tensor>;

// What is no tensor.
struct Value {
  enum class Kind { Integer, Real, Text } kind = Kind::Integer;
  int64_t integer = 0;
  double real = 0;
  std::string text;
};

// Where a data loader is: `batch` batches of `epoch` were handed over.
struct Position {
  uint64_t epoch = 0, batch = 0, seed = 0;
};

struct StateData;
struct Job;

}  // namespace detail

// The parts of a run, by reference: what is saved and what is loaded into. From the first save on it also
// holds memory for one copy of its tensors, which the saves after it use again.
class TARN_API State {
 public:
  State();

  // `thing` is one of: a module, its holder or shared_ptr; an optimizer; a Tensor; a Generator; a data
  // loader; anything else with state_dict() and load_state_dict(), such as schedulers and GradScaler; an
  // integer, double, bool or std::string. It must outlive the state. Names may not be empty, hold a dot or
  // come twice.
  template <class T>
  State& add(const std::string& name, T& thing);
  // A text that must be the same when the checkpoint is loaded, such as an option that decides the numbers of
  // a run.
  State& expect(const std::string& name, const std::string& text);

 private:
  friend struct detail::StateData;
  using Dict = detail::Dict;
  using Value = detail::Value;

  State& add_module(const std::string& name, std::shared_ptr<nn::Module> module);
  State& add_optimizer(const std::string& name, optim::Optimizer& optimizer);
  State& add_tensor(const std::string& name, const Tensor& tensor);
  State& add_generator(const std::string& name, const Generator& generator);
  State& add_loader(const std::string& name, detail::Function<detail::Position()> get,
                    detail::Function<void(const detail::Position&)> set);
  State& add_dict(const std::string& name, detail::Function<Dict()> get,
                  detail::Function<void(const Dict&)> set);
  State& add_value(const std::string& name, detail::Function<Value()> get,
                   detail::Function<void(const Value&)> set);

  std::shared_ptr<detail::StateData> data_;
};

struct Options {
  // How many checkpoints stay: after a save older ones are removed. 0: all.
  int64_t keep_last = 0;
  // A shard is begun where the one before has this many bytes.
  int64_t shard_bytes = int64_t(1) << 31;
};

// A save under way. Destroying the handle waits for it.
class TARN_API Saving {
 public:
  Saving() = default;
  explicit Saving(std::shared_ptr<detail::Job> job) : job_(std::move(job)) {}
  Saving(Saving&&) noexcept = default;
  Saving& operator=(Saving&&) noexcept;
  ~Saving();

  // Returns when the checkpoint is on the disk; throws the Error that prevented it.
  void wait();
  // Whether wait() would return or throw at once.
  bool done() const;

 private:
  std::shared_ptr<detail::Job> job_;
};

// Copies the state, which is all that the caller waits for, and writes it on another thread: the state may
// change at once. A save to the same dir that is still under way is waited for first, none is skipped. If
// that one failed and nobody has asked for its error, it is thrown here, and nothing is saved.
[[nodiscard]] TARN_API Saving async_save(const std::string& dir, const State& state, int64_t step,
                                         const Options& options = {});

// The same, and waits.
TARN_API void save(const std::string& dir, const State& state, int64_t step, const Options& options = {});

struct Loaded {
  std::string path;
  int64_t step = 0;
  std::vector<std::string> skipped;  // what was wrong with newer checkpoints, one text each
};

// Loads the newest good checkpoint in `dir`: a damaged one is skipped, and the result says why. Nothing if
// there is no checkpoint at all; an Error if there are only damaged ones, or if the state's parts do not fit.
TARN_API std::optional<Loaded> load_latest(const std::string& dir, const State& state);

// Loads one checkpoint, for example "out/step-12". Sizes and checksums are verified before anything is
// loaded. Parts that the state does not have are ignored; an Error names what the state has and the
// checkpoint lacks.
TARN_API Loaded load(const std::string& path, const State& state);

// --- implementation ---

namespace detail {

TARN_API Value integer_value(int64_t value);
TARN_API Value real_value(double value);
TARN_API Value text_value(std::string value);
// The value, or an Error that says what it is instead.
TARN_API int64_t to_integer(const Value& value);
TARN_API double to_real(const Value& value);
TARN_API const std::string& to_text(const Value& value);

template <class L>
concept Loader = requires(L& loader) {
  loader.set_position(loader.position());
};
template <class T>
concept HasStateDict = requires(T& thing) {
  thing.load_state_dict(thing.state_dict());
};

}  // namespace detail

template <class T>
State& State::add(const std::string& name, T& thing) {
  using namespace detail;
  using Plain = std::remove_const_t<T>;
  if constexpr (std::convertible_to<T&, std::shared_ptr<nn::Module>>) {
    return add_module(name, thing);
  } else if constexpr (requires { typename T::ContainedType; }) {
    return add_module(name, thing.ptr());
  } else if constexpr (std::derived_from<Plain, nn::Module>) {
    return add_module(name, std::shared_ptr<nn::Module>(std::shared_ptr<void>(), &thing));
  } else if constexpr (std::derived_from<Plain, optim::Optimizer>) {
    return add_optimizer(name, thing);
  } else if constexpr (std::same_as<Plain, Tensor>) {
    return add_tensor(name, thing);
  } else if constexpr (std::same_as<Plain, Generator>) {
    return add_generator(name, thing);
  } else if constexpr (Loader<T>) {
    return add_loader(
        name,
        [&thing] {
          auto p = thing.position();
          return Position{p.epoch, p.batch, p.seed};
        },
        [&thing](const Position& p) {
          auto position = thing.position();
          position.epoch = p.epoch, position.batch = p.batch, position.seed = p.seed;
          thing.set_position(position);
        });
  } else if constexpr (HasStateDict<T>) {
    return add_dict(
        name, [&thing] { return thing.state_dict(); }, [&thing](const Dict& d) { thing.load_state_dict(d); });
  } else if constexpr (std::integral<T>) {
    return add_value(
        name, [&thing] { return integer_value(int64_t(thing)); },
        [&thing](const Value& v) { thing = T(to_integer(v)); });
  } else if constexpr (std::floating_point<T>) {
    return add_value(
        name, [&thing] { return real_value(double(thing)); },
        [&thing](const Value& v) { thing = T(to_real(v)); });
  } else {
    static_assert(std::same_as<T, std::string>, "checkpoint: this cannot be saved; see State::add");
    return add_value(
        name, [&thing] { return text_value(thing); }, [&thing](const Value& v) { thing = to_text(v); });
  }
}

}  // namespace tarn::inline v1::checkpoint
