// bench_follow: what following a trace costs an op, in nanoseconds: ./dev bench follow.
//
// "following" is the time inside of Capture::follow(), which takes the place of an eager op's checks, shape
// rule and memory: the linker sends its calls through a function here that reads the clock around it
// (--wrap, see CMakeLists.txt); what two readings alone take is subtracted. "body" is all that the compiled
// function itself takes, without the plan's run at its end: the public functions, dispatch(), handles, and on
// the training step modules, optimizer and the gradient's nodes, too. "eager" is the body of the chain when
// it is not compiled; its ops do the work of 4 elements each. Medians of the calls.
//
// In the chain everything is in the first cache. Between two training steps of 128 images nothing stays
// there, so that the step shows what memory costs.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <tarn/bench/demo_step.h>
#include <tarn/core/op.h>

namespace {

using namespace tarn;

constexpr int kCalls = 40, kWarmUp = 5, kChain = 250;

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

double in_follow = 0, ops = 0;
bool probes = false;

}  // namespace

// The calls of Capture::follow() come here; its `this` is the first argument.
extern "C" bool __real__ZN4tarn2v16detail7Capture6followERKNS1_4ArgsEPNS0_6TensorE(detail::Capture* self,
                                                                                   const detail::Args& a,
                                                                                   Tensor* out);
extern "C" bool __wrap__ZN4tarn2v16detail7Capture6followERKNS1_4ArgsEPNS0_6TensorE(detail::Capture* self,
                                                                                   const detail::Args& a,
                                                                                   Tensor* out) {
  ops += 1;
  if (!probes) return __real__ZN4tarn2v16detail7Capture6followERKNS1_4ArgsEPNS0_6TensorE(self, a, out);
  double start = now_ns();
  bool found = __real__ZN4tarn2v16detail7Capture6followERKNS1_4ArgsEPNS0_6TensorE(self, a, out);
  in_follow += now_ns() - start;
  return found;
}

namespace {

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double cost_of_reading() {
  std::vector<double> all;
  for (int i = 0; i < 10'000; ++i) {
    double start = now_ns();
    all.push_back(now_ns() - start);
  }
  double sum = 0;
  std::nth_element(all.begin(), all.begin() + 5'000, all.end());
  for (int i = 0; i < 5'000; ++i) sum += all[size_t(i)];  // the slow half was interrupted
  return sum / 5'000;
}

// Of one call of `body`.
struct Cost {
  double body, follow, ops;
};

template <class F>
Cost measure(F body, bool compiled) {
  double took = 0;
  auto timed = [&] {
    double start = now_ns();
    body();
    took = now_ns() - start;
  };
  auto step = tarn::compile(timed);
  auto call = [&] {
    in_follow = ops = 0;
    compiled ? step() : timed();
  };
  std::vector<double> bodies, follows;
  for (bool probe : {false, true}) {
    probes = probe;
    for (int i = -kWarmUp; i < kCalls; ++i) {
      call();
      if (i >= 0) (probe ? follows : bodies).push_back(probe ? in_follow : took);
    }
  }
  return {median(bodies), median(follows) - ops * cost_of_reading(), ops};
}

void print(const char* what, const Cost& c) {
  std::printf("follow  %s of %d ops: following %.1f ns an op, body %.1f ns an op", what, int(c.ops),
              c.follow / c.ops, c.body / c.ops);
}

}  // namespace

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  Tensor x = rand({4}), y = rand({4});
  auto chain = [&] {
    NoGradGuard guard;
    Tensor z = x;
    for (int i = 0; i < kChain; ++i) z = (z * y + x).tanh_();
  };
  Cost small = measure(chain, true);
  print("chain", small);
  std::printf(", eager %.1f ns an op\n", measure(chain, false).body / small.ops);
  bench::DemoStep demo;
  print("training step", measure([&] { demo(); }, true));
  std::printf("\n");
}
