#include <tarn/core/random.h>

#include <mutex>
#include <random>

#include <tarn/core/error.h>
#include <tarn/core/fault.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

struct Generator::State {
  std::mutex mutex;
  detail::RandomStream stream;  // where the next op starts
};

Generator::Generator(uint64_t seed) : state_(std::make_shared<State>()) { state_->stream.seed = seed; }

Generator::State& Generator::state() const {
  check(defined(), "Generator: is undefined; construct it with a seed");
  return *state_;
}

void Generator::set_current_seed(uint64_t seed) const {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.stream = {seed, 0};
}

uint64_t Generator::current_seed() const {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.stream.seed;
}

uint64_t Generator::seed() const {
  std::random_device entropy;
  uint64_t seed = uint64_t(entropy()) << 32 | entropy();
  set_current_seed(seed);
  return seed;
}

void Generator::set_offset(uint64_t offset) const {
  check(offset % 4 == 0, "Generator: offset must be a multiple of 4, got ", offset);
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.stream.offset = offset;
}

uint64_t Generator::get_offset() const {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.stream.offset;
}

Tensor Generator::get_state() const {
  State& s = state();
  Tensor bytes = detail::make_tensor({16}, kByte);
  uint8_t* to = bytes.data_ptr<uint8_t>();
  std::lock_guard lock(s.mutex);
  for (int i = 0; i < 8; ++i) {
    to[i] = uint8_t(s.stream.seed >> (8 * i));
    to[8 + i] = uint8_t(s.stream.offset >> (8 * i));
  }
  return bytes;
}

void Generator::set_state(const Tensor& bytes) const {
  check(bytes.dtype() == kByte && bytes.numel() == 16 && bytes.is_contiguous(),
        "Generator: a state is 16 contiguous bytes, got ", bytes.dtype(), " ", bytes.sizes());
  const uint8_t* from = bytes.const_data_ptr<uint8_t>();
  detail::RandomStream stream;
  for (int i = 0; i < 8; ++i) {
    stream.seed |= uint64_t(from[i]) << (8 * i);
    stream.offset |= uint64_t(from[8 + i]) << (8 * i);
  }
  set_offset(stream.offset);
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.stream = stream;
}

Generator Generator::clone() const {
  Generator copy(0);
  State& s = state();
  std::lock_guard lock(s.mutex);
  copy.state_->stream = s.stream;
  return copy;
}

detail::RandomStream Generator::reserve(int64_t words) const {
  State& s = state();
  std::lock_guard lock(s.mutex);
  detail::RandomStream taken = s.stream;
  if (!detail::fault(8)) s.stream.offset += (uint64_t(words) + 3) / 4 * 4;
  return taken;
}

const Generator& default_generator() {
  static const Generator* generator = new Generator(67280421310721u);
  return *generator;
}

const Generator& manual_seed(uint64_t seed) {
  default_generator().set_current_seed(seed);
  return default_generator();
}

}  // namespace tarn::inline v1
