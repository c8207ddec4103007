// The inner loops of reductions, per instruction set, for the compute types float, double and int64.
//
// Note [Reduction order]
// Results are the same bits for any number of threads and any instruction set, because the order of
// operations is fixed:
// - A row (the reduced elements are neighbours) is combined in kReduceLanes lanes: element j goes to lane j
// modulo the
//   number of lanes. The lanes are then folded in half again and again: lane i takes lane i + width / 2.
// - A leaf is a run of kLeafElements of one row, or as many whole rows (all in the same lanes) as have
// kLeafElements.
// - Where the kept elements are the neighbours (columns), a leaf is kLeafRows rows, added one after the
// other.
// - Leaves are combined in the order of a binary counter: leaf 2k with 2k + 1, those pairs in turn, and so
// on; what is left
//   over at the end from right to left. An aligned group of 2^n leaves is therefore a subtree, and threads
//   take such groups.
#pragma once

#include <cstdint>

#include <tarn/core/cpu/isa.h>

namespace tarn::inline v1::detail {

enum class ReduceKind : int {
  Sum,
  Prod,
  Max,  // NaN wins, as in Min, MaxAbs and MinAbs
  Min,
  Any,  // 1 if an element is not 0 (NaN is not), else 0
  All,
  SumAbs,
  SumSquares,
  SumPowers,  // of |x| to the power `constant`
  CountNonzero,
  MaxAbs,
  MinAbs,
  SumDeviations,  // x - param
  SumSquaredDeviations,
  SumExp,  // of x - param
};
constexpr int kReduceKinds = 15;

template <class T>
constexpr int kReduceLanes = 256 / int(sizeof(T));
constexpr int64_t kLeafElements = 4096;
constexpr int64_t kLeafRows = 64;

template <class T>
struct ReduceKernel {
  T identity;
  // Combines x[0..n) into the lanes.
  void (*row)(T* lanes, const T* x, int64_t n, T param, T constant);
  // The lanes as one value.
  T (*fold)(T* lanes);
  // acc[c] takes x[c], x[step + c], ... of `rows` rows, for c < n. param[c] belongs to column c; may be null.
  void (*columns)(T* acc, const T* x, int64_t step, int64_t rows, int64_t n, const T* param, T constant);
  // a[i] = combine(a[i], b[i])
  void (*combine)(T* a, const T* b, int64_t n);
};

// The place of the first element of x[0..n) equal to `value`, where NaN equals NaN; n if there is none.
template <class T>
using FindKernel = int64_t (*)(const T* x, int64_t n, T value);

struct ReduceTable {
  ReduceKernel<float> f32[kReduceKinds];
  ReduceKernel<double> f64[kReduceKinds];
  ReduceKernel<int64_t> i64[kReduceKinds];  // null functions for kinds of floating numbers only
  FindKernel<float> find_f32;
  FindKernel<double> find_f64;
  FindKernel<int64_t> find_i64;

  template <class T>
  FindKernel<T> find() const {
    if constexpr (sizeof(T) == 4)
      return find_f32;
    else if constexpr (T(0.5) != T(0))
      return find_f64;
    else
      return find_i64;
  }
  template <class T>
  const ReduceKernel<T>& get(ReduceKind kind) const {
    if constexpr (sizeof(T) == 4)
      return f32[int(kind)];
    else if constexpr (T(0.5) != T(0))
      return f64[int(kind)];
    else
      return i64[int(kind)];
  }
};

}  // namespace tarn::inline v1::detail

TARN_DECLARE_KERNELS(ReduceTable, reduce_kernels)
