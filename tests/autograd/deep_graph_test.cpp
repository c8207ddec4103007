// Graphs as deep as a long recurrence makes them, on a stack as small as threads of servers have.
#include <pthread.h>

#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// Runs f on a thread whose stack has so many bytes.
void on_small_stack(size_t bytes, void (*f)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  auto run = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(f)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int kNodes = 1000000;
double gradient = 0;

Tensor chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kNodes; ++i) y = y + 1;
  return y;
}

TEST_CASE("backward goes through a million nodes on a stack of 256 KB") {
  gradient = 0;
  on_small_stack(256 << 10, [] {
    Tensor x = tensor_of({2}).requires_grad_();
    chain(x).backward();
    gradient = x.grad().item<double>();
  });
  CHECK(gradient == 1);
}

TEST_CASE("a graph of a million nodes is freed on a stack of 256 KB") {
  gradient = 0;
  on_small_stack(256 << 10, [] {
    Tensor x = tensor_of({2}).requires_grad_();
    { Tensor y = chain(x); }
    gradient = 2;
  });
  CHECK(gradient == 2);
}

}  // namespace
