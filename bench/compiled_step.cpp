// The demo's training step compiled, beside the same step eager.
//
// First calls: of each side in processes of their own, in turn, since a process has but one. Later calls:
// both sides in one process, in turn, after the kernels have been built; the ratio is that of the medians.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <tarn/bench/demo_step.h>
#include <tarn/bench/rows.h>
#include <tarn/compile/kernel.h>
#include <tarn/core/parallel.h>

namespace tarn::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirsts = 5, kWarmUp = 5, kLater = 20;

template <class F>
double seconds_of(F f) {
  auto start = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

double first_call(bool compiled) {
  DemoStep demo;
  auto step = compile([&] { demo(); });
  return compiled ? seconds_of(step) : seconds_of([&] { demo(); });
}

// The time that a fresh process measures.
double in_child(bool compiled, int threads) {
  int ends[2];
  check(pipe(ends) == 0, "bench: no pipe");
  pid_t child = fork();
  check(child >= 0, "bench: no process");
  if (child == 0) {
    set_num_threads(threads);
    double time = first_call(compiled);
    _exit(write(ends[1], &time, sizeof time) == sizeof time ? 0 : 1);
  }
  close(ends[1]);
  double time = 0;
  check(read(ends[0], &time, sizeof time) == sizeof time, "bench: the child process failed");
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return time;
}

void print(const char* what, double eager, double compiled) {
  std::printf("compiled_step %-11s  eager %8.3f ms  compiled %8.3f ms  eager/compiled %.3f (inverse %.3f)\n",
              what, eager * 1e3, compiled * 1e3, eager / compiled, compiled / eager);
}

void measure(int threads) {
  std::vector<double> eager, compiled;
  for (int i = 0; i < kFirsts; ++i) {
    eager.push_back(in_child(false, threads));
    compiled.push_back(in_child(true, threads));
  }
  print("first call", median(eager), median(compiled));

  set_num_threads(threads);
  DemoStep a, b;
  auto step = compile([&] { b(); });
  for (int i = 0; i < kWarmUp; ++i) {
    a();
    step();
    detail::wait_for_kernels();
  }
  eager.clear(), compiled.clear();
  for (int i = 0; i < kLater; ++i) {
    eager.push_back(seconds_of([&] { a(); }));
    compiled.push_back(seconds_of(step));
  }
  print("later calls", median(eager), median(compiled));
}

}  // namespace

const Row compiled_step = {.name = "compiled_step", .measure = measure};

}  // namespace tarn::bench
