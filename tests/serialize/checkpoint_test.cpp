// Checkpoints: what goes in comes out, what is damaged is refused, and saves that run beside the training.
#include <tarn/serialize/checkpoint.h>

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/data/data.h>
#include <tarn/nn/nn.h>
#include <tarn/optim/optim.h>
#include <tarn/serialize/system.h>
#include <tarn/tests/data/files.h>
#include <tarn/tests/python.h>
#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;
using checkpoint::State;

// A run with a part of every kind.
struct Run {
  Generator seeded = manual_seed(5);
  nn::Sequential net{nn::Conv2d(nn::Conv2dOptions(2, 3, 3)), nn::BatchNorm2d(3)};
  optim::Adam optimizer{net->parameters(), optim::AdamOptions(0.1)};
  optim::StepLR scheduler{optimizer, 2};
  Generator generator{7};
  Tensor extra = formula_tensor({5});
  int64_t epoch = 0;
  size_t count = 0;
  double best = 0;
  bool flag = false;
  std::string note;

  State state() {
    State state;
    state.add("model", net).add("optimizer", optimizer).add("scheduler", scheduler);
    state.add("generator", generator).add("extra", extra).add("epoch", epoch).add("count", count);
    state.add("best", best).add("flag", flag).add("note", note);
    return state;
  }
  void train() {
    net->forward(formula_tensor({4, 2, 6, 6}, kFloat, {.b = 60 + 7 * epoch})).square().mean().backward();
    optimizer.step();
    optimizer.zero_grad();
    scheduler.step();
    generator.reserve(12);
    ++epoch;
  }
};

void check_same(const OrderedDict<std::string, Tensor>& got, const OrderedDict<std::string, Tensor>& want) {
  REQUIRE(got.keys() == want.keys());
  for (const auto& item : want) {
    INFO(item.key());
    CHECK_SAME(got[item.key()], item.value());
  }
}

void check_same(const Run& got, const Run& want) {
  check_same(got.net->state_dict(), want.net->state_dict());
  check_same(got.optimizer.state_dict(), want.optimizer.state_dict());
  check_same(got.scheduler.state_dict(), want.scheduler.state_dict());
  CHECK_SAME(got.generator.get_state(), want.generator.get_state());
  CHECK_SAME(got.extra, want.extra);
  CHECK(got.epoch == want.epoch);
  CHECK(got.count == want.count);
  CHECK(std::memcmp(&got.best, &want.best, sizeof(double)) == 0);
  CHECK(got.flag == want.flag);
  CHECK(got.note == want.note);
}

TEST_CASE("a run that was saved and loaded goes on as if it had not been, to the bit") {
  TempDir folder;
  Run run, other;
  run.train();
  run.count = size_t(1) << 60, run.best = 0.1, run.flag = true, run.note = "\"a\" \xc3\xa9\n";
  checkpoint::save(folder / "a/b", run.state(), 1);
  other.extra.zero_();
  auto found = checkpoint::load_latest(folder / "a/b", other.state());
  REQUIRE(found);
  CHECK(found->path == (folder / "a/b/step-1"));
  CHECK(found->step == 1);
  CHECK(found->skipped.empty());
  check_same(other, run);
  run.train(), other.train();
  check_same(other, run);
}

TEST_CASE("numbers that JSON does not know survive a checkpoint") {
  TempDir folder;
  for (double value : {double(INFINITY), -double(INFINITY), double(NAN), -0.0, 5e-324, 3.0}) {
    Run run, other;
    run.best = value;
    checkpoint::save(folder.path(), run.state(), 1);
    checkpoint::load_latest(folder.path(), other.state());
    CHECK((std::isnan(value) ? std::isnan(other.best) : other.best == value));
    CHECK(std::signbit(other.best) == std::signbit(value));
  }
}

