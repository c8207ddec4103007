// What the tests of CUDA tensors share. They run on the emulated device, unless TARN_CUDA says otherwise.
#pragma once

#include <tarn/tarn.h>

#include <tarn/tests/support.h>

namespace tarn::testing {

// How many launches (of this name) f makes.
template <class F>
int64_t launches_of(F f, const char* name = nullptr) {
  int64_t before = detail::cuda_launches(name);
  f();
  return detail::cuda_launches(name) - before;
}

inline const Device kGpu = Device(kCUDA, 0);

}  // namespace tarn::testing

// A value computed on the device, with at least one launch, against the CPU's. `expression` names its inputs
// as on(x).
#define CHECK_DEVICE(expression, ...)                            \
  do {                                                           \
    Tensor expected, got;                                        \
    {                                                            \
      auto on = [](const Tensor& t) { return t; };               \
      expected = (expression);                                   \
    }                                                            \
    int64_t launches = launches_of([&] {                         \
      auto on = [](const Tensor& t) { return t.to(kGpu); };      \
      got = (expression);                                        \
    });                                                          \
    CHECK(got.device() == kGpu);                                 \
    CHECK(launches > 0);                                         \
    CHECK_CLOSE(got.cpu(), expected __VA_OPT__(, ) __VA_ARGS__); \
  } while (0)
