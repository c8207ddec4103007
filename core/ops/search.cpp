// searchsorted and bucketize: binary search, one per value.
#include <limits>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/order_common.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// Inputs: sorted sequences (..., n), values (..., k), places that sort the sequences (..., n) or undefined.
struct SearchAttrs {
  int64_t right;
  int64_t out_int32;
};

void search_infer(const Args& a, Spec* out) {
  const Tensor &sequence = a[0], &values = a[1], &sorter = a[2];
  check(sequence.dim() > 0, "searchsorted: the sorted sequence must have at least 1 dim");
  check(values.dim() > 0 || sequence.dim() == 1,
        "searchsorted: a number needs a sorted sequence of 1 dim, got shape ", sequence.sizes());
  bool fits = sequence.dim() == 1 || sequence.dim() == values.dim();
  for (int d = 0; fits && sequence.dim() > 1 && d + 1 < sequence.dim(); ++d)
    fits = sequence.sizes()[d] == values.sizes()[d];
  check(fits, "searchsorted: a sorted sequence of shape ", sequence.sizes(),
        " must have 1 dim or agree in all dims but the last with values of shape ", values.sizes());
  if (sorter.defined()) {
    check(sorter.dtype() == kLong, "searchsorted: sorter must be Long, got ", sorter.dtype());
    check(sorter.sizes() == sequence.sizes(), "searchsorted: sorter of shape ", sorter.sizes(),
          " must have the shape of the sorted sequence, ", sequence.sizes());
  }
  bool int32 = a.attrs<SearchAttrs>().out_int32;
  check(!int32 || sequence.sizes()[sequence.dim() - 1] <= std::numeric_limits<int32_t>::max(),
        "searchsorted: places in a sequence of shape ", sequence.sizes(), " do not fit in Int");
  out->sizes = values.sizes();
  out->dtype = int32 ? kInt : kLong;
  out->device = sequence.device();
}

// How many elements of the sequence come before v: those less than it, or with `right` those not greater.
// Written so that NaN is behind every number.
template <class T>
int64_t count_before(const T* sequence, const int64_t* sorter, int64_t n, T v, bool right) {
  int64_t begin = 0, end = n;
  while (begin < end) {
    int64_t middle = begin + (end - begin) / 2, place = sorter ? sorter[middle] : middle;
    check(place >= 0 && place < n, "searchsorted: sorter has the place ", place, " in a sequence of ", n);
    T at = sequence[place];
    bool before = right ? !(at > v) : !(at >= v);
    (before ? begin : end) = before ? middle + 1 : middle;
  }
  return begin;
}

template <class Place>
void search(const Args& a, Place* to) {
  const Tensor &sequence = a[0], &values = a[1];
  bool right = a.attrs<SearchAttrs>().right;
  const int64_t* sorter = a[2].defined() ? a[2].data_ptr<int64_t>() : nullptr;
  int64_t n = sequence.sizes()[sequence.dim() - 1], k = values.dim() ? values.sizes()[values.dim() - 1] : 1;
  bool many = sequence.dim() > 1;
  visit(sequence.dtype(), "searchsorted", [&]<class T>(Type<T>) {
    const T* from = static_cast<const T*>(sequence.data_ptr());
    const T* sought = static_cast<const T*>(values.data_ptr());
    parallel_for(0, values.numel(), 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t start = many ? i / k * n : 0;
        to[i] = Place(count_before(from + start, sorter ? sorter + start : nullptr, n, sought[i], right));
      }
    });
  });
}

// The public function makes the inputs row-major and of one dtype.
void search_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  if (out->dtype() == kInt)
    search(a, out->data_ptr<int32_t>());
  else
    search(a, out->data_ptr<int64_t>());
}

const Op search_op = {
    .name = "searchsorted", .infer = search_infer, .cpu = search_cpu, .cuda = through_cpu<search_cpu>};

int category(ScalarType t) { return is_floating(t) ? 2 : t == kBool ? 0 : 1; }

// PyTorch's promotion: a value without dims yields to a sequence of its category or a higher one.
ScalarType common_dtype(ScalarType sequence, const Tensor& values, bool number) {
  if (values.dim() == 0 && category(values.dtype()) <= category(sequence)) return sequence;
  if (number) return is_floating(values.dtype()) ? get_default_dtype() : values.dtype();
  return promote_types(sequence, values.dtype());
}

Tensor search_places(const Tensor& sequence, const Tensor& values, bool number, bool out_int32, bool right,
                     const Tensor& sorter) {
  check(sequence.defined() && values.defined(), "searchsorted: a tensor is undefined");
  ScalarType dtype = common_dtype(sequence.dtype(), values, number);
  auto prepared = [dtype](const Tensor& t) { return contiguous(cast(detach(t), dtype)); };
  return dispatch(search_op,
                  {prepared(sequence), prepared(values), sorter.defined() ? contiguous(sorter) : sorter},
                  SearchAttrs{right, out_int32});
}

bool is_right(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  check(*side == "left" || *side == "right", "searchsorted: side must be left or right, got ", *side);
  check(!right || *side == "right", "searchsorted: side left contradicts right = true");
  return *side == "right";
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32, bool right,
                    std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  return search_places(sorted_sequence, values, false, out_int32, is_right(right, side),
                       sorter.value_or(Tensor()));
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, bool out_int32, bool right,
                    std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  return search_places(sorted_sequence, wrapped_scalar(value), true, out_int32, is_right(right, side),
                       sorter.value_or(Tensor()));
}

Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right) {
  check(boundaries.dim() == 1, "bucketize: boundaries must have 1 dim, got shape ", boundaries.sizes());
  return search_places(boundaries, x, false, out_int32, right, {});
}
Tensor bucketize(const Scalar& value, const Tensor& boundaries, bool out_int32, bool right) {
  check(boundaries.dim() == 1, "bucketize: boundaries must have 1 dim, got shape ", boundaries.sizes());
  return search_places(boundaries, wrapped_scalar(value), true, out_int32, right, {});
}

}  // namespace tarn::inline v1
