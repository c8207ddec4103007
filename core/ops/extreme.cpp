// amax, amin, max, min, argmax, argmin.
#include <cmath>
#include <string_view>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_common.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

void check_not_empty(const char* op, IntArrayRef sizes, DimSet dims) {
  bool largest = std::string_view(op).ends_with("max");
  for (int d = 0; d < int(sizes.size()); ++d) {
    check(!has_dim(dims, d) || sizes[d] > 0, op, ": dim ", d, " of a tensor of shape ", sizes,
          " is empty and has no ", largest ? "maximum" : "minimum");
  }
}

// --- amax and amin; max and min over everything are the same under another name ---

void extreme_infer(const Args& a, Spec* out) {
  check_not_empty(a.op.name, a[0].sizes(), DimSet(a.attrs<ReduceAttrs>().dims));
  reduce_infer(a, out);
}

template <ReduceKind kind>
void extreme_cpu(const Args& a, Tensor* out) {
  reduce_into(a[0], DimSet(a.attrs<ReduceAttrs>().dims), kind, *out);
}

template <Reducer reducer>
void extreme_cuda(const Args& a, Tensor* out) {
  reduce_cuda(a.op.name, a[0], DimSet(a.attrs<ReduceAttrs>().dims), reducer, *out);
}

void extreme_grad(GradArgs& g) {
  const auto& attrs = g.attrs<ReduceAttrs>();
  DimSet dims = DimSet(attrs.dims);
  const Dims& sizes = g.input_sizes(0);
  Tensor value = with_dims(g.output(), sizes, dims, attrs.keepdim);
  // A NaN result is matched by the NaNs.
  Tensor hit = logical_or(eq(g.input(0), value), logical_and(ne(g.input(0), g.input(0)), ne(value, value)));
  Tensor share = with_dims(g.grad(), sizes, dims, attrs.keepdim);
  if (dims && !fault(6))
    share = div(share, cast(sum(hit, dim_list(dims, sizes.size()), true), share.dtype()));
  g.set(0, mul(share, cast(hit, share.dtype())));
}

constexpr Saves kSaves = save_input(0) | save_output();
const Op amax_op = {.name = "amax",
                    .kind = Kind::Reduce,
                    .infer = extreme_infer,
                    .cpu = extreme_cpu<ReduceKind::Max>,
                    .cuda = extreme_cuda<Reducer::Max>,
                    .grad = extreme_grad,
                    .saves = kSaves};
const Op amin_op = {.name = "amin",
                    .kind = Kind::Reduce,
                    .infer = extreme_infer,
                    .cpu = extreme_cpu<ReduceKind::Min>,
                    .cuda = extreme_cuda<Reducer::Min>,
                    .grad = extreme_grad,
                    .saves = kSaves};
const Op max_op = {.name = "max",
                   .kind = Kind::Reduce,
                   .infer = extreme_infer,
                   .cpu = extreme_cpu<ReduceKind::Max>,
                   .cuda = extreme_cuda<Reducer::Max>,
                   .grad = extreme_grad,
                   .saves = kSaves};
const Op min_op = {.name = "min",
                   .kind = Kind::Reduce,
                   .infer = extreme_infer,
                   .cpu = extreme_cpu<ReduceKind::Min>,
                   .cuda = extreme_cuda<Reducer::Min>,
                   .grad = extreme_grad,
                   .saves = kSaves};

Tensor extreme_over(const Op& op, const Tensor& x, DimSet dims, bool keepdim) {
  return dispatch(op, {x}, ReduceAttrs{dims, keepdim, int64_t(x.dtype())});
}

// --- along one dim, with places ---

// Whether y comes before the best so far: more extreme, or the first NaN.
template <bool largest, class T>
bool beats(T y, T best) {
  if constexpr (std::is_integral_v<T>) return largest ? y > best : y < best;
  float a = 0, b = 0;
  if constexpr (std::is_same_v<T, double>) {
    return (largest ? y > best : y < best) || (std::isnan(y) && !std::isnan(best));
  } else {
    a = float(y), b = float(best);
    return (largest ? a > b : a < b) || (std::isnan(a) && !std::isnan(b));
  }
}

// x as (outer, n, inner), row-major.
struct Slices {
  int64_t outer = 1, n = 1, inner = 1;
  Slices(IntArrayRef sizes, int dim) {
    for (int d = 0; d < int(sizes.size()); ++d) (d < dim ? outer : d == dim ? n : inner) *= sizes[d];
  }
};

constexpr int64_t kGrain = 1 << 14;

template <bool largest, class T>
int64_t best_by_comparing(const T* x, int64_t n) {
  int64_t place = 0;
  T best = x[0];
  for (int64_t i = 1; i < n; ++i) {
    if (beats<largest>(x[i], best)) best = x[i], place = i;
  }
  return place;
}

