// The back end of parallel_for (TARN_THREADS=std): a pool of std::thread. Whoever is running takes the next
// piece, so a thread that the system has put aside holds up nothing that it has not begun.
#pragma once

#include <cstdint>

namespace tarn::inline v1::detail {

class ThreadPool {
 public:
  // A reference to a callable work(index) that does not throw.
  class Work {
   public:
    Work() = default;
    template <class F>
    explicit Work(const F& work)
        : object_(&work),
          call_([](const void* object, int64_t index) { (*static_cast<const F*>(object))(index); }) {}
    void operator()(int64_t index) const { call_(object_, index); }

   private:
    const void* object_ = nullptr;
    void (*call_)(const void*, int64_t) = nullptr;
  };

  // Never destroyed: its threads may outlive static destruction.
  static ThreadPool& instance();

  // Calls work(0) .. work(count - 1), the caller taking part, and returns when all are done. One call at a
  // time has the pool; calls from other threads meanwhile run on those threads alone.
  void run(int64_t count, Work work);

 private:
  struct State;
  ThreadPool();
  State* state_;
};

}  // namespace tarn::inline v1::detail
