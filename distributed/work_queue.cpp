#include <tarn/distributed/work_queue.h>

#include <signal.h>

#include <exception>

#include <tarn/core/mode.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::distributed::detail {

struct WorkQueue::Task : Work {
  Task(const char* name, std::function<void()> run) : name(name), run(std::move(run)) {}

  bool isCompleted() override {
    std::lock_guard lock(mutex);
    return done;
  }
  bool isSuccess() override {
    std::lock_guard lock(mutex);
    return done && !error;
  }
  bool wait(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex);
    auto is_done = [this] { return done; };
    if (timeout == kUnsetTimeout)
      finished.wait(lock, is_done);  // the operation has a timeout of its own
    else
      check(finished.wait_for(lock, timeout, is_done), name, ": not done within ",
            double(timeout.count()) / 1000, " s");
    if (error) std::rethrow_exception(error);
    return true;
  }

  void finish(std::exception_ptr e) {
    run = nullptr;  // lets go of the tensors before anyone learns that it is done
    std::lock_guard lock(mutex);
    error = std::move(e);
    done = true;
    finished.notify_all();
  }

  const char* name;
  std::function<void()> run;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr error;
};

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

WorkPtr WorkQueue::push(const char* name, std::function<void()> task) {
  auto work = std::make_shared<Task>(name, std::move(task));
  std::lock_guard lock(mutex_);
  tasks_.push_back(work);
  if (!running_) {
    if (thread_.joinable()) thread_.join();  // it has left run()
    running_ = true;
    SigpipeBlocked blocked;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return work;
}

void WorkQueue::run() {
  // The ranks of one host share its cores: an operation's own work stays on this thread.
  tarn::detail::SerialScope serial;
  NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (keeps_thread_) changed_.wait(lock, [this] { return !tasks_.empty() || closing_; });
    if (tasks_.empty()) break;
    std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      task->run();
    } catch (...) {
      error = std::current_exception();
    }
    task->finish(std::move(error));
    task.reset();
    lock.lock();
  }
  running_ = false;
}

namespace {
sigset_t sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}
}  // namespace

SigpipeBlocked::SigpipeBlocked() {
  sigset_t block = sigpipe(), before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

SigpipeBlocked::~SigpipeBlocked() {
  sigset_t block = sigpipe();
  if (!was_blocked_) pthread_sigmask(SIG_UNBLOCK, &block, nullptr);
}

}  // namespace tarn::inline v1::distributed::detail