TEST_CASE("tensors of any layout and no elements are saved by their values") {
  TempDir folder;
  Tensor strided = formula_tensor({4, 6}).t().narrow(0, 1, 3), empty = formula_tensor({0, 3});
  Tensor last = formula_tensor({2, 3, 4, 5}).contiguous(MemoryFormat::ChannelsLast);
  State state;
  state.add("strided", strided).add("empty", empty).add("last", last);
  checkpoint::save(folder.path(), state, 0);
  Tensor a = formula_tensor({3, 4}).zero_(), b = formula_tensor({0, 3}),
         c = formula_tensor({2, 3, 4, 5}).zero_();
  State other;
  other.add("strided", a).add("empty", b).add("last", c);
  checkpoint::load_latest(folder.path(), other);
  CHECK_SAME(a, strided);
  CHECK_SAME(c, last);
}

TEST_CASE("a checkpoint is split into shards, and its tensors are found again in any of them") {
  TempDir folder;
  Run run, other;
  run.train();
  checkpoint::save(folder.path(), run.state(), 3, {.shard_bytes = 100});
  CHECK(std::filesystem::exists(folder / "step-3/shard-00002.safetensors"));
  checkpoint::load_latest(folder.path(), other.state());
  check_same(other, run);
}

TEST_CASE("the safetensors package reads a checkpoint's shard") {
  TempDir folder;
  Run run;
  run.train();
  checkpoint::save(folder.path(), run.state(), 1);
  if (auto read = ask_python("serialize/read_safetensors.py", folder / "step-1/shard-00000.safetensors")) {
    CHECK(read->find("model.0.weight float32 [3, 2, 3, 3]") != std::string::npos);
    CHECK(read->find("optimizer.state.0.exp_avg float32 [3, 2, 3, 3]") != std::string::npos);
    CHECK(read->find("generator uint8 [16]") != std::string::npos);
  }
}

TEST_CASE("what changes after async_save has returned does not reach the checkpoint") {
  TempDir folder;
  Run run, want, other;
  run.train(), want.train();
  auto saving = checkpoint::async_save(folder.path(), run.state(), 1);
  run.train();
  saving.wait();
  CHECK(saving.done());
  checkpoint::load_latest(folder.path(), other.state());
  check_same(other, want);
}

TEST_CASE("a state's memory serves its next save, of more or fewer bytes") {
  TempDir folder;
  Tensor x = formula_tensor({10});
  std::string note = "first";
  State state;
  state.add("x", x).add("note", note);
  for (int64_t step : {1, 2, 3}) {
    note = str("step ", step);
    x.fill_(step);
    checkpoint::save(folder.path(), state, step);
    Tensor y = formula_tensor({10});
    std::string loaded;
    State other;
    other.add("x", y).add("note", loaded);
    checkpoint::load_latest(folder.path(), other);
    CHECK_SAME(y, x);
    CHECK(loaded == note);
  }
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("the newest checkpoints are kept, as many as asked for") {
  TempDir folder;
  Run run;
  State state = run.state();
  for (int64_t step : {1, 2, 3, 20}) checkpoint::save(folder.path(), state, step, {.keep_last = 3});
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "step-2", "step-20", "step-3"});
  // A run that goes on from step 3: the later step is not its business, but no longer the latest.
  checkpoint::save(folder.path(), state, 4, {.keep_last = 2});
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "step-20", "step-3", "step-4"});
  CHECK(checkpoint::load_latest(folder.path(), state)->step == 4);
}

TEST_CASE("a step that is saved again takes the place of the first") {
  TempDir folder;
  Run run, other;
  checkpoint::save(folder.path(), run.state(), 1);
  run.train();
  checkpoint::save(folder.path(), run.state(), 1);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "step-1.1"});
  CHECK(checkpoint::load_latest(folder.path(), other.state())->step == 1);
  check_same(other, run);
}

TEST_CASE("a folder without checkpoints holds nothing to load") {
  TempDir folder;
  Run run;
  CHECK(!checkpoint::load_latest(folder.path(), run.state()));
  CHECK(!checkpoint::load_latest(folder / "none", run.state()));
}

// --- damage ---

