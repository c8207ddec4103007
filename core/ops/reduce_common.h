// What the reductions share: which dims, which sizes are left, and how a gradient gets its dims back. Private
// to core/ops.
#pragma once

#include <vector>

#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/reduce.h>
#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

struct ReduceAttrs {
  int64_t dims;  // a DimSet
  int64_t keepdim;
  int64_t dtype;
};

constexpr bool has_dim(DimSet dims, int d) { return dims >> d & 1; }

// The dims of a list, all of them if it is empty. An Error naming `op` if one lies outside or appears twice.
DimSet dim_set(const char* op, const Tensor& x, IntArrayRef dims);
DimSet all_dims(const Tensor& x);

// x's sizes without the dims, or with 1 for them.
Dims reduced_sizes(IntArrayRef sizes, DimSet dims, bool keepdim);
// The dims as a list, which the public functions take.
Dims dim_list(DimSet dims, int rank);
// How many elements go into one output.
int64_t reduced_count(IntArrayRef sizes, DimSet dims);

// Sizes, and ReduceAttrs::dtype, for an op whose attributes are ReduceAttrs.
void reduce_infer(const Args& a, Spec* out);

// y, whose `dims` a reduction of a tensor of `sizes` took away, with those dims as 1 again, so that it
// broadcasts.
Tensor with_dims(const Tensor& y, IntArrayRef sizes, DimSet dims, bool keepdim);
// The same, expanded to `sizes`.
Tensor spread(const Tensor& y, IntArrayRef sizes, DimSet dims, bool keepdim);

// Values of the compute type T on their way into a tensor; straight into its memory where that is of type T.
template <class T>
class Results {
 public:
  explicit Results(const Tensor& out) : out_(out) {
    if (out.dtype() != dtype_of<T>) memory_.resize(size_t(out.numel()));
  }
  int64_t size() const { return out_.numel(); }
  T* data() { return memory_.empty() ? static_cast<T*>(out_.data_ptr()) : memory_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  // To be called when the values are there.
  void store() {
    if (!memory_.empty()) row_storer<T>(out_.dtype())(out_.data_ptr(), memory_.data(), 1, size());
  }

 private:
  const Tensor& out_;
  std::vector<T> memory_;
};

// The means of x over `dims` into `means`, one per output. What overflows in float is computed again in
// double.
template <class T>
void means_into(const Tensor& x, DimSet dims, T* means, int64_t outputs);

// out = the reduction of x, computed in the compute type of out's dtype where both are floating or both are
// not.
void reduce_into(const Tensor& x, DimSet dims, ReduceKind kind, const Tensor& out);

}  // namespace tarn::inline v1::detail
