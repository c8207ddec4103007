#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <tarn/core/error.h>
#include <tarn/distributed/store.h>
#include <tarn/tools/tarn/commands.h>

namespace {

using Clock = std::chrono::steady_clock;
using tarn::str;

// What a child writes to stdout or stderr, cut into lines.
struct Stream {
  int fd = -1;  // -1: at its end
  int to = STDOUT_FILENO;
  std::string rest;
};

struct Rank {
  int rank = 0;
  pid_t pid = 0;
  bool running = true;
  Stream streams[2];
};

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t wrote = write(fd, text.data() + at, text.size() - at);
    if (wrote < 0 && errno != EINTR) return;  // nobody reads any more
    at += size_t(std::max<ssize_t>(wrote, 0));
  }
}

void say(const std::string& text) { write_all(STDERR_FILENO, "tarn run: " + text + "\n"); }

// A line ends with \n, or with \r where a program draws over it.
void put_lines(const Rank& rank, Stream& stream, bool at_end) {
  std::string out, prefix = str("[", rank.rank, "] ");
  for (size_t end; (end = stream.rest.find_first_of("\r\n")) != std::string::npos;) {
    if (end > 0 || stream.rest[end] == '\n') out += prefix + stream.rest.substr(0, end) + "\n";
    stream.rest.erase(0, end + 1);
  }
  if (at_end && !stream.rest.empty()) {
    out += prefix + stream.rest + "\n";
    stream.rest.clear();
  }
  write_all(stream.to, out);
}

// False at the end of the stream.
bool read_some(Rank& rank, Stream& stream) {
  char block[1 << 16];
  ssize_t got = read(stream.fd, block, sizeof block);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) stream.rest.append(block, size_t(got));
  put_lines(rank, stream, got <= 0);
  if (got > 0) return true;
  close(stream.fd);
  stream.fd = -1;
  return false;
}

int cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::vector<std::string> environment(const RunOptions& o, int local_rank, int port) {
  std::vector<std::pair<std::string, std::string>> ours = {
      {"RANK", str(o.node_rank * o.nproc + local_rank)},
      {"LOCAL_RANK", str(local_rank)},
      {"WORLD_SIZE", str(o.nnodes * o.nproc)},
      {"LOCAL_WORLD_SIZE", str(o.nproc)},
      {"GROUP_RANK", str(o.node_rank)},
      {"MASTER_ADDR", o.master_addr},
      {"MASTER_PORT", str(port)},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},  // the store is served by this process
  };
  if (!std::getenv("OMP_NUM_THREADS"))
    ours.push_back({"OMP_NUM_THREADS", str(std::max(1, cpus() / o.nproc))});
  std::vector<std::string> all;
  for (char** at = environ; *at; ++at) {
    std::string setting = *at, name = setting.substr(0, setting.find('='));
    bool replaced =
        std::any_of(ours.begin(), ours.end(), [&](const auto& pair) { return pair.first == name; });
    if (!replaced) all.push_back(setting);
  }
  for (const auto& [name, value] : ours) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

class Launcher {
 public:
  explicit Launcher(const RunOptions& options) : o_(options) {
    sigemptyset(&signals_);
    for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    signal_fd_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
    tarn::check(signal_fd_ >= 0, "tarn run: ", std::strerror(errno));
  }

  int run() {
    int port = o_.master_port;
    if (o_.node_rank == 0) {
      store_ = std::make_unique<tarn::distributed::TCPStore>(
          o_.master_addr, tarn::distributed::TCPStoreOptions{.port = uint16_t(port), .is_server = true});
      port = store_->port();
    }
    for (int local_rank = 0; local_rank < o_.nproc; ++local_rank) start(local_rank, port);
    while (is_busy()) turn();
    for (Rank& rank : ranks_)
      for (Stream& stream : rank.streams) put_lines(rank, stream, /*at_end=*/true);
    return status_;
  }

