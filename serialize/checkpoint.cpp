#include <tarn/serialize/checkpoint.h>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include <tarn/core/parallel.h>
#include <tarn/serialize/checkpoint_files.h>

namespace tarn::inline v1::checkpoint {

namespace detail {

// A save on its own thread.
struct Job {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  bool reported = false;  // somebody was told the error, or there is none
  std::exception_ptr error;

  void finish(std::exception_ptr result) {
    std::lock_guard lock(mutex);
    error = std::move(result);
    done = true;
    reported = !error;
    finished.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    finished.wait(lock, [this] { return done; });
  }
  // Each error is thrown to one caller of take_over(), but to any number of wait_and_throw().
  void wait_and_throw() {
    wait();
    std::lock_guard lock(mutex);
    reported = true;
    if (error) std::rethrow_exception(error);
  }
  void take_over() {
    wait();
    std::lock_guard lock(mutex);
    if (!std::exchange(reported, true)) std::rethrow_exception(error);
  }
};

namespace {

// The last save to each folder.
struct Jobs {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Job>> by_dir;
};

Jobs& jobs() {
  static Jobs* jobs = new Jobs;  // leaked on purpose: threads may outlive main
  return *jobs;
}

std::shared_ptr<Job> last_job(const std::string& dir) {
  std::lock_guard lock(jobs().mutex);
  auto found = jobs().by_dir.find(dir);
  return found == jobs().by_dir.end() ? nullptr : found->second;
}

// Signals are the program's threads' to handle.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

std::string key_of(const std::string& dir) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(dir)).string();
}

// The handles of the dir's and the snapshot's earlier jobs are let go of here, so that memory is not held.
std::shared_ptr<Job> begin_job(const std::string& dir, StateData& data) {
  auto job = std::make_shared<Job>();
  data.job = job;
  std::lock_guard lock(jobs().mutex);
  jobs().by_dir[key_of(dir)] = job;
  return job;
}

void write_caught(Job& job, const std::string& dir, const Snapshot& snapshot, int64_t step,
                  int64_t keep_last) {
  try {
    write(dir, snapshot, step, keep_last);
    job.finish(nullptr);
  } catch (...) {
    job.finish(std::current_exception());
  }
}

}  // namespace

}  // namespace detail

using namespace detail;

Saving& Saving::operator=(Saving&& other) noexcept {
  if (job_ && job_ != other.job_) job_->wait();
  job_ = std::move(other.job_);
  return *this;
}

Saving::~Saving() {
  if (job_) job_->wait();
}

void Saving::wait() {
  if (job_) job_->wait_and_throw();
}

bool Saving::done() const {
  if (!job_) return true;
  std::lock_guard lock(job_->mutex);
  return job_->done;
}

Saving async_save(const std::string& dir, const State& state, int64_t step, const Options& options) {
  check(!dir.empty(), "checkpoint: the folder's name is empty");
  check(step >= 0, "checkpoint: step must not be negative, got ", step);
  check(options.keep_last >= 0, "checkpoint: keep_last must not be negative, got ", options.keep_last);
  check(options.shard_bytes > 0, "checkpoint: shard_bytes must be above 0, got ", options.shard_bytes);
  StateData& data = StateData::of(state);
  if (auto last = last_job(key_of(dir))) last->take_over();
  if (data.job) data.job->wait();
  take_snapshot(data, options.shard_bytes);

  std::shared_ptr<Job> job = begin_job(dir, data);
  auto work = [job, dir, snapshot = data.snapshot, step, keep = options.keep_last] {
    tarn::detail::SerialScope serial;
    write_caught(*job, dir, *snapshot, step, keep);
  };
  try {
    SignalsBlocked blocked;
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& e) {
    write_caught(*job, dir, *data.snapshot, step, options.keep_last);  // no thread to be had: at once
  }
  return Saving(job);
}

void save(const std::string& dir, const State& state, int64_t step, const Options& options) {
  async_save(dir, state, step, options).wait();
}

namespace {

Loaded load_from(const std::string& path, const State& state, std::vector<std::string> skipped) {
  Read read = detail::read(path);
  restore(StateData::of(state), read.contents, "checkpoint: " + path + ": ");
  return {path, read.step, std::move(skipped)};
}

// The one that dir/latest names, then those before it, then those after it.
std::vector<Name> candidates(const std::string& dir, std::vector<std::string>& skipped) {
  std::vector<Name> names = list(dir);
  std::optional<Name> latest = read_latest(dir);
  if (!latest) {
    if (!names.empty()) skipped.push_back("checkpoint: " + dir + "/latest is missing or damaged");
    return names;
  }
  auto first = std::partition_point(names.begin(), names.end(), [&](const Name& n) { return n > *latest; });
  if (first == names.end() || *first != *latest)
    skipped.push_back("checkpoint: " + dir + "/" + latest->text() + ": there is no such folder");
  std::rotate(names.begin(), first, names.end());
  return names;
}

}  // namespace

Loaded load(const std::string& path, const State& state) { return load_from(path, state, {}); }

std::optional<Loaded> load_latest(const std::string& dir, const State& state) {
  std::vector<std::string> skipped;
  std::optional<Read> read;
  std::string path;
  for (const Name& name : candidates(dir, skipped)) {
    path = dir + "/" + name.text();
    try {
      read = detail::read(path);
      break;
    } catch (const Error& e) {
      skipped.push_back(e.what());
    }
  }
  if (!read) {
    if (skipped.empty()) return std::nullopt;
    std::string all;
    for (const std::string& text : skipped) all += "\n  " + text;
    fail("checkpoint: ", dir, " holds no checkpoint that can be loaded:", all);
  }
  restore(StateData::of(state), read->contents, "checkpoint: " + path + ": ");
  return Loaded{path, read->step, std::move(skipped)};
}

}  // namespace tarn::inline v1::checkpoint
