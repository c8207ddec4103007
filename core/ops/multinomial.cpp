// multinomial. With replacement each draw is looked up in the running sums of the weights. Without, category
// k gets an arrival time, exponential with rate weight k, and the first ones to arrive are drawn: what is
// left is drawn from as if the others had never been there.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/draw.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct MultinomialAttrs {
  int64_t samples, replacement;
};

void multinomial_infer(const Args& a, Spec* out) {
  out->sizes = a[0].sizes();
  out->sizes[out->sizes.size() - 1] = a.attrs<MultinomialAttrs>().samples;
  out->dtype = kLong;
  out->device = a[0].device();
}

// Number k of the stream in (0, 1), of two words.
double uniform_at(const RandomStream& stream, int64_t k) {
  Words words = philox_block(stream.seed, stream.offset / 4 + uint64_t(k) / 2);
  const uint32_t* w = words.w + k % 2 * 2;
  return open_uniform(w[0], w[1]);
}

void check_weights(const double* weights, int64_t n, int64_t samples, bool replacement) {
  int64_t positive = 0;
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    check(weights[k] >= 0 && std::isfinite(weights[k]),
          "multinomial: weights must be 0 or more and finite, got ", weights[k]);
    positive += weights[k] > 0;
    sum += weights[k];
  }
  check(sum > 0 && std::isfinite(sum),
        "multinomial: the weights of a row must have a positive finite sum, got ", sum);
  check(replacement || positive >= samples, "multinomial: ", samples,
        " samples without replacement need as many positive weights, got ", positive);
}

void with_replacement(const double* weights, int64_t n, int64_t* out, int64_t samples,
                      const RandomStream& stream, int64_t first) {
  std::vector<double> sums(static_cast<size_t>(n));
  std::partial_sum(weights, weights + n, sums.begin());
  for (int64_t s = 0; s < samples; ++s) {
    double at = uniform_at(stream, first + s) * sums.back();
    auto place = std::upper_bound(sums.begin(), sums.end(), at);
    // Rounding may bring `at` to the whole sum: the last category with weight.
    if (place == sums.end()) place = std::lower_bound(sums.begin(), sums.end(), sums.back());
    out[s] = place - sums.begin();
  }
}

void without_replacement(const double* weights, int64_t n, int64_t* out, int64_t samples,
                         const RandomStream& stream, int64_t first) {
  std::vector<std::pair<double, int64_t>> arrivals;
  for (int64_t k = 0; k < n; ++k)
    if (weights[k] > 0) arrivals.emplace_back(-std::log(uniform_at(stream, first + k)) / weights[k], k);
  std::partial_sort(arrivals.begin(), arrivals.begin() + samples, arrivals.end());
  for (int64_t s = 0; s < samples; ++s) out[s] = arrivals[size_t(s)].second;
}

void multinomial_any(const Args& a, Tensor* out) {
  const auto& p = a.attrs<MultinomialAttrs>();
  int64_t n = a[0].sizes()[a[0].dim() - 1], rows = n ? a[0].numel() / n : 0;
  Tensor weights = make_tensor(a[0].sizes(), kDouble), drawn = make_tensor(out->sizes(), kLong);
  copy_elements(weights, detach(a[0]).cpu());
  const double* w = static_cast<const double*>(weights.data_ptr());
  int64_t* to = static_cast<int64_t*>(drawn.data_ptr());
  for (int64_t row = 0; row < rows; ++row) check_weights(w + row * n, n, p.samples, p.replacement);
  RandomStream stream = stream_of(a);
  parallel_for(
      0, rows, std::max<int64_t>(1, 1024 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          if (p.replacement)
            with_replacement(w + row * n, n, to + row * p.samples, p.samples, stream, row * p.samples);
          else
            without_replacement(w + row * n, n, to + row * p.samples, p.samples, stream, row * n);
        }
      });
  copy_elements(*out, drawn.to(out->device()));
}

const Op multinomial_op = {
    .name = "multinomial", .infer = multinomial_infer, .cpu = multinomial_any, .cuda = multinomial_any};

}  // namespace

}  // namespace detail

using namespace detail;

Tensor multinomial(const Tensor& x, int64_t num_samples, bool replacement, const Generator& generator) {
  check(is_floating(x.dtype()), "multinomial: weights must have a floating dtype, got ", x.dtype());
  check(x.dim() == 1 || x.dim() == 2, "multinomial: weights must have 1 or 2 dims, got sizes ", x.sizes());
  int64_t n = x.size(-1), rows = x.dim() == 1 ? 1 : x.size(0), draws = 0;
  check(num_samples > 0, "multinomial: num_samples must be positive, got ", num_samples);
  check(n > 0, "multinomial: there are no categories in weights of sizes ", x.sizes());
  check(replacement || num_samples <= n, "multinomial: ", num_samples, " samples without replacement of ", n,
        " categories");
  check(!__builtin_mul_overflow(rows, replacement ? num_samples : n, &draws) && draws < int64_t(1) << 60,
        "multinomial: ", num_samples, " samples are too many");
  return dispatch(multinomial_op, {x}, MultinomialAttrs{num_samples, replacement},
                  Draw({}, generator, 2 * draws));
}

Tensor Tensor::multinomial(int64_t num_samples, bool replacement) const {
  return tarn::multinomial(*this, num_samples, replacement);
}
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, const Generator& generator) const {
  return tarn::multinomial(*this, num_samples, replacement, generator);
}

}  // namespace tarn::inline v1
