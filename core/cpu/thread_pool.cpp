#include <tarn/core/cpu/thread_pool.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tarn::inline v1::detail {

namespace {

// How long a thread looks for work, or for the end of it, before it sleeps. Waking takes 5 to 50 us, and the
// operations of a training step follow each other faster; on a busy machine each look is lost to others.
constexpr std::chrono::microseconds kPatience{250};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `ready` came true before patience ran out.
template <class Ready>
bool spin_until(const Ready& ready) {
  auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - begin < kPatience);
  return false;
}

// The job's number, the next index that nobody has taken, and the number of indices, in one word: who
// exchanges it for one with the next index has that index, and the job cannot end before it is done.
struct Ticket {
  uint64_t word;
  static constexpr int kBits = 16;
  static Ticket make(uint64_t job, uint64_t next, uint64_t count) {
    return {job << (2 * kBits) | next << kBits | count};
  }
  int64_t next() const { return (word >> kBits) & ((1u << kBits) - 1); }
  int64_t count() const { return word & ((1u << kBits) - 1); }
  uint64_t job() const { return word >> (2 * kBits); }
  bool has_more() const { return next() < count(); }
  Ticket taken() const { return {word + (uint64_t(1) << kBits)}; }
};

}  // namespace

struct ThreadPool::State {
  std::mutex busy;  // held by the caller that has the pool
  Work work;        // of the present job; written before its ticket
  std::atomic<uint64_t> ticket{0};
  std::atomic<int64_t> finished{0};  // indices of the present job that are done

  std::mutex mutex;  // for sleeping only
  std::condition_variable wake, done;
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  int64_t workers = 0;  // threads started

  bool has_more() const { return Ticket{ticket.load(std::memory_order_seq_cst)}.has_more(); }

  // Takes and runs indices until none is left.
  void drain() {
    Ticket seen{ticket.load(std::memory_order_acquire)};
    while (seen.has_more()) {
      if (!ticket.compare_exchange_weak(seen.word, seen.taken().word, std::memory_order_acq_rel)) continue;
      work(seen.next());
      int64_t count = seen.count();
      // After the last one the caller may begin another job: nothing of this one is read any more.
      if (finished.fetch_add(1, std::memory_order_seq_cst) + 1 == count && caller_sleeps.load()) {
        std::lock_guard lock(mutex);
        done.notify_all();
      }
      seen.word = ticket.load(std::memory_order_acquire);
    }
  }

  void work_for_ever() {
    while (true) {
      drain();
      if (spin_until([&] { return has_more(); })) continue;
      std::unique_lock lock(mutex);
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      wake.wait(lock, [&] { return has_more(); });
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  void publish(const Work& job, int64_t count) {
    work = job;
    finished.store(0, std::memory_order_relaxed);
    uint64_t number = Ticket{ticket.load(std::memory_order_relaxed)}.job() + 1;
    ticket.store(Ticket::make(number, 0, uint64_t(count)).word, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) == 0) return;
    std::lock_guard lock(mutex);
    wake.notify_all();
  }

  void wait_for(int64_t count) {
    auto all_done = [&] { return finished.load(std::memory_order_seq_cst) == count; };
    if (spin_until(all_done)) return;
    std::unique_lock lock(mutex);
    caller_sleeps.store(true);
    done.wait(lock, all_done);
    caller_sleeps.store(false);
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
  for (; s.workers < count - 1; ++s.workers) {
    try {
      std::thread([&s] { s.work_for_ever(); }).detach();
    } catch (const std::exception&) {
      break;  // no more threads to be had: those there are, and the caller, do the work
    }
  }
  s.publish(work, count);
  s.drain();
  s.wait_for(count);
}

}  // namespace tarn::inline v1::detail
