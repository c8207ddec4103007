// Calls every op with plain and with corner arguments in child processes, which write down each call before
// they make it: a signal, a hang, an exception that is no tarn::Error and memory beyond what the sizes
// justify each fail, with the call's text. TARN_FUZZ_CALLS sets the number of calls, TARN_FUZZ_SEED the first
// of their seeds; the text of a failure says how to make that one call again.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include <tarn/core/allocator.h>
#include <tarn/tarn.h>
#include <tarn/tests/ops/fuzz_calls.h>
#include <tarn/tests/temp_dir.h>

extern char** environ;

namespace tarn::testing {

namespace {

constexpr int kMaxOps = 2000;
constexpr uint64_t kCallsPerChild = 500;
constexpr int64_t kMemoryLimit = int64_t(1) << 30;    // that Tarn may hold
constexpr int64_t kResidentLimit = int64_t(4) << 30;  // of the process, with the sanitizer's shadow
constexpr std::chrono::seconds kHang{5};

// What child and parent share.
struct Board {
  std::atomic<uint64_t> finished;  // calls of this child
  std::atomic<uint64_t> call;      // the seed of the one being made
  char text[4000];                 // that call
  char complaint[4000];            // an exception of a wrong kind, ""
  uint32_t calls[kMaxOps], successes[kMaxOps];
};

class SharedBoard {
 public:
  explicit SharedBoard(const std::string& path) {
    int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(file >= 0);
    REQUIRE(ftruncate(file, sizeof(Board)) == 0);
    void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    REQUIRE(memory != MAP_FAILED);
    board_ = static_cast<Board*>(memory);
  }
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  Board* operator->() { return board_; }