// The place of the best of x[0..n). In a long row the value first, with vectors, then where it is.
template <bool largest, class T>
int64_t best_of_row(const T* x, int64_t n) {
  constexpr bool has_kernel =
      std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;
  if constexpr (has_kernel) {
    if (n < 64) return best_by_comparing<largest>(x, n);
    const ReduceKernel<T>& kernel = reduce_kernels().get<T>(largest ? ReduceKind::Max : ReduceKind::Min);
    alignas(64) T lanes[kReduceLanes<T>];
    std::fill(lanes, lanes + kReduceLanes<T>, kernel.identity);
    kernel.row(lanes, x, n, T(0), T(0));
    return reduce_kernels().find<T>()(x, n, kernel.fold(lanes));
  } else {
    return best_by_comparing<largest>(x, n);
  }
}

// One long row: the first best of each chunk, then the first best of those.
template <bool largest, class T>
int64_t best_of_long_row(const T* x, int64_t n) {
  int64_t chunks = (n + kGrain - 1) / kGrain;
  std::vector<int64_t> places(static_cast<size_t>(chunks));
  parallel_chunks(n, kGrain, [&](int64_t i, int64_t begin, int64_t end) {
    places[size_t(i)] = begin + best_of_row<largest>(x + begin, end - begin);
  });
  int64_t place = places[0];
  for (int64_t other : places)
    if (beats<largest>(x[other], x[place])) place = other;
  return place;
}

// The best of each of `inner` columns of n rows; columns are taken in runs that stay in cache.
template <bool largest, class T>
void best_of_columns(const T* x, int64_t n, int64_t inner, int64_t begin, int64_t end, int64_t* places) {
  constexpr int64_t kRun = 256;
  T best[kRun];
  for (int64_t first = begin; first < end; first += kRun) {
    int64_t count = std::min(kRun, end - first);
    std::copy(x + first, x + first + count, best);
    std::fill(places + first, places + first + count, 0);
    for (int64_t i = 1; i < n; ++i) {
      const T* row = x + i * inner + first;
      for (int64_t c = 0; c < count; ++c) {
        if (beats<largest>(row[c], best[c])) best[c] = row[c], places[first + c] = i;
      }
    }
  }
}

template <bool largest, class T>
void find_places(const T* x, const Slices& s, int64_t* places) {
  if (s.inner > 1) {
    int64_t grain = std::max<int64_t>(1, kGrain / (s.n * s.inner));
    if (s.outer >= 2 * get_num_threads()) {
      parallel_for(0, s.outer, grain, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
          best_of_columns<largest>(x + o * s.n * s.inner, s.n, s.inner, 0, s.inner, places + o * s.inner);
      });
      return;
    }
    for (int64_t o = 0; o < s.outer; ++o) {
      parallel_for(0, s.inner, std::max<int64_t>(1, kGrain / s.n), [&](int64_t begin, int64_t end) {
        best_of_columns<largest>(x + o * s.n * s.inner, s.n, s.inner, begin, end, places + o * s.inner);
      });
    }
  } else if (s.outer < get_num_threads() && s.n > 2 * kGrain) {
    for (int64_t o = 0; o < s.outer; ++o) places[o] = best_of_long_row<largest>(x + o * s.n, s.n);
  } else {
    parallel_for(0, s.outer, std::max<int64_t>(1, kGrain / s.n), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) places[o] = best_of_row<largest>(x + o * s.n, s.n);
    });
  }
}

struct PlaceAttrs {
  int64_t dim;  // -1: x is flattened
  int64_t keepdim;
};

Slices slices_of(const Tensor& x, int64_t dim) {
  if (dim >= 0) return Slices(x.sizes(), int(dim));
  int64_t all[] = {x.numel()};
  return Slices(all, 0);
}

template <bool largest>
void places_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor x = row_major(a[0], a[0].dtype());
  visit(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    find_places<largest>(static_cast<const T*>(x.data_ptr()), slices_of(x, a.attrs<PlaceAttrs>().dim),
                         static_cast<int64_t*>(out->data_ptr()));
  });
}

template <bool largest>
void values_and_places_cpu(const Args& a, Tensor* out) {
  if (out[0].numel() == 0) return;
  Tensor x = row_major(a[0], a[0].dtype());
  Slices s = slices_of(x, a.attrs<PlaceAttrs>().dim);
  int64_t* places = static_cast<int64_t*>(out[1].data_ptr());
  visit(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    const T* data = static_cast<const T*>(x.data_ptr());
    find_places<largest>(data, s, places);
    T* values = static_cast<T*>(out[0].data_ptr());
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t i = 0; i < s.inner; ++i) {
        int64_t at = o * s.inner + i;
        values[at] = data[(o * s.n + places[at]) * s.inner + i];
      }
    }
  });
}

