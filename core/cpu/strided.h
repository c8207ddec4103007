// StridedLoop: walks N operands of one shape whose strides differ, row by row. Dims of size 1 are dropped,
// dims that all operands step through like one are merged, and the innermost dim is the one where the first
// operand moves least.
#pragma once

#include <algorithm>
#include <array>

#include <tarn/core/dims.h>

namespace tarn::inline v1::detail {

template <int N>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, N>;

  // strides[k] are operand k's, one per dim of sizes (0 where it is broadcast).
  StridedLoop(IntArrayRef sizes, std::array<IntArrayRef, N> strides) {
    for (int d = 0; d < int(sizes.size()); ++d) {
      if (sizes[d] == 1) continue;
      size_[rank_] = sizes[d];
      for (int k = 0; k < N; ++k) stride_[k][rank_] = strides[k][d];
      ++rank_;
    }
    sort();
    merge();
    if (rank_ == 0) {
      rank_ = 1;
      size_[0] = 1;
      for (int k = 0; k < N; ++k) stride_[k][0] = 0;
    }
  }

  int rank() const { return rank_; }
  // Dim 0 is the innermost.
  int64_t size(int d) const { return size_[d]; }
  int64_t stride(int operand, int d) const { return stride_[operand][d]; }
  int64_t row_length() const { return size_[0]; }
  int64_t rows() const {
    int64_t n = 1;
    for (int d = 1; d < rank_; ++d) n *= size_[d];
    return n;
  }

  // Calls f(offsets of the row's first element) for rows [begin, end).
  template <class F>
  void for_rows(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end || row_length() == 0) return;
    std::array<int64_t, kMaxRank> at{};
    Offsets offset{};
    int64_t rest = begin;
    for (int d = 1; d < rank_; ++d) {
      at[d] = rest % size_[d];
      rest /= size_[d];
      for (int k = 0; k < N; ++k) offset[k] += at[d] * stride_[k][d];
    }
    for (int64_t row = begin; row < end; ++row) {
      f(offset);
      for (int d = 1; d < rank_; ++d) {
        for (int k = 0; k < N; ++k) offset[k] += stride_[k][d];
        if (++at[d] < size_[d]) break;
        for (int k = 0; k < N; ++k) offset[k] -= size_[d] * stride_[k][d];
        at[d] = 0;
      }
    }
  }

 private:
  void swap_dims(int i, int j) {
    std::swap(size_[i], size_[j]);
    for (int k = 0; k < N; ++k) std::swap(stride_[k][i], stride_[k][j]);
  }
  // Innermost (smallest stride of operand 0) first; ties keep the row-major order.
  void sort() {
    std::reverse(size_.begin(), size_.begin() + rank_);
    for (auto& s : stride_) std::reverse(s.begin(), s.begin() + rank_);
    for (int i = 1; i < rank_; ++i)
      for (int j = i; j > 0 && before(j, j - 1); --j) swap_dims(j, j - 1);
  }
  bool before(int i, int j) const {
    for (int k = 0; k < N; ++k) {
      int64_t a = std::abs(stride_[k][i]), b = std::abs(stride_[k][j]);
      if (a != 0 && b != 0 && a != b) return a < b;
    }
    return false;
  }
  void merge() {
    int last = 0;
    for (int d = 1; d < rank_; ++d) {
      bool fits = true;
      for (int k = 0; k < N; ++k) fits &= stride_[k][d] == stride_[k][last] * size_[last];
      if (fits) {
        size_[last] *= size_[d];
        continue;
      }
      ++last;
      size_[last] = size_[d];
      for (int k = 0; k < N; ++k) stride_[k][last] = stride_[k][d];
    }
    rank_ = rank_ == 0 ? 0 : last + 1;
  }

  int rank_ = 0;
  std::array<int64_t, kMaxRank> size_{};
  std::array<std::array<int64_t, kMaxRank>, N> stride_{};
};

}  // namespace tarn::inline v1::detail
