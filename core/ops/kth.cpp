// kthvalue, median, nanmedian, mode: one element of each slice, chosen by its rank or by how often it occurs.
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/order_common.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

template <class K>
void bring_to_front(Entry<K>* entries, int64_t n, int64_t rank) {
  std::nth_element(entries, entries + rank, entries + n);
  std::swap(entries[0], entries[rank]);
}

// --- kthvalue ---

void kthvalue_infer(const Args& a, Spec* out) {
  choose_infer(a, out);
  const auto& attrs = a.attrs<OrderAttrs>();
  int64_t n = a[0].dim() ? a[0].sizes()[attrs.dim] : 1;
  check(attrs.k >= 1 && attrs.k <= n, "kthvalue: k ", attrs.k, " is outside of dim ", attrs.dim,
        " of a tensor of shape ", a[0].sizes(), "; use 1 to ", n);
}

void kthvalue_cpu(const Args& a, Tensor* out) {
  int64_t rank = a.attrs<OrderAttrs>().k - 1;
  choose_entries(a, out, [rank]<class K>(Entry<K>* entries, int64_t n, std::vector<Entry<K>>&) {
    bring_to_front(entries, n, rank);
  });
}

const Op kthvalue_op = {.name = "kthvalue",
                        .infer = kthvalue_infer,
                        .cpu = kthvalue_cpu,
                        .cuda = through_cpu<kthvalue_cpu>,
                        .grad = order_grad,
                        .saves = save_output(1),
                        .outputs = 2,
                        .differentiable = 1};

// --- median, nanmedian: the lower of the two middle elements of an even number ---

template <bool ignore_nan>
void choose_medians(const Args& a, Tensor* out) {
  bool has_nan = is_floating(a[0].dtype());
  choose_entries(a, out, [has_nan]<class K>(Entry<K>* entries, int64_t n, std::vector<Entry<K>>&) {
    int64_t nans = 0;
    for (int64_t i = 0; has_nan && i < n; ++i) {
      if (entries[i].key != kLastKey<K>) continue;
      if constexpr (!ignore_nan) return std::swap(entries[0], entries[i]);
      ++nans;
    }
    bring_to_front(entries, n, std::max<int64_t>(n - nans - 1, 0) / 2);
  });
}

template <bool ignore_nan>
constexpr Op median_op = {.name = ignore_nan ? "nanmedian" : "median",
                          .infer = choose_infer,
                          .cpu = choose_medians<ignore_nan>,
                          .cuda = through_cpu<choose_medians<ignore_nan>>,
                          .grad = order_grad,
                          .saves = save_output(1),
                          .outputs = 2,
                          .differentiable = 1};

// --- of the whole tensor, which comes flattened; elements equal to the median share the gradient ---

void whole_infer(const Args& a, Spec* out) {
  check(a[0].numel() > 0 || is_floating(a[0].dtype()), a.op.name, ": an empty tensor of ", a[0].dtype(),
        " has no median");
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

template <bool ignore_nan>
void whole_cpu(const Args& a, Tensor* out) {
  if (a[0].numel() == 0) return fill_elements(*out, NAN);
  Tensor both[] = {*out, make_tensor({}, kLong)};
  choose_medians<ignore_nan>(a, both);
}

void whole_grad(GradArgs& g) {
  const Tensor &x = g.input(0), &value = g.output();
  Tensor hit = logical_or(eq(x, value), logical_and(isnan(x), isnan(value)));
  Tensor share = div(g.grad(), cast(sum(hit), g.grad().dtype()));
  g.set(0, mul(share, cast(hit, share.dtype())));
}

template <bool ignore_nan>
constexpr Op whole_median_op = {.name = ignore_nan ? "nanmedian" : "median",
                                .infer = whole_infer,
                                .cpu = whole_cpu<ignore_nan>,
                                .cuda = through_cpu<whole_cpu<ignore_nan>>,
                                .grad = whole_grad,
                                .saves = save_input(0) | save_output()};

// --- mode ---

// Of the longest runs of equal elements the first, and in it the last place. NaN equals nothing.
template <class K>
void bring_mode_to_front(Entry<K>* entries, int64_t n, bool has_nan, std::vector<Entry<K>>& scratch) {
  sort_entries(entries, n, scratch);
  int64_t longest = 0, best = 0;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && entries[end].key == entries[begin].key; ++end) {
      if (has_nan && entries[begin].key == kLastKey<K>) break;
    }
    if (end - begin > longest) longest = end - begin, best = end - 1;
  }
  std::swap(entries[0], entries[best]);
}

void mode_cpu(const Args& a, Tensor* out) {
  bool has_nan = is_floating(a[0].dtype());
  choose_entries(a, out, [has_nan]<class K>(Entry<K>* entries, int64_t n, std::vector<Entry<K>>& scratch) {
    bring_mode_to_front(entries, n, has_nan, scratch);
  });
}

const Op mode_op = {.name = "mode",
                    .infer = choose_infer,
                    .cpu = mode_cpu,
                    .cuda = through_cpu<mode_cpu>,
                    .grad = order_grad,
                    .saves = save_output(1),
                    .outputs = 2,
                    .differentiable = 1};

std::tuple<Tensor, Tensor> chosen(const Op& op, const Tensor& x, int64_t dim, bool keepdim, int64_t k = 0) {
  Tensor out[2];
  dispatch(op, {x}, OrderAttrs{.dim = wrap_dim(dim, x.dim(), op.name), .keepdim = keepdim, .k = k}, {}, out);
  return {out[0], out[1]};
}

Tensor chosen_of_all(const Op& op, const Tensor& x) {
  return dispatch(op, {reshape(x, {-1})}, OrderAttrs{.dim = 0, .keepdim = 0});
}

}  // namespace

std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  return chosen(kthvalue_op, x, dim, keepdim, k);
}
Tensor median(const Tensor& x) { return chosen_of_all(whole_median_op<false>, x); }
std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim) {
  return chosen(median_op<false>, x, dim, keepdim);
}
Tensor nanmedian(const Tensor& x) { return chosen_of_all(whole_median_op<true>, x); }
std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  return chosen(median_op<true>, x, dim, keepdim);
}
std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim, bool keepdim) {
  return chosen(mode_op, x, dim, keepdim);
}

std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tarn::kthvalue(*this, k, dim, keepdim);
}
Tensor Tensor::median() const { return tarn::median(*this); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const {
  return tarn::median(*this, dim, keepdim);
}
Tensor Tensor::nanmedian() const { return tarn::nanmedian(*this); }
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tarn::nanmedian(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) const {
  return tarn::mode(*this, dim, keepdim);
}

}  // namespace tarn::inline v1
