#include <tarn/core/parallel.h>
#include <tarn_config.h>

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include <tarn/core/error.h>

#if TARN_THREADS_STD
#include <tarn/core/cpu/thread_pool.h>
#else
#include <omp.h>
#endif

namespace tarn::inline v1 {

namespace {

constexpr int kMaxThreads = 1024;

thread_local bool t_serial = false;

// A forked child has only the forking thread; its runtime's other threads are gone, and a parallel region
// would wait for them for ever.
std::atomic<bool> g_forked_child{false};

int count_usable_cpus() {
  cpu_set_t* set = CPU_ALLOC(4096);
  size_t bytes = CPU_ALLOC_SIZE(4096);
  int count = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 1;
  CPU_FREE(set);
  return count < 1 ? 1 : count > kMaxThreads ? kMaxThreads : count;
}

// OMP_NUM_THREADS may be a list, one number per nesting level; the first is ours. What OpenMP would ignore,
// we ignore.
int initial_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    char* end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (end != text && (*end == '\0' || *end == ',') && value >= 1 && value <= kMaxThreads) return int(value);
  }
  return count_usable_cpus();
}

std::atomic<int>& num_threads() {
  static std::atomic<int> threads = [] {
    pthread_atfork(nullptr, nullptr, [] { g_forked_child.store(true, std::memory_order_relaxed); });
    return initial_threads();
  }();
  return threads;
}

// Keeps the exception of the lowest piece that threw.
class FirstException {
 public:
  void keep_current(int64_t piece) {
    std::lock_guard lock(mutex_);
    if (!exception_ || piece < piece_) {
      exception_ = std::current_exception();
      piece_ = piece;
    }
  }
  void rethrow() {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
  int64_t piece_ = 0;
};

// [begin, end) in `count` pieces whose lengths differ by at most one.
struct Pieces {
  int64_t begin, length, longer;  // the first `longer` pieces have length + 1
  Pieces(int64_t first, int64_t last, int64_t count)
      : begin(first), length((last - first) / count), longer((last - first) % count) {}
  int64_t start(int64_t i) const { return begin + i * length + (i < longer ? i : longer); }
};

#if TARN_THREADS_STD
template <class F>
void run_team(int64_t threads, const F& work) {
  detail::ThreadPool::instance().run(threads, detail::ThreadPool::Work(work));
}
#else
// The runtime may give fewer threads than asked for, so a member takes every size-th piece. The clause leaves
// the host program's omp_set_num_threads alone.
template <class F>
void run_team(int64_t threads, const F& work) {
#pragma omp parallel num_threads(int(threads))
  {
    int64_t size = omp_get_num_threads();
    for (int64_t i = omp_get_thread_num(); i < threads; i += size) work(i);
  }
}
#endif

bool must_run_serially() {
  if (t_serial || g_forked_child.load(std::memory_order_relaxed)) return true;
#if TARN_THREADS_STD
  return false;
#else
  return omp_in_parallel();  // the host's own region: its threads already fill the machine
#endif
}

}  // namespace

void set_num_threads(int64_t threads) {
  check(threads >= 1 && threads <= kMaxThreads, "set_num_threads: must be between 1 and ", kMaxThreads,
        ", got ", threads);
  num_threads().store(int(threads), std::memory_order_relaxed);
}

int get_num_threads() { return num_threads().load(std::memory_order_relaxed); }

bool in_parallel_region() { return t_serial; }

namespace detail {

bool split_everything = false;

SerialScope::SerialScope() : before_(t_serial) { t_serial = true; }
SerialScope::~SerialScope() { t_serial = before_; }

void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body) {
  int64_t most = (end - begin) / (grain > 1 && !split_everything ? grain : 1);
  int64_t threads = get_num_threads() < most ? get_num_threads() : most;
  if (threads <= 1 || must_run_serially()) return body(begin, end);

  Pieces pieces(begin, end, threads);
  FirstException first;
  run_team(threads, [&](int64_t i) {
    SerialScope scope;
    try {
      body(pieces.start(i), pieces.start(i + 1));
    } catch (...) {
      first.keep_current(i);
    }
  });
  first.rethrow();
}

}  // namespace detail
}  // namespace tarn::inline v1
