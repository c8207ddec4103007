// The demo program as a user runs it, on a small data set of the same format.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <nlohmann/json.hpp>

#include <tarn/core/ops/creation.h>
#include <tarn/serialize/safetensors.h>
#include <tarn/tests/absent.h>
#include <tarn/tests/data/files.h>
#include <tarn/tests/python.h>
#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;

const std::string kProgram = TARN_BUILD_DIR "/examples/resnet/resnet";

// Images and labels; the label is the quarter of the picture that is bright.
void write_images(const std::string& prefix, uint32_t count) {
  std::string images = big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t label = i * 7 % 4;
    labels.push_back(char(label));
    for (uint32_t p = 0; p < 784; ++p) {
      bool bright = p / 28 / 14 * 2 + p % 28 / 14 == label;
      images.push_back(char((bright ? 150 : 0) + (i * 31 + p * 17) % 100));
    }
  }
  write_file(prefix + "-images-idx3-ubyte.gz", gzipped(images));
  write_file(prefix + "-labels-idx1-ubyte.gz", gzipped(labels));
}

struct Demo {
  TempDir folder;
  explicit Demo(uint32_t train = 320, uint32_t test = 100) {
    write_images(folder / "train", train);
    write_images(folder / "t10k", test);
  }

  std::string out(const std::string& name) const { return folder / name; }

