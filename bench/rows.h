// The rows that the bench program can time. A row is measured in a process of its own, PyTorch's twin in
// another, the two in turn (bench/run.py), so that neither warms or cools the machine for the other.
#pragma once

#include <cstdint>

namespace tarn::bench {

struct Row {
  const char* name;
  // Makes what is timed once; then each call of `step` does the work of `items` items.
  struct Work {
    virtual ~Work() = default;
    virtual void step() = 0;
    // Between two steps, untimed.
    virtual void rest() {}
  };
  Work* (*make)() = nullptr;
  int64_t items = 0;
  const char* item = "";  // "images"
  // Instead of make: measures by itself, with that many threads, and prints lines.
  void (*measure)(int threads) = nullptr;
};

extern const Row async_save, compiled_step, demo_step, pointwise_chain, pointwise_chain_tile,
    pointwise_chain_native;

}  // namespace tarn::bench
