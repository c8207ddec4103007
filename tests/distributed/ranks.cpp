#include <tarn/tests/distributed/ranks.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include <tarn/core/ops/creation.h>
#include <tarn/distributed/socket.h>

namespace tarn::testing {

using distributed::detail::Clock;

namespace {

constexpr const char* kIsRank = "TARN_TEST_RANK";
constexpr auto kPatience = std::chrono::seconds(60);

std::string case_name() { return Catch::getResultCapture().getCurrentTestName(); }

}  // namespace

bool is_rank() { return std::getenv(kIsRank) != nullptr; }
int own_rank() { return std::atoi(std::getenv("RANK")); }
std::string rank_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

uint16_t free_port() {
  return distributed::detail::port_of(distributed::detail::listen_on({"127.0.0.1", 0}));
}

Ranks::Ranks(int count, const Environment& more, bool serve_store) {
  if (serve_store) {
    store_ = std::make_unique<distributed::TCPStore>(
        "127.0.0.1", distributed::TCPStoreOptions{.port = 0, .is_server = true});
    port_ = store_->port();
  } else {
    port_ = free_port();
  }
  for (int rank = 0; rank < count; ++rank) {
    Environment environment = {{kIsRank, "1"},
                               {"RANK", std::to_string(rank)},
                               {"LOCAL_RANK", std::to_string(rank)},
                               {"WORLD_SIZE", std::to_string(count)},
                               {"MASTER_ADDR", "127.0.0.1"},
                               {"MASTER_PORT", std::to_string(port_)},
                               {"OMP_NUM_THREADS", "1"},
                               {"TORCHELASTIC_USE_AGENT_STORE", serve_store ? "True" : "False"}};
    for (const auto& [name, value] : more) environment[name] = value;
    start(rank, environment);
  }
  statuses_.assign(size_t(count), -1);
}

Ranks::~Ranks() {
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    if (statuses_[rank] != -1) continue;
    kill(pids_[rank], SIGKILL);
    waitpid(pids_[rank], nullptr, 0);
  }
}

void Ranks::start(int rank, Environment environment) {
  std::string name = case_name(), log = folder_ / std::to_string(rank);
  std::vector<std::string> settings;
  for (char** at = environ; *at; ++at) {
    std::string setting = *at;
    if (!environment.count(setting.substr(0, setting.find('=')))) settings.push_back(setting);
  }
  for (const auto& [variable, value] : environment) settings.push_back(variable + "=" + value);
  std::vector<char*> argv = {const_cast<char*>("rank"), name.data(), nullptr}, envp;
  for (std::string& setting : settings) envp.push_back(setting.data());
  envp.push_back(nullptr);

  pid_t child = fork();
  if (child == 0) {
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2)
      execve("/proc/self/exe", argv.data(), envp.data());
    _exit(127);
  }
  pids_.push_back(child);
}

int Ranks::finish(int rank) {
  int& status = statuses_[size_t(rank)];
  for (auto deadline = Clock::now() + kPatience; status == -1;) {
    int found = 0;
    if (waitpid(pid(rank), &found, WNOHANG) == pid(rank)) {
      status = found;
    } else if (Clock::now() > deadline) {
      kill(pid(rank), SIGKILL);
      waitpid(pid(rank), &status, 0);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return status;
}

std::string Ranks::output(int rank) const {
  std::ifstream file(folder_ / std::to_string(rank));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Ranks::expect_success() {
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    int status = finish(int(rank));
    INFO("rank " << rank << " said:\n" << output(int(rank)));
    CHECK(status == 0);
  }
}

void check_same_on_all(distributed::ProcessGroup& group, const Tensor& t) {
  std::vector<Tensor> all;
  for (int r = 0; r < group.getSize(); ++r) all.push_back(zeros_like(t));
  group.allgather(all, t)->wait();
  for (const Tensor& other : all) CHECK_SAME(other, t);
}

std::shared_ptr<distributed::ProcessGroup> join(std::chrono::milliseconds timeout, bool shared_memory) {
  auto port = uint16_t(std::atoi(std::getenv("MASTER_PORT")));
  auto store = std::make_shared<distributed::TCPStore>(
      "127.0.0.1", distributed::TCPStoreOptions{.port = port, .timeout = timeout});
  return distributed::make_gloo_group(store, own_rank(), std::atoi(std::getenv("WORLD_SIZE")),
                                      {.timeout = timeout, .shared_memory = shared_memory});
}

}  // namespace tarn::testing
