// bincount and histc: how many elements fall in each bin.
#include <algorithm>
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// In order of the elements, so that sums of weights do not depend on threads.
template <class Sum>
Tensor counted(const Tensor& places, const Tensor& weights, int64_t bins) {
  Tensor out = make_tensor({bins}, dtype_of<Sum>);
  fill_elements(out, 0);
  Sum* to = out.data_ptr<Sum>();
  const int64_t* at = places.data_ptr<int64_t>();
  const Sum* weight = weights.defined() ? weights.data_ptr<Sum>() : nullptr;
  for (int64_t i = 0; i < places.numel(); ++i) to[at[i]] += weight ? weight[i] : Sum(1);
  return out;
}

// --- histc ---

struct Span {
  double first, last;
};

template <class T>
Span span_of(const T* x, int64_t n, double min, double max) {
  if (min == max && n > 0) {
    min = double(x[0]), max = double(x[0]);
    for (int64_t i = 0; i < n; ++i) {
      if (std::isnan(x[i])) min = max = NAN;
      if (x[i] < min) min = double(x[i]);
      if (x[i] > max) max = double(x[i]);
    }
  }
  if (min == max) min -= 1, max += 1;
  check(std::isfinite(min) && std::isfinite(max), "histc: the range from ", min, " to ", max,
        " is not finite");
  check(min < max, "histc: max must be larger than min, got ", min, " and ", max);
  return {min, max};
}

template <class T>
Tensor histogram(const Tensor& x, int64_t bins, double min, double max) {
  const T* from = x.data_ptr<T>();
  Span span = span_of(from, x.numel(), min, max);
  T first = T(span.first), last = T(span.last);
  check(std::isfinite(first) && std::isfinite(last), "histc: the range from ", min, " to ", max,
        " is not finite in ", x.dtype());
  Tensor counts = make_tensor({bins}, kLong);
  fill_elements(counts, 0);
  int64_t* to = counts.data_ptr<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!(from[i] >= first && from[i] <= last)) continue;
    T bin = (from[i] - first) * T(bins) / (last - first);
    ++to[bin >= 0 ? std::min(int64_t(std::min(bin, T(bins))), bins - 1) : 0];
  }
  return counts;
}

}  // namespace

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  check(is_integral(x.dtype()), "bincount: needs an integer tensor, got ", x.dtype());
  check(x.dim() == 1, "bincount: needs a tensor of 1 dim, got shape ", x.sizes());
  check(minlength >= 0, "bincount: minlength must not be negative, got ", minlength);
  check(!weights.defined() || weights.sizes() == x.sizes(), "bincount: weights of shape ",
        weights.defined() ? weights.sizes() : x.sizes(), " must have the shape of the tensor, ", x.sizes());
  Tensor places = contiguous(cast(x, kLong)).cpu();
  int64_t bins = minlength;
  const int64_t* at = places.data_ptr<int64_t>();
  for (int64_t i = 0; i < places.numel(); ++i) {
    check(at[i] >= 0, "bincount: elements must not be negative, got ", at[i]);
    check(at[i] < int64_t(1) << 60, "bincount: the element ", at[i], " is too large");
    bins = std::max(bins, at[i] + 1);
  }
  if (!weights.defined() || x.numel() == 0) return counted<int64_t>(places, {}, bins).to(x.device());
  ScalarType sum = weights.dtype() == kFloat ? kFloat : kDouble;
  Tensor w = contiguous(cast(detach(weights), sum)).cpu();
  Tensor out = sum == kFloat ? counted<float>(places, w, bins) : counted<double>(places, w, bins);
  return out.to(x.device());
}

Tensor histc(const Tensor& x, int64_t bins, const Scalar& min, const Scalar& max) {
  check(is_floating(x.dtype()), "histc: needs a floating tensor, got ", x.dtype(), "; call to(kFloat) first");
  check(bins > 0, "histc: the number of bins must be positive, got ", bins);
  ScalarType compute = x.dtype() == kDouble ? kDouble : kFloat;
  Tensor values = contiguous(cast(detach(x), compute)).cpu();
  double low = min.to_double(), high = max.to_double();
  Tensor counts = compute == kDouble ? histogram<double>(values, bins, low, high)
                                     : histogram<float>(values, bins, low, high);
  return cast(counts, x.dtype()).to(x.device());
}

Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  return tarn::bincount(*this, weights, minlength);
}
Tensor Tensor::histc(int64_t bins, const Scalar& min, const Scalar& max) const {
  return tarn::histc(*this, bins, min, max);
}

}  // namespace tarn::inline v1
