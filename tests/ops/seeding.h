// What the rows of every op that draws numbers check.
#pragma once

#include <tarn/core/parallel.h>
#include <tarn/core/random.h>
#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

// The same seed gives the same numbers, on any number of threads; another seed gives others.
template <class Draw>
void check_seeding(Draw draw) {
  int before = get_num_threads();
  manual_seed(3);
  Tensor first = draw(), second = draw();
  CHECK_FALSE(bit_difference(first, second) == "");
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    manual_seed(3);
    CHECK_SAME(draw(), first);
    CHECK_SAME(draw(), second);
  }
  set_num_threads(before);
  manual_seed(4);
  CHECK_FALSE(bit_difference(draw(), first) == "");
}

}  // namespace tarn::testing
