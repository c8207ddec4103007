#include <tarn/data/loader_engine.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include <tarn/core/fault.h>
#include <tarn/core/parallel.h>
#include <tarn/data/sample.h>

namespace tarn::inline v1::data::detail {

namespace {

struct Job {
  size_t slot = 0;
  uint64_t epoch = 0;
  std::vector<size_t> indices;
  bool done = false;
  std::exception_ptr error;
};

std::string message_of(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::exception_ptr with_sample(const SampleContext& context, std::exception_ptr original) {
  std::string where;
  if (context.position >= 0) {
    where = str("sample ", context.indices[size_t(context.position)]);
  } else {
    where = str("batch of ", context.indices.size(), " samples");
    if (!context.indices.empty()) where += str(", the first is ", context.indices[0]);
  }
  return std::make_exception_ptr(
      WorkerException(str("data loader: ", where, ": ", message_of(original)), original));
}

void run(Job& job, LoaderJobs& jobs, size_t worker, uint64_t seed) {
  if (tarn::detail::fault(41)) seed += worker;
  SampleScope scope(seed, job.epoch, job.indices);
  try {
    jobs.make(worker, job.slot, job.indices);
  } catch (...) {
    job.error = with_sample(scope.context(), std::current_exception());
  }
}

}  // namespace

// The mutex guards all below it but `threads`. A job is in `issued` from the moment its indices are drawn
// until it is taken, and in `queue` until a worker begins it.
struct LoaderEngine::State {
  State(LoaderJobs& jobs, const LoaderConfig& config) : jobs(jobs), config(config) {}

  LoaderJobs& jobs;
  const LoaderConfig config;
  uint64_t epoch = 0;
  bool exhausted = true;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable wake;   // for workers: a job or the end
  std::condition_variable ready;  // for the caller: a job is done
  std::deque<std::unique_ptr<Job>> issued;
  std::deque<Job*> queue;
  std::vector<size_t> free_slots;
  bool ending = false;

  void work(size_t worker);
  void start_threads();
  void end_threads();
  void issue();
  void drop_queue();
  void discard();
  std::unique_ptr<Job> wait_for_job();
  bool next_inline();
  bool next_threaded();
};

void LoaderEngine::State::work(size_t worker) {
  // One core per worker: the cores are the training step's.
  tarn::detail::SerialScope serial;
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return ending || !queue.empty(); });
    if (ending) return;
    Job* job = queue.front();
    queue.pop_front();
    lock.unlock();
    run(*job, jobs, worker, config.seed);
    lock.lock();
    job->done = true;
    ready.notify_one();
  }
}

void LoaderEngine::State::start_threads() {
  if (!threads.empty()) return;
  ending = false;
  threads.reserve(config.workers);
  try {
    for (size_t i = 0; i < config.workers; ++i) threads.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& e) {
    size_t started = threads.size();
    end_threads();
    fail("data loader: cannot start worker thread ", started + 1, " of ", config.workers, ": ", e.what());
  }
}

void LoaderEngine::State::end_threads() {
  {
    std::lock_guard lock(mutex);
    ending = true;
    drop_queue();
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

// Keeps max_jobs batches under way.
void LoaderEngine::State::issue() {
  while (!exhausted && !free_slots.empty()) {
    std::optional<std::vector<size_t>> indices = jobs.next_indices();
    if (!indices) {
      exhausted = true;
      return;
    }
    auto job = std::make_unique<Job>();
    job->epoch = epoch;
    job->indices = std::move(*indices);
    std::lock_guard lock(mutex);
    job->slot = free_slots.back();
    free_slots.pop_back();
    queue.push_back(job.get());
    issued.push_back(std::move(job));
    wake.notify_one();
  }
}

// With the mutex held: what no worker has begun will not be begun.
void LoaderEngine::State::drop_queue() {
  for (Job* job : queue) job->done = true;
  queue.clear();
}

// Forgets all batches under way, when those that a worker has begun are done.
void LoaderEngine::State::discard() {
  std::unique_lock lock(mutex);
  drop_queue();
  ready.wait(lock,
             [&] { return std::all_of(issued.begin(), issued.end(), [](auto& job) { return job->done; }); });
  issued.clear();
  free_slots.clear();
  for (size_t slot = config.max_jobs; slot > 0; --slot) free_slots.push_back(slot - 1);
}

std::unique_ptr<Job> LoaderEngine::State::wait_for_job() {
  std::unique_lock lock(mutex);
  auto found = issued.end();
  auto is_ready = [&] {
    auto last = config.ordered ? issued.begin() + 1 : issued.end();
    found = std::find_if(issued.begin(), last, [](auto& job) { return job->done; });
    return found != last;
  };
  if (config.timeout_ms > 0) {
    bool in_time = ready.wait_for(lock, std::chrono::milliseconds(config.timeout_ms), is_ready);
    check(in_time, "data loader: no batch within the timeout of ", config.timeout_ms, " ms; ", config.workers,
          " workers are at ", issued.size() - queue.size(), " batches, ", queue.size(), " wait");
  } else {
    ready.wait(lock, is_ready);
  }
  std::unique_ptr<Job> job = std::move(*found);
  issued.erase(found);
  return job;
}

bool LoaderEngine::State::next_threaded() {
  issue();
  if (issued.empty()) return false;
  std::unique_ptr<Job> job = wait_for_job();
  if (!job->error) jobs.take(job->slot);
  {
    std::lock_guard lock(mutex);
    free_slots.push_back(job->slot);
  }
  if (job->error) std::rethrow_exception(job->error);
  issue();
  return true;
}

bool LoaderEngine::State::next_inline() {
  if (exhausted) return false;
  Job job;
  job.epoch = epoch;
  std::optional<std::vector<size_t>> indices = jobs.next_indices();
  if (!indices) {
    exhausted = true;
    return false;
  }
  job.indices = std::move(*indices);
  run(job, jobs, 0, config.seed);
  if (job.error) std::rethrow_exception(job.error);
  jobs.take(0);
  return true;
}

LoaderEngine::LoaderEngine(LoaderJobs& jobs, const LoaderConfig& config)
    : state_(std::make_unique<State>(jobs, config)) {}

LoaderEngine::~LoaderEngine() { state_->end_threads(); }

void LoaderEngine::start(uint64_t epoch) {
  state_->discard();
  state_->epoch = epoch;
  state_->exhausted = false;
  if (state_->config.workers == 0) return;
  state_->start_threads();
}

bool LoaderEngine::next() { return state_->config.workers ? state_->next_threaded() : state_->next_inline(); }

void LoaderEngine::stop() {
  state_->end_threads();
  state_->discard();
  state_->exhausted = true;
}

}  // namespace tarn::inline v1::data::detail
