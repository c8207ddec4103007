// sort, argsort, msort, topk. Elements are sorted as keys (core/cpu/order.h): NaN is the largest, and
// elements that are equal stay in order.
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/order_common.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// --- sort ---

void sort_infer(const Args& a, Spec* out) {
  for (int i = 0; i < 2; ++i) {
    out[i].sizes = a[0].sizes();
    out[i].dtype = i == 0 ? a[0].dtype() : kLong;
    out[i].device = a[0].device();
  }
}

void sort_cpu(const Args& a, Tensor* out) {
  choose_entries(a, out, []<class K>(Entry<K>* entries, int64_t n, std::vector<Entry<K>>& scratch) {
    sort_entries(entries, n, scratch);
  });
}

const Op sort_op = {.name = "sort",
                    .infer = sort_infer,
                    .cpu = sort_cpu,
                    .cuda = through_cpu<sort_cpu>,
                    .grad = order_grad,
                    .saves = save_output(1),
                    .outputs = 2,
                    .differentiable = 1};

// --- topk ---

void topk_infer(const Args& a, Spec* out) {
  const auto& attrs = a.attrs<OrderAttrs>();
  const Tensor& x = a[0];
  sort_infer(a, out);
  int64_t n = x.dim() ? x.sizes()[attrs.dim] : 1;
  check(attrs.k >= 0 && attrs.k <= n, "topk: k ", attrs.k, " is outside of dim ", attrs.dim,
        " of a tensor of shape ", x.sizes(), "; use 0 to ", n);
  for (int i = 0; i < 2 && x.dim() > 0; ++i) out[i].sizes[int(attrs.dim)] = attrs.k;
}

void topk_cpu(const Args& a, Tensor* out) {
  int64_t k = a.attrs<OrderAttrs>().k;
  choose_entries(a, out, [k]<class K>(Entry<K>* entries, int64_t n, std::vector<Entry<K>>&) {
    // A heap of k entries pays while k is small; otherwise those k are split off first.
    if (k * 64 <= n) return std::partial_sort(entries, entries + k, entries + n);
    if (k < n) std::nth_element(entries, entries + k, entries + n);
    std::sort(entries, entries + k);
  });
}

const Op topk_op = {.name = "topk",
                    .infer = topk_infer,
                    .cpu = topk_cpu,
                    .cuda = through_cpu<topk_cpu>,
                    .grad = order_grad,
                    .saves = save_output(1),
                    .outputs = 2,
                    .differentiable = 1};

std::tuple<Tensor, Tensor> ordered(const Op& op, const Tensor& x, const OrderAttrs& attrs) {
  Tensor out[2];
  dispatch(op, {x}, attrs, {}, out);
  return {out[0], out[1]};
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending) {
  return ordered(sort_op, x, {.dim = wrap_dim(dim, x.dim(), "sort"), .keepdim = 1, .descending = descending});
}
std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool>, int64_t dim, bool descending) {
  return sort(x, dim, descending);
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  return std::get<1>(sort(x, dim, descending));
}

Tensor msort(const Tensor& x) { return std::get<0>(sort(x, 0)); }

std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool) {
  return ordered(topk_op, x,
                 {.dim = wrap_dim(dim, x.dim(), "topk"), .keepdim = 1, .k = k, .descending = largest});
}

std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  return tarn::sort(*this, dim, descending);
}
std::tuple<Tensor, Tensor> Tensor::sort(std::optional<bool> stable, int64_t dim, bool descending) const {
  return tarn::sort(*this, stable, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const { return tarn::argsort(*this, dim, descending); }
Tensor Tensor::msort() const { return tarn::msort(*this); }
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return tarn::topk(*this, k, dim, largest, sorted);
}

}  // namespace tarn::inline v1