  std::vector<std::string> arguments(const std::string& name, std::vector<std::string> more) const {
    std::vector<std::string> all = {kProgram,  "--data",       folder.path(), "--out",
                                    out(name), "--batch-size", "32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Starts the program with its output in the file `log`.
  pid_t start(std::vector<std::string> arguments) const {
    std::string log = folder / "log";
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t child = fork();
    if (child == 0) {
      int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2) execv(argv[0], argv.data());
      _exit(127);
    }
    return child;
  }

  int finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  int run(const std::string& name, std::vector<std::string> more) const {
    return finish(start(arguments(name, std::move(more))));
  }
  std::string log() const { return read_file(folder / "log"); }
};

// The demo is not part of the sanitizers' and faults' builds.
bool demo_is_built() {
  if (std::filesystem::exists(kProgram)) return true;
  WARN(kProgram << " is not built");
  SUCCEED();
  return false;
}

// The folder of a run's latest checkpoint; empty if there is none.
std::string latest(const std::string& run) {
  std::ifstream file(run + "/checkpoints/latest");
  std::string name;
  return file >> name ? run + "/checkpoints/" + name : "";
}

// 0 also while one checkpoint takes the place of another.
int64_t finished_epochs(const std::string& run) {
  std::ifstream file(latest(run) + "/manifest.json");
  auto manifest = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return manifest.is_object() ? manifest["body"]["values"]["epoch"].get<int64_t>() : 0;
}

TEST_CASE("the demo learns, and leaves checkpoint, curves and picture") {
  if (!demo_is_built()) return;
  Demo demo;
  int status = demo.run("a", {"--epochs", "4", "--lr", "0.05"});
  INFO(demo.log());
  REQUIRE(status == 0);
  CHECK(demo.log().find("test accuracy 100.00 %") != std::string::npos);
  CHECK(finished_epochs(demo.out("a")) == 4);
  CHECK(read_file(demo.out("a/sheet.png")).substr(1, 3) == "PNG");

  if (auto read = ask_python("data/read_events.py", demo.out("a"))) {
    CHECK(read->find("scalar loss/train 39 ") != std::string::npos);
    CHECK(read->find("scalar accuracy/test 40 100\n") != std::string::npos);
    CHECK(read->find("image test images 40 ") != std::string::npos);
    CHECK(read->find("histogram layers.0.conv1.weight 40 ") != std::string::npos);
  }
  if (auto read =
          ask_python("serialize/read_safetensors.py", latest(demo.out("a")) + "/shard-00000.safetensors")) {
    CHECK(read->find("model.layers.2.shortcut.1.running_var float32 [128]") != std::string::npos);
    CHECK(read->find("optimizer.state.0.momentum_buffer float32 [16, 1, 3, 3]") != std::string::npos);
  }
}

// What the programs started meanwhile see of TARN_CUDA.
struct DeviceChoice {
  explicit DeviceChoice(const char* mode) { setenv("TARN_CUDA", mode, 1); }
  ~DeviceChoice() { unsetenv("TARN_CUDA"); }
};

#ifndef __SANITIZE_ADDRESS__  // an emulated step takes seconds there
TEST_CASE("the demo's epoch on the emulated device leaves the weights of the CPU's") {
  if (absent_emulation() || !demo_is_built()) return;
  Demo demo(64, 20);  // two steps: rounding grows by the step
  std::vector<std::string> options = {"--epochs", "1", "--lr", "0.02", "--workers", "0"};
  REQUIRE(demo.run("cpu", options) == 0);
  DeviceChoice emulated("emulated");
  options.insert(options.end(), {"--device", "cuda"});
  int status = demo.run("cuda", options);
  INFO(demo.log());
  REQUIRE(status == 0);
  CHECK(demo.log().find("cuda, ") != std::string::npos);
  auto on_cpu = safetensors::load(latest(demo.out("cpu")) + "/shard-00000.safetensors").tensors;
  auto on_cuda = safetensors::load(latest(demo.out("cuda")) + "/shard-00000.safetensors").tensors;
  CHECK(on_cuda.size() == on_cpu.size());
  for (const auto& [name, value] : on_cpu) {
    INFO(name);
    CHECK_CLOSE(on_cuda.at(name), value, {1e-3, 1e-4});
  }
  // What was saved there goes on here.
  options.back() = "cpu";
  options.push_back("--resume");
  CHECK(demo.run("cuda", options) == 0);
  CHECK(demo.log().find("resumed ") != std::string::npos);
}
#endif

TEST_CASE("the demo names a device that is not there") {
  if (!demo_is_built()) return;
  Demo demo;
  auto error_on = [&](const char* mode, const char* device) {
    DeviceChoice choice(mode);
    CHECK(WEXITSTATUS(demo.run("a", {"--device", device})) == 1);
    return demo.log();
  };
  CHECK(error_on("off", "gpu") == "resnet: Device: unknown device 'gpu'; use cpu, cuda or cuda:N\n");
  CHECK(error_on("off", "cuda") ==
        "resnet: to: device cuda cannot be used: cuda: switched off by TARN_CUDA=off\n");
#ifndef __SANITIZE_ADDRESS__
  if (TARN_TEST_HAS_EMU)
    CHECK(error_on("emulated", "cuda:7") == "resnet: to: no such device cuda:7: there are 2\n");
#endif
}

TEST_CASE("the demo learns on two ranks that tarn run starts") {
  if (!demo_is_built()) return;
  const std::string command = TARN_BUILD_DIR "/bin/tarn";
  if (!std::filesystem::exists(command)) {
    WARN(command << " is not built");
    SUCCEED();
    return;
  }
  Demo demo;
  // Batches of 16 on each rank are the batches of 32 of one process.
  std::vector<std::string> arguments =
      demo.arguments("two", {"--batch-size", "16", "--epochs", "4", "--lr", "0.05", "--workers", "0"});
  for (const char* word : {"2", "--nproc", "run"}) arguments.insert(arguments.begin(), word);
  arguments.insert(arguments.begin(), command);
  int status = demo.finish(demo.start(arguments));
  INFO(demo.log());
  REQUIRE(status == 0);
  CHECK(demo.log().find("[0] 2 ranks, each with ") != std::string::npos);
  CHECK(demo.log().find("test accuracy 100.00 %") != std::string::npos);
  CHECK(demo.log().find("[1]") == std::string::npos);
  CHECK(read_file(demo.out("two/sheet.png")).substr(1, 3) == "PNG");
}

TEST_CASE("the demo killed and resumed ends as if it had not been, to the bit") {
  if (!demo_is_built()) return;
  Demo demo;
  REQUIRE(demo.run("whole", {"--epochs", "4", "--threads", "1", "--workers", "0"}) == 0);

  // Other numbers of threads and workers, which must not matter either.
  std::vector<std::string> options = {"--epochs", "4", "--threads", "2", "--workers", "2"};
  pid_t child = demo.start(demo.arguments("parts", options));
  std::string parts = demo.out("parts"), whole = demo.out("whole");
  while (finished_epochs(parts) < 1 && waitpid(child, nullptr, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(child, SIGKILL);
  demo.finish(child);
  REQUIRE(finished_epochs(parts) >= 1);
  options.push_back("--resume");
  int status = demo.run("parts", options);
  INFO(demo.log());
  REQUIRE(status == 0);

  CHECK(demo.log().find("resumed " + parts + "/checkpoints/step-") != std::string::npos);
  REQUIRE(finished_epochs(whole) == 4);
  for (const char* file : {"/shard-00000.safetensors", "/manifest.json"})
    CHECK(read_file(latest(parts) + file) == read_file(latest(whole) + file));
  CHECK(read_file(demo.out("parts/sheet.png")) == read_file(demo.out("whole/sheet.png")));
}

TEST_CASE("the demo resumes from the checkpoint before a damaged one, and says so") {
  if (!demo_is_built()) return;
  Demo demo;
  REQUIRE(demo.run("a", {"--epochs", "2"}) == 0);
  std::string damaged = latest(demo.out("a"));
  std::filesystem::resize_file(damaged + "/shard-00000.safetensors", 1000);
  int status = demo.run("a", {"--epochs", "2", "--resume"});
  INFO(demo.log());
  CHECK(status == 0);
  CHECK(demo.log().find("skipped: checkpoint: " + damaged + ": shard-00000.safetensors has 1000 bytes") !=
        std::string::npos);
  CHECK(demo.log().find("from epoch 2 of 2") != std::string::npos);
  CHECK(finished_epochs(demo.out("a")) == 2);
}

TEST_CASE("the demo stops at Ctrl-C and says how to go on") {
  if (!demo_is_built()) return;
  Demo demo;
  pid_t child = demo.start(demo.arguments("a", {"--epochs", "1000"}));
  while (finished_epochs(demo.out("a")) < 1 && waitpid(child, nullptr, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(child, SIGINT);
  int status = demo.finish(child);
  INFO(demo.log());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(demo.log().find("stopped; start with --resume to go on after epoch ") != std::string::npos);
}

// Megabytes of memory that a process has in use.
double resident(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  int64_t size = 0, pages = 0;
  file >> size >> pages;
  return double(pages) * double(sysconf(_SC_PAGESIZE)) / 1e6;
}

TEST_CASE("the demo's memory does not grow over epochs") {
  if (!demo_is_built()) return;
  Demo demo;
  pid_t child = demo.start(demo.arguments("a", {"--epochs", "1000"}));
  auto memory_after = [&](int64_t epochs) {
    while (finished_epochs(demo.out("a")) < epochs && waitpid(child, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return resident(child);
  };
  double early = memory_after(4), late = memory_after(24);
  kill(child, SIGKILL);
  demo.finish(child);
  INFO(early << " MB, then " << late << " MB");
  CHECK(early > 10);
  // What a busy machine leaves to the loader and the allocator varies by some MB; a tensor kept per step
  // would add 20 MB and more.
  CHECK(late < early + 8);
}

TEST_CASE("the demo names bad options") {
  if (!demo_is_built()) return;
  Demo demo;
  auto refuses = [&](std::vector<std::string> options, const std::string& text) {
    INFO(text);
    CHECK(WEXITSTATUS(demo.run("a", options)) != 0);
    CHECK(demo.log().find(text) != std::string::npos);
  };
  refuses({"--epochs", "0"}, "--epochs: Value 0 not in range");
  refuses({"--epochs", "many"}, "--epochs: Value many not in range");
  refuses({"--lr", "-1"}, "--lr: Value -1 is not a positive number");
  refuses({"--lr", "nan"}, "--lr: Value nan is not a positive number");
  refuses({"--workers", "1000"}, "--workers: Value 1000 not in range");
  refuses({"--thread", "2"}, "--thread");
  refuses({"--batch-size", "500"}, "--batch-size: must be at most 320, got 500");
  refuses({"--data", "/nowhere"}, "apt-get install dataset-fashion-mnist");
}

TEST_CASE("the demo refuses to resume with options that would give another run") {
  if (!demo_is_built()) return;
  Demo demo;
  REQUIRE(demo.run("a", {"--epochs", "1"}) == 0);
  CHECK(demo.run("a", {"--epochs", "2", "--resume"}) != 0);
  CHECK(demo.log().find("part \"--epochs\": was 1 when it was made and is 2 now") != std::string::npos);
}

}  // namespace
}  // namespace tarn
