// SliceWalk: the positions of all dims but one, in row-major order, with the offsets of N operands; what an
// op that works along one dim loops over.
#pragma once

#include <array>

#include <tarn/core/dims.h>

namespace tarn::inline v1::detail {

template <int N>
class SliceWalk {
 public:
  // Starts at position `index`. strides[k] are operand k's, one per dim of sizes.
  SliceWalk(IntArrayRef sizes, int along, std::array<IntArrayRef, N> strides, int64_t index = 0) {
    for (int d = int(sizes.size()) - 1; d >= 0; --d) {
      if (d == along || sizes[d] == 1) continue;
      size_[rank_] = sizes[d];
      at_[rank_] = index % sizes[d];
      index /= sizes[d];
      for (int k = 0; k < N; ++k) {
        stride_[rank_][k] = strides[k][d];
        offset_[k] += at_[rank_] * strides[k][d];
      }
      ++rank_;
    }
  }

  int64_t offset(int k) const { return offset_[k]; }

  void next() {
    for (int d = 0; d < rank_; ++d) {
      for (int k = 0; k < N; ++k) offset_[k] += stride_[d][k];
      if (++at_[d] < size_[d]) return;
      for (int k = 0; k < N; ++k) offset_[k] -= size_[d] * stride_[d][k];
      at_[d] = 0;
    }
  }

 private:
  int rank_ = 0;
  int64_t size_[kMaxRank], at_[kMaxRank], stride_[kMaxRank][N];
  int64_t offset_[N] = {};
};

}  // namespace tarn::inline v1::detail
