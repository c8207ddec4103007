#include <tarn/core/cpu/thread_pool.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tarn::inline v1::detail {

struct ThreadPool::State {
  std::mutex busy;  // held by the caller that has the pool

  std::mutex mutex;  // guards all below
  std::condition_variable wake, done;
  Work work;
  int64_t next = 0, count = 0;  // indices [next, count) are not taken yet
  int64_t running = 0;          // taken, not finished
  int64_t workers = 0;          // threads started

  // Takes and runs indices until none is left. Called and left with the lock held.
  void drain(std::unique_lock<std::mutex>& lock) {
    while (next < count) {
      int64_t index = next++;
      Work current = work;
      ++running;
      lock.unlock();
      current(index);
      lock.lock();
      --running;
    }
    if (running == 0) done.notify_all();
  }

  void work_for_ever() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return next < count; });
      drain(lock);
    }
  }
};

ThreadPool::ThreadPool() : state_(new State) {}

ThreadPool& ThreadPool::instance() {
  static ThreadPool* pool = new ThreadPool;
  return *pool;
}

void ThreadPool::run(int64_t count, Work work) {
  State& s = *state_;
  std::unique_lock only(s.busy, std::try_to_lock);
  if (!only) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::unique_lock lock(s.mutex);
  for (; s.workers < count - 1; ++s.workers) {
    try {
      std::thread([&s] { s.work_for_ever(); }).detach();
    } catch (const std::exception&) {
      break;  // no more threads to be had: those there are, and the caller, do the work
    }
  }
  s.work = work;
  s.next = 0;
  s.count = count;
  s.wake.notify_all();
  s.drain(lock);
  s.done.wait(lock, [&] { return s.running == 0; });
  s.count = s.next = 0;
}

}  // namespace tarn::inline v1::detail
