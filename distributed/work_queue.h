// WorkQueue: tasks that run one after the other on a thread of their own. Private to distributed/.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <tarn/distributed/process_group.h>

namespace tarn::inline v1::distributed::detail {

class WorkQueue {
 public:
  // With `keeps_thread` the thread waits for the next task; else it ends when there is none, and the next one
  // gets a new thread.
  explicit WorkQueue(bool keeps_thread) : keeps_thread_(keeps_thread) {}
  // Runs what is queued, then ends the thread.
  ~WorkQueue();
  WorkPtr push(const char* name, std::function<void()> task);

 private:
  struct Task;
  void run();

  const bool keeps_thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> tasks_;
  std::thread thread_;
  bool running_ = false, closing_ = false;
};

// While it lives, threads that this thread starts have SIGPIPE blocked: a peer that is gone is an error to
// report, not a reason to die.
class SigpipeBlocked {
 public:
  SigpipeBlocked();
  ~SigpipeBlocked();

 private:
  bool was_blocked_;
};

}  // namespace tarn::inline v1::distributed::detail
