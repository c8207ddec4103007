// The kernel cache and the host compiler under everything that can go wrong: right numbers always, at worst
// on the tile interpreter.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <tarn/compile/cache.h>
#include <tarn/compile/counters.h>
#include <tarn/compile/host_compiler.h>
#include <tarn/tests/compile/lower_support.h>
#include <tarn/tests/temp_dir.h>

extern char** environ;

namespace {

using namespace tarn;
using namespace tarn::testing;
using namespace tarn::detail;
namespace fs = std::filesystem;

// Sets a variable of the environment for a scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, had_ = true;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

std::string write_file(const std::string& path, const std::string& text, int mode = 0600) {
  std::ofstream(path) << text;
  chmod(path.c_str(), mode_t(mode));
  return path;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string script(const TempDir& dir, const std::string& body) {
  return write_file(dir / "compiler", "#!/bin/sh\n" + body + "\n", 0700);
}

std::string opened_at(const std::string& folder) {
  std::string why;
  return KernelCache::open_at(folder, &why) ? "" : why;
}

// A group that no other case makes: `salt` decides its number of additions.
std::string run_group(int salt) {
  GroupMaker g(Dims{40});
  int x = g.input(formula_tensor({40}));
  int y = g.apply(*kRowOps[generic::kRow_exp][0], {x});
  for (int i = 0; i < salt; ++i) y = g.apply(*kRowOps[generic::kRow_add][0], {y, x}, {Scalar(1.5)});
  g.output(y);
  GroupSpec spec = g.spec();
  g.spoil();
  FusedGroup(spec).run(g.places().data(), g.scalars().data());
  return g.wrong();
}

}  // namespace

TEST_CASE("a cache entry is found again, and a changed one is thrown away") {
  TempDir dir;
  std::string why;
  auto cache = KernelCache::open_at(dir / "kernels", &why);
  REQUIRE(cache);
  auto add = [&] {
    std::string file = write_file(cache->temporary(), "\177ELF of a kernel");
    return cache->add(file, "source 1", &why);
  };
  CHECK(cache->find("source 1") == "");
  std::string path = add();
  REQUIRE(path != "");
  CHECK(cache->find("source 1") == path);
  CHECK(cache->find("source 2") == "");
  std::string good = read_file(path);

  struct Change {
    const char* name;
    std::function<void()> make;
  };
  const Change changes[] = {
      {"a flipped bit", [&] { write_file(path, "\177ELF of a kerneL" + good.substr(16)); }},
      {"cut off", [&] { write_file(path, good.substr(0, good.size() - 3)); }},
      {"empty", [&] { write_file(path, ""); }},
      {"of other origin",
       [&] {
         write_file(dir / "other", "\177ELF of a kernel");
         fs::rename(cache->add(dir / "other", "source 2", &why), path);
       }},
      {"writable by others", [&] { chmod(path.c_str(), 0666); }},
      {"a link",
       [&] {
         write_file(dir / "target", good);
         fs::remove(path);
         fs::create_symlink(dir / "target", path);
       }},
  };
  for (const Change& change : changes) {
    INFO(change.name);
    change.make();
    CHECK(cache->find("source 1") == "");
    CHECK(!fs::exists(fs::symlink_status(path)));
    CHECK(add() == path);
    CHECK(cache->find("source 1") == path);
  }
}

TEST_CASE("a cache folder that is not ours alone is refused") {
  TempDir dir;
  fs::create_directory(dir / "real");
  fs::create_directory_symlink(dir / "real", dir / "link");
  CHECK(opened_at(dir / "link") == dir / "link is a link");
  fs::create_directory(dir / "open");
  chmod((dir / "open").c_str(), 0777);
  CHECK(opened_at(dir / "open") == dir / "open can be written by others; chmod go-w it");
  write_file(dir / "file", "");
  CHECK(opened_at(dir / "file") == dir / "file is not a folder");
  CHECK(opened_at(dir / "missing/deeper").find("No such file") != std::string::npos);
  CHECK(opened_at(dir / "new") == "");
  struct stat info;
  REQUIRE(stat((dir / "new").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  if (geteuid() == 0) {
    fs::create_directory(dir / "theirs");
    REQUIRE(chown((dir / "theirs").c_str(), 65534, 65534) == 0);
    CHECK(opened_at(dir / "theirs") == dir / "theirs belongs to another user");
  }
}

TEST_CASE("a cache is listed, trimmed oldest first, cleared, and swept of what dead processes left") {
  TempDir dir;
  std::string why;
  auto cache = KernelCache::open_at(dir / "kernels", &why);
  REQUIRE(cache);
  for (int i = 0; i < 3; ++i) {
    std::string path = cache->add(write_file(cache->temporary(), "\177ELF" + std::string(1000, 'x')),
                                  str("source ", i), &why);
    timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  REQUIRE(cache->entries().size() == 3);
  CHECK(cache->entries()[0].used == 1000);
  cache->trim(cache->entries()[0].bytes * 2);
  CHECK(cache->find("source 0") == "");
  CHECK(cache->find("source 1") != "");
  write_file(dir / "kernels/tmp-999999999-1", "");
  write_file(str(dir / "kernels/tmp-", long(getpid()), "-77"), "");
  CHECK(opened_at(dir / "kernels") == "");
  CHECK(!fs::exists(dir / "kernels/tmp-999999999-1"));
  CHECK(fs::exists(str(dir / "kernels/tmp-", long(getpid()), "-77")));
  CHECK(cache->clear() == 2);
  CHECK(cache->entries().empty());
}

TEST_CASE("a compiler that fails is described, and one that hangs is stopped") {
  TempDir dir;
  std::string source = write_file(dir / "a.cpp", "int f() { return 1; }"), library = dir / "a.so";
  auto outcome = [&](const std::string& body, int seconds = 20) {
    return compile_library({script(dir, body), "", "-O1"}, source, library, seconds);
  };
  CHECK(outcome("echo no such option; exit 1") == str(dir / "compiler", " exited with 1: no such option\n"));
  CHECK(outcome("kill -SEGV $$") == str(dir / "compiler", " died of signal 11"));
  CHECK(outcome("yes complaint | head -c 3000000 >&2; exit 2").size() < 800);
  auto start = std::chrono::steady_clock::now();
  CHECK(outcome("sleep 100", 1) == str(dir / "compiler", " took longer than 1 s and was stopped"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(compile_library({dir / "none", "", ""}, source, library) ==
        str(dir / "none", " could not be started"));
}

TEST_CASE("groups run in the interpreter where no kernel can be built") {
  TierScope scope(TierChoice::Native);
  struct Trouble {
    const char *name, *script;  // null: no compiler there
    bool spoils_cache;
  };
  const std::string to = "while [ \"$1\" != -o ]; do shift; done; ";
  const std::string garbage = to + "echo garbage > $2", half = to + "printf '\\177ELF garbage' > $2";
  const Trouble troubles[] = {{"a compiler that does not exist", nullptr, false},
                              {"a compiler that exits with 1", "exit 1", false},
                              {"a compiler that writes garbage", garbage.c_str(), false},
                              {"a compiler that writes half a library", half.c_str(), false},
                              {"a cache that is a file", "exit 0", true}};
  int salt = 20;
  for (const Trouble& trouble : troubles) {
    INFO(trouble.name);
    TempDir dir;
    Variable cache("XDG_CACHE_HOME", dir / "cache"), cxx("TARN_CXX", dir / "compiler");
    fs::create_directory(dir / "cache");
    if (trouble.script) script(dir, trouble.script);
    if (trouble.spoils_cache) write_file(dir / "cache/tarn", "");
    int64_t failed = compile_counters().kernels_failed, tier0 = compile_counters().tier0_runs;
    CHECK(run_group(++salt) == "");
    CHECK(compile_counters().kernels_failed == failed + 1);
    CHECK(compile_counters().tier0_runs == tier0 + 1);
    int left = 0;
    if (fs::is_directory(dir / "cache/tarn/kernels"))
      for (const auto& entry : fs::directory_iterator(dir / "cache/tarn/kernels"))
        left += entry.is_regular_file();
    CHECK(left == 0);
  }
}

TEST_CASE("no compiler in PATH is said by name") {
  Variable path("PATH", ""), cxx("TARN_CXX", "");
  std::string why;
  CHECK(!find_host_compiler(&why));
  CHECK(why == "no C++ compiler is in PATH; install g++ or set TARN_CXX");
}

TEST_CASE("a kernel of the cache is used by the next process", "[.cache_child]") {
  if (!std::getenv("TARN_TEST_CACHE_CHILD")) {
    SUCCEED("started by the case below");
    return;
  }
  TierScope scope(TierChoice::Native);
  int64_t before = compile_counters().tier1_runs + compile_counters().tier0_runs;
  for (int salt = 1; salt < 4; ++salt) REQUIRE(run_group(salt) == "");
  CHECK(compile_counters().tier1_runs + compile_counters().tier0_runs == before + 3);
  std::ofstream(str(std::getenv("XDG_CACHE_HOME"), "/", long(getpid())))
      << compile_counters().kernels_built << " " << compile_counters().kernels_from_cache;
}

namespace {

pid_t start_child() {
  char program[] = "/proc/self/exe", tag[] = "[.cache_child]";
  char* arguments[] = {program, tag, nullptr};
  pid_t pid = -1;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn(&pid, program, &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

int outcome_of(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("eight processes share a cache that is wiped under them", "[slow]") {
  TempDir dir;
  Variable cache("XDG_CACHE_HOME", dir.path()), child_mode("TARN_TEST_CACHE_CHILD", "1");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(start_child());
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::string why;
    if (auto open = KernelCache::open_at(dir / "tarn/kernels", &why)) open->clear();
  }
  for (pid_t child : children) CHECK(outcome_of(child) == 0);
  // One more builds what is missing, the next one builds nothing.
  pid_t warm = start_child();
  CHECK(outcome_of(warm) == 0);
  pid_t last = start_child();
  CHECK(outcome_of(last) == 0);
  CHECK(read_file(dir / std::to_string(last)) == "0 3");
  for (const auto& entry : fs::directory_iterator(dir / "tarn/kernels"))
    CHECK(entry.path().filename().string().find("tmp-") == std::string::npos);
}
