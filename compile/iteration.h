// IterationSpace: the order in which a fused group visits its elements, and where each operand has them.
#pragma once

#include <array>
#include <vector>

#include <tarn/core/dims.h>

namespace tarn::inline v1::detail {

// Operands (inputs and outputs) that one group may have.
inline constexpr int kMaxOperands = 24;

// Visits elements along the strides of a leading layout, smallest first, so that a position in the order is
// an offset in a dense tensor of that layout. Dims that all operands step through like one are merged.
// Offsets and steps are in bytes.
class IterationSpace {
 public:
  // strides[k]: operand k's in elements, one per dim of `sizes` (0 where it is broadcast); widths[k]: bytes
  // of an element. `lead` decides the order.
  IterationSpace(IntArrayRef sizes, IntArrayRef lead, const std::vector<Dims>& strides,
                 const std::vector<int>& widths);

  int64_t count() const { return count_; }
  // Elements in a row: a run through the innermost dim.
  int64_t row_length() const { return size_[0]; }
  int64_t rows() const { return count_ / (size_[0] > 0 ? size_[0] : 1); }
  int rank() const { return rank_; }
  int operands() const { return operands_; }
  int64_t size(int d) const { return size_[size_t(d)]; }
  // From one element of a row to the next; from one row to the next where rank() is 2.
  int64_t step(int operand, int d = 0) const { return step_[size_t(d)][size_t(operand)]; }
  // Whether the operand's element at position i is its i-th in memory.
  bool is_linear(int operand) const { return linear_[size_t(operand)]; }

  using Offsets = std::array<int64_t, kMaxOperands>;

  // Calls f(offsets of the first element, count) for each piece of a row in [begin, end).
  template <class F>
  void for_rows(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    int64_t at[kMaxRank];
    Offsets offset{};
    int64_t rest = begin;
    for (int d = 0; d < rank_; ++d) {
      at[d] = rest % size(d);
      rest /= size(d);
      for (int k = 0; k < operands_; ++k) offset[size_t(k)] += at[d] * step(k, d);
    }
    while (true) {
      int64_t n = size(0) - at[0] < end - begin ? size(0) - at[0] : end - begin;
      f(offset, n);
      begin += n;
      if (begin >= end) return;
      for (int k = 0; k < operands_; ++k) offset[size_t(k)] -= at[0] * step(k, 0);
      at[0] = 0;
      for (int d = 1; d < rank_; ++d) {
        for (int k = 0; k < operands_; ++k) offset[size_t(k)] += step(k, d);
        if (++at[d] < size(d)) break;
        for (int k = 0; k < operands_; ++k) offset[size_t(k)] -= size(d) * step(k, d);
        at[d] = 0;
      }
    }
  }

 private:
  void sort(std::vector<int64_t>& lead);
  void merge();
  void swap_dims(int i, int j);
  bool before(int i, int j, const std::vector<int64_t>& lead) const;

  int rank_ = 0, operands_ = 0;
  int64_t count_ = 1;
  std::array<int64_t, kMaxRank> size_{};
  std::array<std::array<int64_t, kMaxOperands>, kMaxRank> step_{};
  std::array<bool, kMaxOperands> linear_{};
};

}  // namespace tarn::inline v1::detail
