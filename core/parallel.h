// One thread runtime for every kernel: parallel_for over a range, and parallel_chunks with chunk boundaries
// that do not depend on the number of threads, so that sums over chunks come out the same bit for bit.
#pragma once

#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

// The number of threads one operation may use, the caller included: 1 to 1024, else tarn::Error. It starts as
// OMP_NUM_THREADS where that is set (torchrun sets it), otherwise as the number of CPUs this process may run
// on. Belongs to Tarn alone: OpenMP's own settings in the host program are neither changed nor followed
// afterwards.
TARN_API void set_num_threads(int64_t threads);
TARN_API int get_num_threads();

// True inside the body of parallel_for and on threads that hold a detail::SerialScope.
TARN_API bool in_parallel_region();

namespace detail {

// A reference to a callable body(begin, end); the callable outlives it. Unlike std::function it never
// allocates.
class RangeBody {
 public:
  template <class F>
  explicit RangeBody(const F& body)
      : object_(&body), call_([](const void* object, int64_t begin, int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int64_t);
};

// For tests: parallel_for pays no heed to `grain`, so that inputs of a few elements are cut, too.
extern TARN_API bool split_everything;

TARN_API void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body);

// While one lives, parallel_for on this thread runs serially. For threads that are themselves one of many,
// such as the workers of a data loader: OpenMP would give each of them a team of its own.
class TARN_API SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

}  // namespace detail

// Calls body(b, e) on pieces that cover [begin, end), each at least `grain` long but for the last, on up to
// get_num_threads() threads, and returns when all are done. A range of at most `grain`, a nested call and a
// call in a forked child run inline. If bodies throw, the exception of the lowest piece reaches the caller.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  if (begin >= end) return;
  if (end - begin <= grain && !detail::split_everything) {
    body(begin, end);
  } else {
    detail::parallel_run(begin, end, grain, detail::RangeBody(body));
  }
}

namespace detail {

// Calls body(index, b, e) for the pieces [index * chunk, (index + 1) * chunk) of [0, n). Unlike
// parallel_for's, the pieces are the same for any number of threads: keep one partial result per index and
// combine them in order.
template <class F>
void parallel_chunks(int64_t n, int64_t chunk, const F& body) {
  int64_t count = n > 0 ? (n - 1) / chunk + 1 : 0;
  parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      int64_t begin = i * chunk;
      body(i, begin, n - begin < chunk ? n : begin + chunk);
    }
  });
}

}  // namespace detail
}  // namespace tarn::inline v1
