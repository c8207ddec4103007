// What the ops that sort slices share. Private to core/ops.
#pragma once

#include <tarn/core/cpu/order.h>
#include <tarn/core/cpu/slices.h>
#include <tarn/core/op.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

// Ops with the outputs values and places, whose dim is kept, of another size, or taken away.
struct OrderAttrs {
  int64_t dim;
  int64_t keepdim;
  int64_t k = 0;           // topk: how many; kthvalue: which, from 1
  int64_t descending = 0;  // sort, topk
};

// Outputs without the dim, or with 1 for it. An Error if there are slices but no elements in them.
void choose_infer(const Args& a, Spec* out);
// Puts the gradient of the values at their places.
void order_grad(GradArgs& g);

// A kernel for devices that have none: the CPU's on copies. What sorts is bound by the transfer then.
void run_on_cpu(const Args& a, Tensor* out, void (*cpu)(const Args& a, Tensor* out));
template <void (*cpu)(const Args& a, Tensor* out)>
void through_cpu(const Args& a, Tensor* out) {
  run_on_cpu(a, out, cpu);
}

// Strides of an output for a walk over x's dims, 0 for a dim that it does not have.
Dims strides_along(const Tensor& out, const Tensor& x, int64_t dim);

// For each slice of x along the dim: its entries go through choose(entries, n, scratch), which puts the
// wanted ones in front; as many as out[0] has along the dim become values (out[0]) and places (out[1]).
template <class Choose>
void choose_entries(const Args& a, Tensor* out, const Choose& choose) {
  const auto& attrs = a.attrs<OrderAttrs>();
  const Tensor &x = a[0], &values = out[0], &places = out[1];
  if (values.numel() == 0) return;
  int dim = int(attrs.dim);
  int64_t n = x.dim() ? x.sizes()[dim] : 1, step = x.dim() ? x.strides()[dim] : 1;
  Dims value_strides = strides_along(values, x, dim), place_strides = strides_along(places, x, dim);
  bool kept = values.dim() == x.dim() && x.dim() > 0;
  int64_t count = kept ? values.sizes()[dim] : 1;
  int64_t value_step = kept ? value_strides[dim] : 0, place_step = kept ? place_strides[dim] : 0;
  auto* to_places = static_cast<int64_t*>(places.data_ptr());
  visit_keys(x.dtype(), a.op.name, [&]<class K>(Type<K>, EntryLoader<K> load) {
    // The key's type serves as the element's: both have one width, and elements are only moved.
    const K* from = static_cast<const K*>(x.data_ptr());
    K* to = static_cast<K*>(values.data_ptr());
    parallel_for(0, x.numel() / n, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
      std::vector<Entry<K>> entries(static_cast<size_t>(n)), scratch;
      SliceWalk<3> walk(x.sizes(), dim, {x.strides(), value_strides, place_strides}, begin);
      for (int64_t i = begin; i < end; ++i, walk.next()) {
        const K* slice = from + walk.offset(0);
        load(slice, step, n, attrs.descending ? kLastKey<K> : K(0), entries.data());
        choose(entries.data(), n, scratch);
        for (int64_t k = 0; k < count; ++k) {
          int64_t place = entries[size_t(k)].place;
          to[walk.offset(1) + k * value_step] = slice[place * step];
          to_places[walk.offset(2) + k * place_step] = place;
        }
      }
    });
  });
}

}  // namespace tarn::inline v1::detail
