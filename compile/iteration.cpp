#include <tarn/compile/iteration.h>

#include <cstdlib>
#include <utility>

namespace tarn::inline v1::detail {

IterationSpace::IterationSpace(IntArrayRef sizes, IntArrayRef lead, const std::vector<Dims>& strides,
                               const std::vector<int>& widths)
    : operands_(int(strides.size())) {
  ensure(operands_ <= kMaxOperands, "compile: a group of ", operands_, " operands");
  std::vector<int64_t> order;
  for (int d = int(sizes.size()) - 1; d >= 0; --d) {
    count_ *= sizes[d];
    if (sizes[d] == 1) continue;
    size_[size_t(rank_)] = sizes[d];
    for (int k = 0; k < operands_; ++k)
      step_[size_t(rank_)][size_t(k)] = strides[size_t(k)][d] * widths[size_t(k)];
    order.push_back(lead[d]);
    ++rank_;
  }
  sort(order);
  merge();
  if (rank_ == 0) size_[0] = rank_ = 1;
  for (int k = 0; k < operands_; ++k) {
    int64_t expected = widths[size_t(k)];
    linear_[size_t(k)] = true;
    for (int d = 0; d < rank_; ++d) {
      linear_[size_t(k)] = linear_[size_t(k)] && (step(k, d) == expected || size(d) == 1);
      expected *= size(d);
    }
  }
}

bool IterationSpace::before(int i, int j, const std::vector<int64_t>& lead) const {
  int64_t a = std::abs(lead[size_t(i)]), b = std::abs(lead[size_t(j)]);
  if (a != 0 && b != 0) return a < b;
  for (int k = 0; k < operands_; ++k) {
    a = std::abs(step(k, i)), b = std::abs(step(k, j));
    if (a != 0 && b != 0 && a != b) return a < b;
  }
  return false;
}

void IterationSpace::swap_dims(int i, int j) {
  std::swap(size_[size_t(i)], size_[size_t(j)]);
  std::swap(step_[size_t(i)], step_[size_t(j)]);
}

// The innermost dim first; ties keep the row-major order.
void IterationSpace::sort(std::vector<int64_t>& lead) {
  for (int i = 1; i < rank_; ++i)
    for (int j = i; j > 0 && before(j, j - 1, lead); --j) {
      swap_dims(j, j - 1);
      std::swap(lead[size_t(j)], lead[size_t(j - 1)]);
    }
}

void IterationSpace::merge() {
  int last = 0;
  for (int d = 1; d < rank_; ++d) {
    bool fits = true;
    for (int k = 0; k < operands_; ++k) fits = fits && step(k, d) == step(k, last) * size(last);
    if (fits) {
      size_[size_t(last)] *= size(d);
      continue;
    }
    ++last;
    size_[size_t(last)] = size(d);
    step_[size_t(last)] = step_[size_t(d)];
  }
  rank_ = rank_ == 0 ? 0 : last + 1;
}

}  // namespace tarn::inline v1::detail