 private:
  void start(int local_rank, int port) {
    // All that allocates happens before fork(): the store's thread may hold the allocator's lock.
    std::vector<std::string> variables = environment(o_, local_rank, port), command = o_.command;
    std::vector<char*> envp = pointers(variables), argv = pointers(command);
    std::string failure = str("cannot start ", command[0], ": ");
    int pipes[2][2];
    for (auto& pipe : pipes) tarn::check(pipe2(pipe, O_CLOEXEC) == 0, "tarn run: ", std::strerror(errno));
    const pid_t parent = getpid();
    pid_t pid = fork();
    tarn::check(pid >= 0, "tarn run: cannot start a process: ", std::strerror(errno));
    if (pid == 0) {
      // A group of its own: signals reach what the program starts, and Ctrl-C comes from us alone, once.
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(1);
      sigprocmask(SIG_UNBLOCK, &signals_, nullptr);
      signal(SIGPIPE, SIG_DFL);
      int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
      dup2(null, STDIN_FILENO);
      dup2(pipes[0][1], STDOUT_FILENO);
      dup2(pipes[1][1], STDERR_FILENO);
      execvpe(argv[0], argv.data(), envp.data());
      const char* why = std::strerror(errno);
      for (const char* part : {failure.c_str(), why, "\n"})
        (void)!write(STDERR_FILENO, part, std::strlen(part));
      _exit(127);
    }
    setpgid(pid, pid);
    Rank rank;
    rank.rank = o_.node_rank * o_.nproc + local_rank;
    rank.pid = pid;
    for (int i = 0; i < 2; ++i) {
      close(pipes[i][1]);
      fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
      rank.streams[i].fd = pipes[i][0];
      rank.streams[i].to = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
    }
    ranks_.push_back(rank);
  }

  // While a rank runs; then until its output ends, but not longer than a moment: what a rank has left running
  // may hold the pipe open for ever.
  bool is_busy() {
    bool open = false;
    for (const Rank& rank : ranks_) {
      if (rank.running) return true;
      for (const Stream& stream : rank.streams) open |= stream.fd >= 0;
    }
    if (!drain_until_) drain_until_ = Clock::now() + std::chrono::milliseconds(200);
    return open && Clock::now() < *drain_until_;
  }

  void turn() {
    std::vector<pollfd> polled = {{signal_fd_, POLLIN, 0}};
    std::vector<std::pair<Rank*, Stream*>> sources = {{nullptr, nullptr}};
    for (Rank& rank : ranks_)
      for (Stream& stream : rank.streams)
        if (stream.fd >= 0) {
          polled.push_back({stream.fd, POLLIN, 0});
          sources.push_back({&rank, &stream});
        }
    int limit = kill_at_ || drain_until_ ? 50 : -1;
    if (poll(polled.data(), polled.size(), limit) < 0) return;
    for (size_t i = 1; i < polled.size(); ++i)
      if (polled[i].revents) read_some(*sources[i].first, *sources[i].second);
    if (polled[0].revents) take_signals();
    if (kill_at_ && Clock::now() >= *kill_at_) {
      say(str("still running after ", o_.grace, " s: SIGKILL"));
      send_to_all(SIGKILL);
      kill_at_.reset();
    }
  }

  void take_signals() {
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof info) == sizeof info) {
      int number = int(info.ssi_signo);
      if (number == SIGCHLD) continue;
      if (status_ == 0) status_ = 128 + number;
      stop(number);
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) ended(pid, status);
  }

  void ended(pid_t pid, int status) {
    auto found =
        std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.pid == pid; });
    if (found == ranks_.end()) return;
    found->running = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (status_ != 0) return;  // we stopped it, or it is not the first
    bool killed = WIFSIGNALED(status);
    status_ = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    std::string how =
        killed ? str("was killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")
               : str("ended with exit status ", WEXITSTATUS(status));
    bool others = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; });
    say(str("rank ", found->rank, " (process ", int64_t(pid), ") ", how,
            others ? "; stopping the others" : ""));
    if (others) stop(SIGTERM);
  }

  void stop(int signal) {
    send_to_all(signal);
    if (!kill_at_)
      kill_at_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o_.grace));
  }

  void send_to_all(int signal) {
    for (const Rank& rank : ranks_)
      if (rank.running) kill(-rank.pid, signal);
  }

  const RunOptions o_;
  std::unique_ptr<tarn::distributed::TCPStore> store_;
  std::vector<Rank> ranks_;
  sigset_t signals_;
  int signal_fd_ = -1;
  int status_ = 0;
  std::optional<Clock::time_point> kill_at_, drain_until_;
};

}  // namespace

int run_ranks(const RunOptions& options) {
  tarn::check(options.node_rank < options.nnodes, "tarn run: --node-rank is ", options.node_rank,
              ", but --nnodes is ", options.nnodes);
  tarn::check(options.nnodes == 1 || options.master_port > 0, "tarn run: several hosts need a --master-port");
  return Launcher(options).run();
}
