// Saves of checkpoints that are stopped at every system call: by an error, by kill -9, by a loss of power.
// What loads afterwards is the old checkpoint or the new one, bit for bit, and the next save works.
#include <tarn/serialize/checkpoint.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>

#include <tarn/serialize/system.h>
#include <tarn/tests/data/files.h>
#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;
using checkpoint::State;
using detail::sys::Call;

// Step n holds numbers that follow from n, in two shards and a value.
struct Numbers {
  Tensor x = formula_tensor({6}), y = formula_tensor({3});
  int64_t n = 0;

  State state() {
    State state;
    state.add("x", x).add("y", y).add("n", n);
    return state;
  }
  void set(int64_t step) {
    n = step;
    x = formula_tensor({6}, kFloat, {.b = 60 + step});
    y = formula_tensor({3}, kFloat, {.b = 90 + step});
  }
  void save(const std::string& dir, int64_t step) {
    set(step);
    checkpoint::save(dir, state(), step, {.keep_last = 2, .shard_bytes = 20});
  }
};

// The step that loads from `dir`, 0 if none does; its numbers are that step's.
int64_t loaded_step(const std::string& dir) {
  Numbers got, want;
  auto found = checkpoint::load_latest(dir, got.state());
  if (!found) return 0;
  want.set(found->step);
  CHECK(got.n == want.n);
  CHECK_SAME(got.x, want.x);
  CHECK_SAME(got.y, want.y);
  return found->step;
}

// --- an error, or the end of the process, at call number `fatal_call` ---

int calls = 0, fatal_call = 0, fatal_error = 0;

int stop(const Call&) {
  if (++calls != fatal_call) return 0;
  if (fatal_error == 0) kill(getpid(), SIGKILL);
  return fatal_error;
}

// Whether the save came to its end.
bool save_with_error(const std::string& dir, int64_t step, int call, int error) {
  calls = 0, fatal_call = call, fatal_error = error;
  detail::sys::observe(stop);
  std::string text = error_of([&] { Numbers().save(dir, step); });
  detail::sys::observe(nullptr);
  return text == "no error";
}

bool save_with_kill(const std::string& dir, int64_t step, int call) {
  pid_t child = fork();
  if (child == 0) {
    save_with_error(dir, step, call, 0);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status);
}

// Runs `save(dir, step, call)`, which is stopped at one call, for each call that a save makes.
template <class Save>
void check_each_call(Save save) {
  int count = 0;
  for (int call = 1;; ++call) {
    INFO("call " << call);
    TempDir folder;
    bool ended = save(folder.path(), 1, call);
    int64_t step = loaded_step(folder.path());
    CHECK((step == 0 || step == 1));
    Numbers().save(folder.path(), 2);
    CHECK(loaded_step(folder.path()) == 2);

    ended &= save(folder.path(), 3, call);
    step = loaded_step(folder.path());
    CHECK((step == 2 || step == 3));
    Numbers().save(folder.path(), 4);
    CHECK(loaded_step(folder.path()) == 4);
    // Nothing is left of what was begun.
    for (auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK(entry.path().filename().string().find("step-3.tmp") == std::string::npos);
    if (ended && calls < call) break;
    count = call;
  }
  CHECK(count > 20);
}

TEST_CASE("a save that meets an error at any system call leaves the old checkpoint or the new one") {
  for (int error : {ENOSPC, EIO})
    check_each_call([&](const std::string& dir, int64_t step, int call) {
      return save_with_error(dir, step, call, error);
    });
}

TEST_CASE("a save that is killed at any system call leaves the old checkpoint or the new one") {
  // `calls` of the child is not seen here; a save that ended has made fewer calls than asked for.
  calls = 0;
  check_each_call(save_with_kill);
}

// --- a loss of power: what was not flushed is gone ---

// A file, or a folder with the names it has and those that would be found after a crash.
struct Inode {
  bool folder = false;
  std::string data, flushed;
  std::map<std::string, std::shared_ptr<Inode>> names, flushed_names;
};
using Ref = std::shared_ptr<Inode>;

struct Recorded {
  std::string name, path, target, data;
};
std::vector<Recorded> recorded;

int record(const Call& call) {
  recorded.push_back({call.name, call.path, call.target ? *call.target : "",
                      call.data ? std::string(static_cast<const char*>(call.data), call.bytes) : ""});
  return 0;
}

// What a disk holds after some of the calls.
class Disk {
 public:
  explicit Disk(std::string root) : root_path_(std::move(root)) { root_->folder = true; }

  void apply(const Recorded& call) {
    Ref& folder = folder_of(call.path);
    std::string name = last(call.path);
    if (call.name == "create" || call.name == "make_folder") {
      if (folder->names.count(name)) return;
      auto inode = std::make_shared<Inode>();
      inode->folder = call.name == "make_folder";
      folder->names[name] = inode;
    } else if (call.name == "write") {
      folder->names.at(name)->data += call.data;
    } else if (call.name == "fsync") {
      Inode& inode = call.path == root_path_ ? *root_ : *folder->names.at(name);
      inode.flushed = inode.data;
      inode.flushed_names = inode.names;
    } else if (call.name == "rename") {
      Ref inode = folder->names.at(name);
      folder->names.erase(name);
      folder_of(call.target)->names[last(call.target)] = inode;
    } else if (call.name == "unlink" || call.name == "remove_folder") {
      folder->names.erase(name);
    }
  }

  // Writes to `path` what is found when the power is back: names as of the last flush of their folder, or,
  // with `eager`, those of the moment; of files what was flushed.
  void restore(const std::string& path, bool eager) const { restore(*root_, path, eager); }

 private:
  static std::string last(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  Ref& folder_of(const std::string& path) {
    if (path == root_path_) return root_;
    std::string parent = path.substr(0, path.rfind('/'));
    if (parent.size() < root_path_.size()) return outside_;
    return parent == root_path_ ? root_ : folder_of(parent)->names.at(last(parent));
  }

  static void restore(const Inode& folder, const std::string& path, bool eager) {
    std::filesystem::create_directories(path);
    for (const auto& [name, inode] : eager ? folder.names : folder.flushed_names) {
      if (inode->folder)
        restore(*inode, path + "/" + name, eager);
      else
        write_file(path + "/" + name, inode->flushed);
    }
  }

  std::string root_path_;
  Ref root_ = std::make_shared<Inode>(), outside_ = std::make_shared<Inode>();
};

TEST_CASE("a loss of power at any system call leaves the old checkpoint or the new one") {
  TempDir folder;
  recorded.clear();
  std::vector<size_t> ends;
  detail::sys::observe(record);
  for (int64_t step : {1, 2, 3, 4}) {
    Numbers().save(folder.path(), step);
    ends.push_back(recorded.size());
  }
  detail::sys::observe(nullptr);
  REQUIRE(ends.back() > 80);

  Disk disk(folder.path());
  for (size_t done = 0; done <= recorded.size(); ++done) {
    int64_t finished = 0;
    for (size_t end : ends) finished += done >= end;
    for (bool eager : {false, true}) {
      INFO("after " << done << " calls, " << finished << " saves" << (eager ? ", names kept" : ""));
      TempDir after;
      disk.restore(after / "disk", eager);
      int64_t step = loaded_step(after / "disk");
      CHECK((step == finished || step == finished + 1));
    }
    if (done < recorded.size()) disk.apply(recorded[done]);
  }
}

}  // namespace
}  // namespace tarn
