// `tarn run` and `tarn info` as a user calls them.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include <tarn/distributed/socket.h>
#include <tarn/tests/support.h>
#include <tarn/tests/temp_dir.h>
#include <test_config.h>

namespace tarn {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::string kTarn = TARN_BUILD_DIR "/bin/tarn";

// The sanitizers' and faults' builds may leave the command out.
bool command_is_built() {
  if (std::filesystem::exists(kTarn)) return true;
  WARN(kTarn << " is not built");
  SUCCEED();
  return false;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Command {
  TempDir folder;
  pid_t pid = 0;

  explicit Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kTarn);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::string out = folder / "out", err = folder / "err";
    pid = fork();
    if (pid == 0) {
      int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      int to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (dup2(to_out, 1) == 1 && dup2(to_err, 2) == 2) execv(kTarn.c_str(), argv.data());
      _exit(126);
    }
  }
  // The exit status; 1000 + the signal that ended it.
  int finish() {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::string out() const { return read(folder / "out"); }
  std::string err() const { return read(folder / "err"); }
  bool wait_for(const std::string& text) const {
    for (auto end = Clock::now() + 20s; Clock::now() < end; std::this_thread::sleep_for(5ms))
      if (out().find(text) != std::string::npos) return true;
    return false;
  }
};

std::vector<std::string> shell(std::vector<std::string> options, const std::string& script) {
  options.insert(options.begin(), "run");
  for (const std::string& word : {std::string("sh"), std::string("-c"), script}) options.push_back(word);
  return options;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("tarn run gives each rank torchrun's variables and prefixes its lines") {
  if (!command_is_built()) return;
  Command command(shell({"--nproc", "3", "--master-port", "0"},
                        "echo rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, at $MASTER_ADDR; echo oops >&2; "
                        "printf 'no end of line'"));
  CHECK(command.finish() == 0);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(has(command.out(), str("[", rank, "] rank ", rank, " of 3, local ", rank, ", at 127.0.0.1\n")));
    CHECK(has(command.out(), str("[", rank, "] no end of line\n")));
    CHECK(has(command.err(), str("[", rank, "] oops\n")));
  }
}

TEST_CASE("tarn run numbers the ranks of several hosts") {
  if (!command_is_built()) return;
  Command command(shell({"--nproc", "2", "--nnodes", "3", "--node-rank", "2", "--master-addr", "host0",
                         "--master-port", "1234"},
                        "echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"));
  CHECK(command.finish() == 0);
  CHECK(has(command.out(), "[4] 4/6 host0:1234\n"));
  CHECK(has(command.out(), "[5] 5/6 host0:1234\n"));
}

TEST_CASE("a rank that fails ends the others and gives its status") {
  if (!command_is_built()) return;
  auto begin = Clock::now();
  Command command(shell({"--nproc", "3"}, "if [ $RANK = 1 ]; then exit 7; fi; exec sleep 60"));
  CHECK(command.finish() == 7);
  CHECK(Clock::now() - begin < 20s);
  CHECK(has(command.err(), "tarn run: rank 1 (process "));
  CHECK(has(command.err(), ") ended with exit status 7; stopping the others\n"));
}

TEST_CASE("a rank killed by a signal gives 128 and the signal; one that ignores SIGTERM is killed") {
  if (!command_is_built()) return;
  auto begin = Clock::now();
  Command command(
      shell({"--nproc", "2", "--grace", "0.2"},
            "if [ $RANK = 0 ]; then sleep 0.3; kill -9 $$; fi; trap '' TERM; sleep 60; sleep 60"));
  CHECK(command.finish() == 128 + SIGKILL);
  CHECK(Clock::now() - begin < 20s);
  CHECK(has(command.err(), "rank 0 (process "));
  CHECK(has(command.err(), "was killed by signal 9 (Killed); stopping the others\n"));
  CHECK(has(command.err(), "tarn run: still running after 0.2 s: SIGKILL\n"));
}

TEST_CASE("Ctrl-C reaches every rank once") {
  if (!command_is_built()) return;
  Command command(shell({"--nproc", "2"},
                        "trap 'echo stopped by INT; exit 0' INT; echo ready; while :; do sleep 0.05; done"));
  CHECK(command.wait_for("[0] ready"));
  CHECK(command.wait_for("[1] ready"));
  kill(command.pid, SIGINT);
  CHECK(command.finish() == 128 + SIGINT);
  CHECK(has(command.out(), "[0] stopped by INT\n"));
  CHECK(has(command.out(), "[1] stopped by INT\n"));
}

TEST_CASE("ranks end with a launcher that is killed") {
  if (!command_is_built()) return;
  Command command(shell({"--nproc", "1"}, "echo pid $$.; exec sleep 60"));
  REQUIRE(command.wait_for("."));
  auto child = pid_t(std::stol(command.out().substr(command.out().find("pid ") + 4)));
  kill(command.pid, SIGKILL);
  CHECK(command.finish() == 1000 + SIGKILL);
  bool gone = false;
  for (auto end = Clock::now() + 10s; !gone && Clock::now() < end; std::this_thread::sleep_for(5ms)) {
    // Gone, or dead and not yet collected by whoever inherited it.
    std::string state = read(str("/proc/", child, "/stat"));
    gone = state.empty() || has(state, ") Z ");
  }
  CHECK(gone);
}

TEST_CASE("tarn run starts nobody where its port is in use") {
  if (!command_is_built()) return;
  auto taken = distributed::detail::listen_on({"127.0.0.1", 0});
  const int port = distributed::detail::port_of(taken);
  Command command(shell({"--nproc", "2", "--master-port", std::to_string(port)}, "echo started"));
  CHECK(command.finish() == 1);
  CHECK(command.out() == "");
  CHECK(command.err() == str("init_process_group: port ", port,
                             " on 127.0.0.1 is in use by another program; set MASTER_PORT, or --master-port "
                             "of tarn run, to a free one\n"));
}

TEST_CASE("tarn says what is wrong with a call") {
  if (!command_is_built()) return;
  Command unknown({"run", "--nproc", "1", "no-such-program"});
  CHECK(unknown.finish() == 127);
  CHECK(has(unknown.err(), "[0] cannot start no-such-program: No such file or directory\n"));
  Command nothing({"run", "--nproc", "2"});
  CHECK(nothing.finish() == 1);
  CHECK(nothing.err() == "tarn run: which program? tarn run --nproc 2 PROGRAM [ARGUMENT...]\n");
  Command option({"run", "--nprocs", "2", "true"});
  CHECK(option.finish() == 1);
  CHECK(option.err() == "tarn run: there is no option --nprocs; see tarn run --help\n");
  Command none({});
  CHECK(none.finish() != 0);
}

TEST_CASE("tarn info names version and libraries") {
  if (!command_is_built()) return;
  Command command({"info"});
  CHECK(command.finish() == 0);
  for (const char* name : {"version", "kernels", "threads", "Eigen", "oneDNN", "Gloo", "NCCL", "CPU", "CUDA"})
    CHECK((has(command.out(), str("\n", name, " ")) || command.out().rfind(str(name, " "), 0) == 0));
}

TEST_CASE("tarn cache lists and clears the kernels on disk") {
  if (!command_is_built()) return;
  TempDir home;
  setenv("XDG_CACHE_HOME", home.path().c_str(), 1);
  Command list({"cache", "list"});
  CHECK(list.finish() == 0);
  CHECK(has(list.out(), "0 kernels, 0.0 MiB in " + home.path()));
  Command clear({"cache", "clear"});
  CHECK(clear.finish() == 0);
  CHECK(has(clear.out(), "deleted 0 kernels in " + home.path()));
  setenv("XDG_CACHE_HOME", "/proc/no/such", 1);
  Command refused({"cache", "list"});
  CHECK(refused.finish() == 1);
  CHECK(refused.err().rfind("tarn cache: ", 0) == 0);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tarn
