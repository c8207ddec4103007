// Random number generators. A generator is a seed and an offset into that seed's stream; an op that draws n
// values reserves n places and computes value i from (seed, offset, i), so that the numbers do not depend on
// threads.
#pragma once

#include <cstdint>
#include <memory>

#include <tarn/core/macros.h>
#include <tarn/core/random_stream.h>

namespace tarn::inline v1 {

class Tensor;

// A handle; copies share one state. A default-constructed one is undefined, and ops that are given it use
// default_generator(). Safe to use from several threads.
class TARN_API Generator {
 public:
  Generator() = default;
  explicit Generator(uint64_t seed);

  bool defined() const { return state_ != nullptr; }

  // Starts the stream of `seed` from its beginning.
  void set_current_seed(uint64_t seed) const;
  uint64_t current_seed() const;
  // Seeds from the system's entropy and returns that seed.
  uint64_t seed() const;

  void set_offset(uint64_t offset) const;
  uint64_t get_offset() const;

  // Seed and offset as 16 bytes, lowest first: a uint8 tensor to be kept in a checkpoint. set_state() refuses
  // others.
  Tensor get_state() const;
  void set_state(const Tensor& state) const;

  // Another generator that goes on from the same place.
  Generator clone() const;

  // Takes the next `words` 32-bit words of the stream, rounded up to whole blocks of four.
  detail::RandomStream reserve(int64_t words) const;

  friend bool operator==(const Generator& a, const Generator& b) { return a.state_ == b.state_; }

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// The generator that random ops use unless they are given one. Its seed is fixed at start, as PyTorch's is.
TARN_API const Generator& default_generator();

// Seeds default_generator(); returns it, as torch::manual_seed's Python twin does.
TARN_API const Generator& manual_seed(uint64_t seed);

}  // namespace tarn::inline v1