struct TwoSteps {
  TempDir folder;
  Tensor x = formula_tensor({6}), y = formula_tensor({3});
  int64_t epoch = 1;
  State state;
  TwoSteps() {
    state.add("x", x).add("y", y).add("epoch", epoch);
    checkpoint::save(folder.path(), state, 1, {.shard_bytes = 20});
    x.fill_(2), epoch = 2;
    checkpoint::save(folder.path(), state, 2, {.shard_bytes = 20});
    epoch = 0;
  }
  std::string newest(const std::string& file) const { return folder / "step-2/" + file; }
  // The error of loading the newest one, without its path.
  std::string error() {
    std::string prefix = "checkpoint: " + (folder / "step-2") + ": ";
    std::string text = error_of([&] { checkpoint::load(folder / "step-2", state); });
    return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
  }
};

TEST_CASE("a damaged checkpoint is refused by name, and the one before it is loaded") {
  TwoSteps run;
  std::string shard = read_file(run.newest("shard-00001.safetensors"));
  auto damage = [&](const std::string& bytes) { write_file(run.newest("shard-00001.safetensors"), bytes); };
  auto falls_back = [&](const std::string& why) {
    CHECK(run.error() == why);
    CHECK(run.epoch == 0);
    auto found = checkpoint::load_latest(run.folder.path(), run.state);
    REQUIRE(found);
    CHECK(found->step == 1);
    CHECK(run.epoch == 1);
    CHECK(found->skipped == std::vector<std::string>{"checkpoint: " + (run.folder / "step-2") + ": " + why});
    run.epoch = 0;
  };
  damage(shard.substr(0, shard.size() - 1));
  falls_back(
      str("shard-00001.safetensors has ", shard.size() - 1, " bytes, the manifest says ", shard.size()));

  std::string flipped = shard;
  flipped.back() = char(flipped.back() ^ 4);
  damage(flipped);
  CHECK(run.error().rfind("shard-00001.safetensors is damaged: its checksum is ", 0) == 0);

  std::filesystem::remove(run.newest("shard-00001.safetensors"));
  falls_back("shard-00001.safetensors is missing");

  damage(shard);
  CHECK(run.error() == "no error");
  CHECK(run.epoch == 2);
  run.epoch = 0;

  std::string manifest = read_file(run.newest("manifest.json")), newer = manifest;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  write_file(run.newest("manifest.json"), newer);
  falls_back("is of version 2, this Tarn reads version 1");
  std::filesystem::remove(run.newest("manifest.json"));
  falls_back("manifest.json is missing");
}

TEST_CASE("no byte of a manifest can be changed or cut off unseen", "[fuzz]") {
  TwoSteps run;
  std::string manifest = read_file(run.newest("manifest.json"));
  size_t refused = 0, harmless = 0;
  auto try_it = [&](const std::string& text) {
    write_file(run.newest("manifest.json"), text);
    std::string error = run.error();
    if (error == "no error") {
      // White space, or another spelling of the same.
      if (run.epoch != 2) FAIL("a changed manifest was loaded");
      ++harmless;
    } else {
      ++refused;
    }
    run.epoch = 0;
  };
  for (size_t i = 0; i < manifest.size(); ++i)
    for (int bit : {0, 1, 5}) {
      std::string text = manifest;
      text[i] = char(text[i] ^ 1 << bit);
      try_it(text);
    }
  for (size_t length = 0; length + 2 < manifest.size(); ++length) try_it(manifest.substr(0, length));
  CHECK(refused > 4 * harmless);
}

TEST_CASE("a damaged `latest` does not hide the checkpoints") {
  TwoSteps run;
  for (const char* text :
       {"", "step-", "step-02", "step--1", "step-1x", "step-2.0", "../step-2", "step-7\n"}) {
    write_file(run.folder / "latest", text);
    auto found = checkpoint::load_latest(run.folder.path(), run.state);
    REQUIRE(found);
    CHECK(found->step == 2);
    CHECK(found->skipped.size() == 1);
  }
}