// Of one output or two: values, if there are two, then places.
template <bool largest>
void places_cuda(const Args& a, Tensor* out) {
  Tensor places = out[a.op.outputs - 1], values = a.op.outputs == 2 ? out[0] : Tensor();
  if (places.numel() == 0) return;
  ScalarType compute = compute_dtype_of(a[0].dtype());
  Tensor x = row_major(a[0], compute),
         target = values.defined() ? row_major_output(values, compute) : Tensor();
  Slices s = slices_of(x, a.attrs<PlaceAttrs>().dim);
  launch_cuda(a.op.name, &CudaTable::places,
              PlaceCall{.largest = largest,
                        .compute = compute_of(compute),
                        .places = static_cast<int64_t*>(places.data_ptr()),
                        .values = address_of(target),
                        .in = x.data_ptr(),
                        .outer = s.outer,
                        .n = s.n,
                        .inner = s.inner});
  if (values.defined()) finish_output(values, target);
}

// The last output is the places; before it, if there are two, the values.
void places_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<PlaceAttrs>();
  const Tensor& x = a[0];
  DimSet dims = attrs.dim < 0 ? all_dims(x) : x.dim() == 0 ? 0 : DimSet(1) << attrs.dim;
  check_not_empty(a.op.name, x.sizes(), dims);
  for (int i = 0; i < a.op.outputs; ++i) {
    out[i].sizes = reduced_sizes(x.sizes(), dims, attrs.keepdim);
    out[i].dtype = i + 1 == a.op.outputs ? kLong : x.dtype();
    out[i].device = x.device();
  }
}

void values_grad(GradArgs& g) {
  const auto& attrs = g.attrs<PlaceAttrs>();
  const Dims& sizes = g.input_sizes(0);
  if (sizes.empty()) return g.set(0, g.grad());
  DimSet dims = DimSet(1) << attrs.dim;
  Tensor grad = with_dims(g.grad(), sizes, dims, attrs.keepdim);
  Tensor places = with_dims(g.output(1), sizes, dims, attrs.keepdim);
  g.set(0, zeros(sizes, grad.options()).scatter_add(attrs.dim, places, grad));
}

const Op argmax_op = {
    .name = "argmax", .infer = places_infer, .cpu = places_cpu<true>, .cuda = places_cuda<true>};
const Op argmin_op = {
    .name = "argmin", .infer = places_infer, .cpu = places_cpu<false>, .cuda = places_cuda<false>};
const Op max_dim_op = {.name = "max",
                       .infer = places_infer,
                       .cpu = values_and_places_cpu<true>,
                       .cuda = places_cuda<true>,
                       .grad = values_grad,
                       .saves = save_output(1),
                       .outputs = 2,
                       .differentiable = 1};
const Op min_dim_op = {.name = "min",
                       .infer = places_infer,
                       .cpu = values_and_places_cpu<false>,
                       .cuda = places_cuda<false>,
                       .grad = values_grad,
                       .saves = save_output(1),
                       .outputs = 2,
                       .differentiable = 1};

std::tuple<Tensor, Tensor> extreme_along(const Op& op, const Tensor& x, int64_t dim, bool keepdim) {
  Tensor out[2];
  dispatch(op, {x}, PlaceAttrs{wrap_dim(dim, x.dim(), op.name), keepdim}, {}, out);
  return {out[0], out[1]};
}

Tensor place_along(const Op& op, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return dispatch(op, {x}, PlaceAttrs{dim ? wrap_dim(*dim, x.dim(), op.name) : -1, keepdim});
}

}  // namespace

Tensor amax(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return extreme_over(amax_op, x, dim_set("amax", x, dims), keepdim);
}
Tensor amin(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return extreme_over(amin_op, x, dim_set("amin", x, dims), keepdim);
}
Tensor max(const Tensor& x) { return extreme_over(max_op, x, all_dims(x), false); }
Tensor min(const Tensor& x) { return extreme_over(min_op, x, all_dims(x), false); }
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along(max_dim_op, x, dim, keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along(min_dim_op, x, dim, keepdim);
}
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return place_along(argmax_op, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return place_along(argmin_op, x, dim, keepdim);
}

Tensor Tensor::amax(IntArrayRef dims, bool keepdim) const { return tarn::amax(*this, dims, keepdim); }
Tensor Tensor::amin(IntArrayRef dims, bool keepdim) const { return tarn::amin(*this, dims, keepdim); }
Tensor Tensor::max() const { return tarn::max(*this); }
Tensor Tensor::min() const { return tarn::min(*this); }
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const {
  return tarn::max(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const {
  return tarn::min(*this, dim, keepdim);
}
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const {
  return tarn::argmax(*this, dim, keepdim);
}
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const {
  return tarn::argmin(*this, dim, keepdim);
}

}  // namespace tarn::inline v1
