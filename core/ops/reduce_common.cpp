#include <tarn/core/ops/reduce_common.h>

#include <cmath>

#include <tarn/core/ops/views.h>

namespace tarn::inline v1::detail {

DimSet all_dims(const Tensor& x) { return (DimSet(1) << x.dim()) - 1; }

DimSet dim_set(const char* op, const Tensor& x, IntArrayRef dims) {
  if (dims.empty()) return all_dims(x);
  DimSet set = 0;
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, x.dim(), op);
    check(!has_dim(set, d), op, ": dim ", d, " is given twice in ", dims);
    set |= DimSet(1) << d;
  }
  return x.dim() == 0 ? 0 : set;
}

Dims reduced_sizes(IntArrayRef sizes, DimSet dims, bool keepdim) {
  Dims left;
  for (int d = 0; d < int(sizes.size()); ++d) {
    if (!has_dim(dims, d))
      left.push_back(sizes[d]);
    else if (keepdim)
      left.push_back(1);
  }
  return left;
}

Dims dim_list(DimSet dims, int rank) {
  Dims list;
  for (int d = 0; d < rank; ++d)
    if (has_dim(dims, d)) list.push_back(d);
  return list;
}

int64_t reduced_count(IntArrayRef sizes, DimSet dims) {
  int64_t n = 1;
  for (int d = 0; d < int(sizes.size()); ++d)
    if (has_dim(dims, d)) n *= sizes[d];
  return n;
}

void reduce_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<ReduceAttrs>();
  out->sizes = reduced_sizes(a[0].sizes(), DimSet(attrs.dims), attrs.keepdim);
  out->dtype = ScalarType(attrs.dtype);
  out->device = a[0].device();
}

Tensor with_dims(const Tensor& y, IntArrayRef sizes, DimSet dims, bool keepdim) {
  Dims kept = reduced_sizes(sizes, dims, true);
  return keepdim || y.sizes() == IntArrayRef(kept) ? y : reshape(y, kept);
}

Tensor spread(const Tensor& y, IntArrayRef sizes, DimSet dims, bool keepdim) {
  return expand(with_dims(y, sizes, dims, keepdim), sizes);
}

template <class T>
void means_into(const Tensor& x, DimSet dims, T* means, int64_t outputs) {
  int64_t count = reduced_count(x.sizes(), dims);
  reduce_elements<T>(x, dims, {ReduceKind::Sum}, means);
  bool finite = true;
  for (int64_t i = 0; i < outputs; ++i) {
    means[i] /= T(count);
    finite = finite && std::isfinite(means[i]);
  }
  if (finite || count == 0 || sizeof(T) == sizeof(double)) return;
  std::vector<double> wide(static_cast<size_t>(outputs));
  reduce_elements<double>(x, dims, {ReduceKind::Sum}, wide.data());
  for (int64_t i = 0; i < outputs; ++i)
    if (!std::isfinite(means[i])) means[i] = T(wide[size_t(i)] / double(count));
}

template void means_into(const Tensor&, DimSet, float*, int64_t);
template void means_into(const Tensor&, DimSet, double*, int64_t);

void reduce_into(const Tensor& x, DimSet dims, ReduceKind kind, const Tensor& out) {
  visit_compute(is_floating(x.dtype()) ? out.dtype() : x.dtype(), [&]<class T>(Type<T>) {
    Results<T> results(out);
    reduce_elements<T>(x, dims, {kind}, results.data());
    results.store();
  });
}

}  // namespace tarn::inline v1::detail
