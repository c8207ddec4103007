// A piece of a generator's stream that an op has reserved.
#pragma once

#include <cstdint>

namespace tarn::inline v1::detail {

// Word i is word i % 4 of Philox block (offset + i) / 4; offset is a multiple of 4.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

}  // namespace tarn::inline v1::detail
