#include <tarn/core/emu/text.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <tarn/core/emu/block.h>

extern char** environ;

namespace tarn::inline v1::emu {

namespace {

const char* const kPrelude =
#include <tarn/core/emu/text_prelude.inc>
    ;

// A folder of its own for source, object and log; removed with them.
struct WorkFolder {
  std::string path;
  WorkFolder() {
    const char* base = std::getenv("TMPDIR");
    path = std::string(base && *base ? base : "/tmp") + "/tarn-emu-XXXXXX";
    if (!mkdtemp(path.data())) path.clear();
  }
  ~WorkFolder() {
    if (path.empty()) return;
    for (const char* file : {"/kernel.cpp", "/kernel.so", "/log"}) unlink((path + file).c_str());
    rmdir(path.c_str());
  }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a program with its output in a file; its exit status, or -1 if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// The place after the brace that closes the one at `open`.
size_t after_block(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '{') - (text[i] == '}');
    if (depth == 0) return i + 1;
  }
  return text.size();
}

// The text with an export after each `extern "C" __global__ void name(...) {...}`, in the kernel's own
// namespace and on its last line, so that the lines keep their numbers. The name may have launch bounds
// before it.
std::string with_exports(const std::string& text) {
  std::string out;
  const std::string head = "extern \"C\" __global__ void ", bounds = "__launch_bounds__(";
  size_t done = 0;
  for (size_t at = 0; (at = text.find(head, at)) != std::string::npos;) {
    at += head.size();
    if (text.compare(at, bounds.size(), bounds) == 0)
      at = text.find_first_not_of(" \n", text.find(')', at) + 1);
    size_t end = text.find('(', at), open = text.find('{', at);
    if (end == std::string::npos || open == std::string::npos) break;
    size_t after = after_block(text, open);
    out += text.substr(done, after - done) + " TARN_EMU_EXPORT(" + text.substr(at, end - at) + ")";
    at = done = after;
  }
  return out + text.substr(done);
}

}  // namespace

Compiled compile_text(const std::string& text, const std::string& name) {
  WorkFolder folder;
  if (folder.path.empty()) return {"", "no folder for temporary files can be made"};
  std::string source = folder.path + "/kernel.cpp", object = folder.path + "/kernel.so",
              log = folder.path + "/log";
  {
    std::ofstream file(source);
    file << kPrelude << "#line 1 \"" << name << "\"\n" << with_exports(text);
    if (!file.flush()) return {"", "the source cannot be written to " + folder.path};
  }
  const char* compiler = std::getenv("CXX");
  std::vector<std::string> words{compiler && *compiler ? compiler : "g++",
                                 "-std=c++20",
                                 "-O1",
                                 "-shared",
                                 "-fPIC",
                                 "-nostdinc++",
                                 "-fvisibility=hidden",
                                 "-fno-strict-aliasing",
                                 "-ffp-contract=off",
                                 "-fno-math-errno",
                                 "-w",
                                 source,
                                 "-o",
                                 object};
  if (checking)
    for (const char* word : {"-g1", "-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0",
                             "-nodefaultlibs", "-lm", "-lc"})
      words.push_back(word);
  int status = run_program(words, log);
  if (status == -1) return {"", "the compiler " + words[0] + " cannot be started"};
  return {status == 0 ? read_file(object) : "", read_file(log)};
}

}  // namespace tarn::inline v1::emu
