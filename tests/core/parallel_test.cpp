#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tarn/core/error.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/catch.h>

using namespace tarn;

namespace {

struct ThreadCount {
  explicit ThreadCount(int threads) : before(get_num_threads()) { set_num_threads(threads); }
  ~ThreadCount() { set_num_threads(before); }
  int before;
};

std::string message_of(void (*action)()) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("parallel_for visits every index once") {
  int threads = GENERATE(1, 2, 3, 8);
  int64_t n = GENERATE(1, 2, 7, 1000);
  ThreadCount count(threads);
  std::vector<std::atomic<int>> seen(n);
  parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[i];
  });
  for (auto& times : seen) CHECK(times == 1);
}

TEST_CASE("parallel_for does nothing on an empty range") {
  int calls = 0;
  parallel_for(5, 5, 1, [&](int64_t, int64_t) { ++calls; });
  parallel_for(5, 2, 1, [&](int64_t, int64_t) { ++calls; });
  CHECK(calls == 0);
}

TEST_CASE("parallel_for gives each piece at least the grain") {
  ThreadCount count(8);
  std::mutex mutex;
  std::vector<int64_t> lengths;
  parallel_for(10, 110, 30, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    lengths.push_back(end - begin);
  });
  CHECK(lengths.size() == 3);
  for (int64_t length : lengths) CHECK(length >= 30);
}

TEST_CASE("parallel_for below the grain runs on the caller") {
  ThreadCount count(4);
  auto caller = std::this_thread::get_id();
  parallel_for(0, 100, 100, [&](int64_t begin, int64_t end) {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(begin == 0);
    CHECK(end == 100);
  });
}

TEST_CASE("a nested parallel_for runs serially") {
  ThreadCount count(4);
  std::atomic<int> calls{0};
  std::atomic<bool> stayed{true};
  parallel_for(0, 4, 1, [&](int64_t, int64_t) {
    auto outer = std::this_thread::get_id();
    if (!in_parallel_region()) stayed = false;
    parallel_for(0, 1000, 1, [&](int64_t, int64_t) {
      ++calls;
      if (std::this_thread::get_id() != outer) stayed = false;
    });
  });
  CHECK(calls == 4);
  CHECK(stayed);
  CHECK_FALSE(in_parallel_region());
}

TEST_CASE("the exception of the lowest piece reaches the caller") {
  ThreadCount count(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::string text;
    try {
      parallel_for(0, 4, 1, [](int64_t begin, int64_t) {
        if (begin >= 1) throw std::runtime_error("piece " + std::to_string(begin));
      });
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    CHECK(text == "piece 1");
  }
}

TEST_CASE("parallel_chunks has the same pieces for any number of threads") {
  using Pieces = std::vector<std::pair<int64_t, int64_t>>;
  Pieces expected = {{0, 30}, {30, 60}, {60, 90}, {90, 100}};
  ThreadCount count(GENERATE(1, 2, 3, 8));
  Pieces pieces(4);
  detail::parallel_chunks(100, 30, [&](int64_t i, int64_t begin, int64_t end) { pieces[i] = {begin, end}; });
  CHECK(pieces == expected);
  detail::parallel_chunks(0, 30, [](int64_t, int64_t, int64_t) { FAIL("called"); });
}

TEST_CASE("set_num_threads refuses what makes no sense") {
  CHECK(message_of([] { set_num_threads(0); }) == "set_num_threads: must be between 1 and 1024, got 0");
  CHECK(message_of([] { set_num_threads(-1); }) == "set_num_threads: must be between 1 and 1024, got -1");
  CHECK(message_of([] { set_num_threads(10000); }) ==
        "set_num_threads: must be between 1 and 1024, got 10000");
}

TEST_CASE("a SerialScope keeps its thread's loops on that thread") {
  ThreadCount count(4);
  detail::SerialScope scope;
  auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(0, 1000, 1, [&](int64_t, int64_t) {
    ++calls;
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(calls == 1);
}

TEST_CASE("a forked child runs serially instead of hanging") {
  ThreadCount count(4);
  std::atomic<int64_t> sum{0};
  auto add = [&](int64_t begin, int64_t end) { sum += end - begin; };
  parallel_for(0, 1000, 1, add);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    parallel_for(0, 1000, 1, add);
    _exit(sum == 2000 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("several threads may use parallel_for at the same time") {
  ThreadCount count(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(total == 4 * 50 * 100);
}
