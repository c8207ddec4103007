#include <tarn/compile/host_compiler.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <tarn/core/cpu/features.h>
#include <tarn/core/error.h>

extern char** environ;

namespace tarn::inline v1::detail {

namespace {

// The file that running `name` would start; "" if there is none.
std::string in_path(const std::string& name) {
  auto runs = [](const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::string all = path ? path : "";
  for (size_t at = 0; at < all.size();) {
    size_t end = std::min(all.find(':', at), all.size());
    std::string candidate = all.substr(at, end - at) + "/" + name;
    if (end > at && runs(candidate)) return candidate;
    at = end + 1;
  }
  return "";
}

// The same bits as the library's own kernels: nothing contracts, NaN and infinities count.
std::string flags_here() {
  std::string flags = "-std=c++20 -O3 -fPIC -shared -w -ffp-contract=off -fno-math-errno -fno-trapping-math ";
  if (cpu_isa() != CpuIsa::Generic) flags += str("-march=x86-64-", cpu_isa_name(cpu_isa()), " ");
  return flags;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

// Starts the command in a process group of its own, its output in a pipe. -1 if that failed.
pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_adddup2(&files, output, 2);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  int failed = posix_spawn(&pid, command[0].c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed) return -1;
  setpriority(PRIO_PROCESS, id_t(pid), 19);
  return pid;
}

// Reads until everyone has closed the pipe or time is up; keeps the beginning. False: time is up.
bool drain(int pipe, int seconds, std::string& said) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  char buffer[4096];
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd ready = {pipe, POLLIN, 0};
    int events = poll(&ready, 1, int(left.count()));
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return false;
    ssize_t n = read(pipe, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (said.size() < 600) said.append(buffer, size_t(n));
  }
}

}  // namespace

int host_vector_bytes() { return cpu_isa() == CpuIsa::V4 ? 64 : cpu_isa() == CpuIsa::V3 ? 32 : 16; }

std::optional<HostCompiler> find_host_compiler(std::string* why) {
  const char* asked = std::getenv("TARN_CXX");
  std::vector<std::string> names = {"g++", "clang++", "c++"};
  if (asked && *asked) names = {asked};
  for (const std::string& name : names) {
    std::string path = in_path(name);
    struct stat info;
    if (path.empty() || stat(path.c_str(), &info) != 0) continue;
    return HostCompiler{path, str(path, " ", int64_t(info.st_size), " ", int64_t(info.st_mtime)),
                        flags_here()};
  }
  *why = asked && *asked ? str("TARN_CXX names ", asked, ", which cannot be run")
                         : "no C++ compiler is in PATH; install g++ or set TARN_CXX";
  return {};
}

std::string compile_library(const HostCompiler& compiler, const std::string& source,
                            const std::string& library, int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return str("pipe: ", std::strerror(errno));
  std::vector<std::string> command = {compiler.path};
  for (const std::string& flag : words(compiler.flags)) command.push_back(flag);
  for (const char* word : {"-x", "c++", source.c_str(), "-o", library.c_str()}) command.push_back(word);
  pid_t pid = start(command, ends[1]);
  close(ends[1]);
  std::string said;
  bool in_time = pid > 0 && drain(ends[0], seconds, said);
  close(ends[0]);
  if (pid <= 0) return str(compiler.path, " could not be started");
  if (!in_time) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) return str(compiler.path, " took longer than ", seconds, " s and was stopped");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  said = said.substr(0, 600);
  return str(compiler.path, WIFSIGNALED(status) ? " died of signal " : " exited with ",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), said.empty() ? "" : ": ", said);
}

}  // namespace tarn::inline v1::detail