TEST_CASE("where all checkpoints are damaged, the error says what is wrong with each") {
  TwoSteps run;
  for (int step : {1, 2}) std::filesystem::remove(run.folder / str("step-", step, "/manifest.json"));
  CHECK_ERROR(checkpoint::load_latest(run.folder.path(), run.state),
              "checkpoint: " + run.folder.path() +
                  " holds no checkpoint that can be loaded:\n  checkpoint: " + (run.folder / "step-2") +
                  ": manifest.json is missing\n  checkpoint: " + (run.folder / "step-1") +
                  ": manifest.json is missing");
}

TEST_CASE("a checkpoint of another run is refused by part") {
  TwoSteps run;
  std::string where = "checkpoint: " + (run.folder / "step-2") + ": part ";
  auto error_with = [&](auto& thing, const char* name) {
    State state;
    state.add(name, thing);
    return error_of([&] { checkpoint::load_latest(run.folder.path(), state); });
  };
  Tensor five = formula_tensor({5});
  std::string text;
  double real = 0;
  nn::Linear net(2, 3);
  CHECK(error_with(five, "x") == where + "\"x\": has sizes [5], the checkpoint's [6]");
  CHECK(error_with(text, "epoch") == where + "\"epoch\": is a whole number, expected a text");
  CHECK(error_with(real, "epoch") == where + "\"epoch\": is a whole number, expected a real number");
  CHECK(error_with(net, "z") == where + "\"z\": is not in the checkpoint");

  State made;
  made.expect("--lr", "0.1");
  checkpoint::save(run.folder.path(), made, 3);
  State now;
  now.expect("--lr", "0.2");
  CHECK_ERROR(
      checkpoint::load_latest(run.folder.path(), now),
      "checkpoint: " + (run.folder / "step-3") + ": part \"--lr\": was 0.1 when it was made and is 0.2 now");
}

TEST_CASE("bad names and options of checkpoints are refused") {
  Run run;
  State state;
  CHECK_ERROR(state.add("", run.epoch), "checkpoint: a part's name may not be empty or hold a dot, got \"\"");
  CHECK_ERROR(state.add("a.b", run.epoch),
              "checkpoint: a part's name may not be empty or hold a dot, got \"a.b\"");
  state.add("a", run.epoch);
  CHECK_ERROR(state.add("a", run.note), "checkpoint: there are two parts called \"a\"");
  nn::Linear none{nullptr};
  std::shared_ptr<nn::LinearImpl> null;
  CHECK_ERROR(state.add("b", null), "checkpoint: the module \"b\" is null; make it first");
  CHECK_ERROR(checkpoint::save("", state, 1), "checkpoint: the folder's name is empty");
  CHECK_ERROR(checkpoint::save("x", state, -1), "checkpoint: step must not be negative, got -1");
  CHECK_ERROR(checkpoint::save("x", state, 1, {.keep_last = -1}),
              "checkpoint: keep_last must not be negative, got -1");
  CHECK_ERROR(checkpoint::save("x", state, 1, {.shard_bytes = 0}),
              "checkpoint: shard_bytes must be above 0, got 0");
}

// --- saves that fail or overlap ---

std::atomic<bool> disk_is_full{false};
std::atomic<int> milliseconds_per_write{0};

int watch(const detail::sys::Call& call) {
  if (std::string(call.name) != "write") return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_per_write));
  return disk_is_full ? ENOSPC : 0;
}

struct Watched {
  Watched() { detail::sys::observe(watch); }
  ~Watched() {
    detail::sys::observe(nullptr);
    disk_is_full = false;
    milliseconds_per_write = 0;
  }
};