 private:
  Board* board_;
};

template <size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

// Reads every element of small results, so that one that points nowhere is seen.
void touch(const Tensors& results) {
  for (const Tensor& t : results)
    if (t.defined() && t.numel() <= (1 << 20)) t.clone(MemoryFormat::Contiguous);
}

void run_backward(const Tensors& results) {
  Tensors roots;
  for (const Tensor& t : results)
    if (t.defined() && t.requires_grad() && t.numel() <= (1 << 16)) roots.push_back(t.sum());
  for (const Tensor& root : roots) root.backward({}, /*retain_graph=*/true);
}

// A valid call of a row, on spoiled values, other layouts and now and then a wrong operand.
Tensors call_row(const Row& row, Draw& draw, Board* board) {
  const Sample& sample = row.samples[draw.below(row.samples.size())];
  ScalarType dtype = row.dtypes[draw.below(row.dtypes.size())];
  Tensors inputs;
  std::string text = row.name + ": " + sample.text;
  bool wrong = draw.chance(20), gradients = draw.chance(40);
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    bool indices = sample.inputs[i].dtype == kLong || sample.inputs[i].dtype == kInt;
    Tensor t = make(sample.inputs[i], int(i), dtype, draw.layout());
    if (draw.chance(indices ? 5 : 40)) draw.spoil(t);
    if (wrong && draw.chance(50)) t = draw.argument<Tensor>();
    if (t.defined() && gradients && t.is_floating_point()) t.requires_grad_();
    text += t.defined() ? str("; ", t.dtype(), t.sizes(), " strides ", t.strides()) : "; undefined";
    inputs.push_back(t);
  }
  copy_text(board->text, text);
  Tensors results = sample.call(inputs);
  if (gradients) run_backward(results);
  return results;
}

bool make_call(const std::string& name, const FuzzedOp& op, Draw& draw, Board* board) {
  bool by_row = !op.rows.empty() && (op.signatures.empty() || draw.chance(65));
  copy_text(board->text, name);
  try {
    if (by_row) {
      touch(call_row(*op.rows[draw.below(op.rows.size())], draw, board));
    } else {
      // Arguments are drawn inside the call; the seed tells them.
      touch(op.signatures[draw.below(op.signatures.size())](draw));
    }
    return true;
  } catch (const Error&) {
    return false;
  } catch (const std::exception& e) {
    copy_text(board->complaint,
              str(board->text, "(", draw.text(), ") threw ", e.what(), ", which is no tarn::Error"));
    return false;
  }
}

// One call of a seed.
void make_call(uint64_t seed, Board* board) {
  Draw draw(seed);
  auto op = std::next(fuzzed_ops().begin(), int64_t(draw.below(fuzzed_ops().size())));
  board->call = seed;
  bool success = make_call(op->first, op->second, draw, board);
  auto index = size_t(std::distance(fuzzed_ops().begin(), op));
  board->calls[index]++, board->successes[index] += success;
}

int64_t resident_bytes(pid_t process) {
  std::ifstream file(str("/proc/", process, "/statm"));
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::string how_to_repeat(uint64_t seed) {
  return str("; repeat: TARN_FUZZ_SEED=", seed, " TARN_FUZZ_CALLS=1 test_ops 'every op survives*'");
}

// "" or what became of the child.
std::string watch(pid_t child, Board* board) {
  uint64_t seen = board->finished;
  auto since = std::chrono::steady_clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
      return str("ended with status ", status, " in ", board->text, how_to_repeat(board->call));
    }
    if (board->finished != seen) {
      seen = board->finished;
      since = std::chrono::steady_clock::now();
    }
    bool hangs = std::chrono::steady_clock::now() - since > kHang && seen > 0;
    bool grows = resident_bytes(child) > kResidentLimit;
    if (hangs || grows) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return str(hangs ? "took more than 5 s in " : "took more than 4 GiB in ", board->text,
                 how_to_repeat(board->call));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

pid_t start_child(const std::string& path, uint64_t first, uint64_t count) {
  setenv("TARN_FUZZ_CHILD", str(first, " ", count, " ", path).c_str(), 1);
  const char* arguments[] = {"test_ops", "[op_fuzz_child]", nullptr};
  pid_t child = 0;
  int failed =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ);
  unsetenv("TARN_FUZZ_CHILD");
  REQUIRE(failed == 0);
  return child;
}

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("calls of one child of the op fuzzer", "[.][op_fuzz_child]") {
  const char* order = std::getenv("TARN_FUZZ_CHILD");
  if (!order) {
    SUCCEED("only the fuzzer's parent orders calls");
    return;
  }
  unsigned long long first = 0, count = 0;
  char path[1000];
  REQUIRE(std::sscanf(order, "%llu %llu %999s", &first, &count, path) == 3);
  SharedBoard board(path);
  cpu::set_memory_limit(kMemoryLimit);
  for (uint64_t i = 0; i < count; ++i) {
    make_call(first + i, board.operator->());
    board->finished++;
  }
}

TEST_CASE("every op survives plain and corner arguments", "[slow][fuzz]") {
  const uint64_t calls = number_from("TARN_FUZZ_CALLS", 20000), seed = number_from("TARN_FUZZ_SEED", 1);
  TempDir folder;
  const std::string path = folder.path() + "/board";
  SharedBoard board(path);
  for (uint64_t done = 0; done < calls; done += kCallsPerChild) {
    uint64_t first = seed + done, end = seed + std::min(calls, done + kCallsPerChild);
    while (first < end) {  // after a failure the rest of the child's calls is made by another
      board->finished = 0;
      std::string failure = watch(start_child(path, first, end - first), board.operator->());
      if (failure.empty()) break;
      FAIL_CHECK(failure);
      first = board->call + 1;
    }
    if (board->complaint[0]) FAIL_CHECK(board->complaint << how_to_repeat(board->call));
    board->complaint[0] = 0;
  }
  size_t index = 0;
  for (const auto& [name, op] : fuzzed_ops()) {
    uint32_t n = board->calls[index], good = board->successes[index];
    ++index;
    if (n < 20) continue;
    INFO(name << ": " << good << " of " << n
              << " calls succeeded; at least 40 % must, or refusing everything passes");
    // Two standard errors less where the calls are few.
    CHECK(double(good) + std::sqrt(double(n)) >= 0.4 * double(n));
  }
  for (const std::string& name : undrawable_ops())
    std::printf("fuzz: nothing draws the arguments of %s\n", name.c_str());
}

}  // namespace tarn::testing
