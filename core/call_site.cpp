#include <tarn/core/call_site.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include <tarn/core/error.h>

extern char** environ;

namespace tarn::inline v1::detail {

namespace {

// The end of this thread's stack, 0 if unknown. A frame pointer of code that keeps none may hold anything, so
// that no address outside the stack may be read.
uintptr_t stack_end() {
  thread_local uintptr_t end = [] {
    pthread_attr_t attr;
    void* start = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return uintptr_t(0);
    bool known = pthread_attr_getstack(&attr, &start, &size) == 0;
    pthread_attr_destroy(&attr);
    return known ? reinterpret_cast<uintptr_t>(start) + size : uintptr_t(0);
  }();
  return end;
}

}  // namespace

[[gnu::no_sanitize("address")]] CallSite this_call() {
  CallSite site;
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const uintptr_t end = stack_end();
  while (site.count < CallSite::kFrames && frame % sizeof(void*) == 0 && frame + 2 * sizeof(void*) <= end) {
    void** at = reinterpret_cast<void**>(frame);
    if (!at[1]) break;
    site.frames[site.count++] = at[1];
    auto next = reinterpret_cast<uintptr_t>(at[0]);
    if (next <= frame) break;
    frame = next;
  }
  return site;
}

namespace {

// The standard output of a command that takes no shell.
std::string output_of(const std::vector<std::string>& command) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; !failed && (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, size_t(n));
  close(pipe_ends[0]);
  if (!failed) waitpid(pid, nullptr, 0);
  return out;
}

// A function's name up to its arguments: "tarn::v1::relu", "main::{lambda".
std::string_view name_part(std::string_view function) {
  return function.substr(0, function.find_first_of("({<"));
}

bool is_ours(std::string_view function) {
  std::string_view name = name_part(function);
  for (std::string_view space : {"tarn::", "std::"})
    if (name.substr(0, space.size()) == space || name.find(std::string(" ").append(space)) != name.npos)
      return true;
  return false;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string file_part(std::string_view place) {
  place = place.substr(0, place.find(" (discriminator"));
  size_t slash = place.rfind('/');
  return std::string(slash == place.npos ? place : place.substr(slash + 1));
}

// The first frame of an object that is the user's, from the pairs of lines that addr2line -f -i prints.
std::string first_foreign(std::string_view text) {
  while (!text.empty()) {
    std::string_view function = take_line(text), place = take_line(text);
    if (function.empty() || function == "??" || is_ours(function)) continue;
    // A function of our headers that was inlined goes by the name of its caller.
    if (place.find("/include/tarn/") != place.npos) continue;
    if (place.substr(0, 2) == "??") return std::string(function);
    return file_part(place);
  }
  return "";
}

}  // namespace

std::string describe(const CallSite& site) {
  for (int i = 0; i < site.count; ++i) {
    Dl_info info;
    if (!dladdr(site.frames[i], &info) || !info.dli_fname) continue;
    // Programs that are not position-independent are loaded where they were linked.
    auto address = reinterpret_cast<uintptr_t>(site.frames[i]) - 1;
    auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", size_t(base == 0x400000 ? address : address - base));
    std::string object = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/self/exe";
    if (object == "/proc/self/exe") object = str("/proc/", int64_t(getpid()), "/exe");
    std::string place = first_foreign(output_of({"addr2line", "-f", "-i", "-C", "-e", object, text}));
    if (!place.empty()) return place;
  }
  return "an unknown place";
}

}  // namespace tarn::inline v1::detail