TEST_CASE("an error of the writer reaches wait(), or else the next save, and then saves go on") {
  TempDir folder;
  Run run;
  State state = run.state();
  Watched watched;
  std::string full = ": No space left on device";
  auto is_full = [&](const std::string& text) {
    return text.rfind("checkpoint: cannot write ", 0) == 0 && text.find(full) != std::string::npos;
  };
  disk_is_full = true;
  auto first = checkpoint::async_save(folder.path(), state, 1);
  CHECK(is_full(error_of([&] { first.wait(); })));
  CHECK(is_full(error_of([&] { first.wait(); })));
  auto second = checkpoint::async_save(folder.path(), state, 2);
  CHECK(is_full(error_of([&] { second = checkpoint::async_save(folder.path(), state, 3); })));
  disk_is_full = false;
  second = checkpoint::async_save(folder.path(), state, 4);
  second.wait();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "step-4"});
}

TEST_CASE("a save to a folder waits for the one before it, and none is lost") {
  TempDir folder;
  Run run;
  State state = run.state();
  Watched watched;
  milliseconds_per_write = 10;
  auto first = checkpoint::async_save(folder.path(), state, 1);
  CHECK(!first.done());
  auto second = checkpoint::async_save(
      folder / "../" + std::filesystem::path(folder.path()).filename().string(), state, 2);
  CHECK(first.done());
  second.wait();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "step-1", "step-2"});
}

TEST_CASE("a handle that goes away waits for its save") {
  TempDir folder;
  Run run;
  Watched watched;
  milliseconds_per_write = 10;
  { auto saving = checkpoint::async_save(folder.path(), run.state(), 1); }
  CHECK(std::filesystem::exists(folder / "latest"));
}

// --- loaders ---

struct Numbers : data::datasets::Dataset<Numbers> {
  data::Example<> get(size_t index) override { return {tensor_of({double(index)}), tensor_of({0})}; }
  std::optional<size_t> size() const override { return 23; }
};

std::vector<double> rest_of_epoch(auto& loader, size_t most, const State* state, const std::string& dir) {
  std::vector<double> seen;
  for (auto& batch : *loader) {
    for (double value : values_of(batch.data)) seen.push_back(value);
    if (most > 0 && seen.size() >= most) {
      if (state) checkpoint::save(dir, *state, 1);
      break;
    }
  }
  return seen;
}

TEST_CASE("a loader's place in the middle of an epoch is saved and resumed") {
  for (size_t workers : {0, 2}) {
    TempDir folder;
    auto make = [&](uint64_t seed) {
      return data::make_data_loader<data::samplers::RandomSampler>(
          Numbers().map(data::transforms::Stack<>()), data::DataLoaderOptions(4).workers(workers).seed(seed));
    };
    auto whole = make(3), first = make(3), second = make(3), wrong = make(4);
    rest_of_epoch(whole, 0, nullptr, "");
    std::vector<double> all = rest_of_epoch(whole, 0, nullptr, "");

    State state, other, bad;
    state.add("loader", *first);
    other.add("loader", *second);
    bad.add("loader", *wrong);
    rest_of_epoch(first, 0, nullptr, "");
    std::vector<double> seen = rest_of_epoch(first, 8, &state, folder.path());
    CHECK(seen.size() == 8);
    checkpoint::load_latest(folder.path(), other);
    CHECK(second->position().epoch == 1);
    CHECK(second->position().batch == 2);
    for (double value : rest_of_epoch(second, 0, nullptr, "")) seen.push_back(value);
    CHECK(seen == all);
    CHECK(second->position().epoch == 2);
    CHECK(second->position().batch == 0);
    CHECK_ERROR(checkpoint::load_latest(folder.path(), bad),
                "checkpoint: " + (folder / "step-1") + ": part \"loader\": data loader: a position of a " +
                    "loader with seed 3 does not fit one with seed 4");
  }
}

TEST_CASE("a loader names a position that its epoch does not have") {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      Numbers().map(data::transforms::Stack<>()), data::DataLoaderOptions(4).seed(3));
  loader->set_position({0, 6, 3});
  CHECK(rest_of_epoch(loader, 0, nullptr, "").empty());
  loader->set_position({0, 7, 3});
  CHECK_ERROR(loader->begin(), "data loader: cannot go on at batch 7 of an epoch that has 6");
}

}  // namespace
}  // namespace tarn
