// poisson and binomial: counts whose parameters are tensors. A draw takes an unknown number of random words,
// so each element has a stream of its own, keyed by the four words of the op's stream that belong to it.
#include <cmath>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/draw.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

class ElementStream {
 public:
  ElementStream(const RandomStream& stream, int64_t element)
      : key_(philox_block(stream.seed, stream.offset / 4 + uint64_t(element))) {}

  // In (0, 1).
  double uniform() {
    if (used_ == 4) {
      words_ =
          philox({{uint32_t(block_), uint32_t(block_ >> 32), key_.w[2], key_.w[3]}}, key_.w[0], key_.w[1]);
      ++block_;
      used_ = 0;
    }
    double u = open_uniform(words_.w[used_], words_.w[used_ + 1]);
    used_ += 2;
    return u;
  }

 private:
  Words key_, words_{};
  uint64_t block_ = 0;
  int used_ = 4;
};

// log(k!) - (log(sqrt(2 pi)) + (k + 1/2) log(k + 1) - (k + 1)): what Stirling's formula leaves.
double stirling_tail(double k) {
  double n = k + 1;
  if (k >= 10) return (1 / 12.0 - (1 / 360.0 - 1 / 1260.0 / (n * n)) / (n * n)) / n;
  double factorial = 1;
  for (double i = 2; i <= k; ++i) factorial *= i;
  return std::log(factorial) - (0.91893853320467274178 + (k + 0.5) * std::log(n) - n);
}

double log_factorial(double k) {
  return stirling_tail(k) + 0.91893853320467274178 + (k + 0.5) * std::log(k + 1) - (k + 1);
}

// Means below 10: uniform numbers are multiplied until their product falls below e^-mean. Others: PTRS of
// Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
// and Economics 12 (1993).
double poisson_count(double mean, ElementStream& random) {
  if (mean == 0) return 0;
  if (mean < 10) {
    double limit = std::exp(-mean), product = random.uniform(), count = 0;
    for (; product > limit; ++count) product *= random.uniform();
    return count;
  }
  double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    double u = random.uniform() - 0.5, v = random.uniform(), us = 0.5 - std::abs(u);
    double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * std::log(mean) - mean - log_factorial(k))
      return k;
  }
}

// n p below 10, p <= 1/2: the gaps between successes are geometric.
double binomial_by_gaps(double n, double p, ElementStream& random) {
  double scale = std::log1p(-p), place = 0, count = 0;
  while (true) {
    place += std::max(1.0, std::ceil(std::log(random.uniform()) / scale));
    if (!(place <= n)) return count;
    ++count;
  }
}

// Others: BTRS of Hörmann, "The generation of binomial random variates", Journal of Statistical Computation
// and Simulation 46 (1993).
double binomial_by_rejection(double n, double p, ElementStream& random) {
  double q = 1 - p, spq = std::sqrt(n * p * q), b = 1.15 + 2.53 * spq, a = -0.0873 + 0.0248 * b + 0.01 * p;
  double c = n * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / q, alpha = (2.83 + 5.1 / b) * spq;
  double m = std::floor((n + 1) * p);
  while (true) {
    double u = random.uniform() - 0.5, v = random.uniform(), us = 0.5 - std::abs(u);
    double k = std::floor((2 * a / us + b) * u + c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return k;
    double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) +
                   (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                   (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(n - m) -
                   stirling_tail(k) - stirling_tail(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

double binomial_count(double n, double p, ElementStream& random) {
  if (p > 0.5) return n - binomial_count(n, 1 - p, random);
  if (n == 0 || p == 0) return 0;
  return n * p < 10 ? binomial_by_gaps(n, p, random) : binomial_by_rejection(n, p, random);
}

// --- the ops ---

// x in double and row-major, on the CPU; a copy.
Tensor doubles_of(const Tensor& x) {
  Tensor out = make_tensor(x.sizes(), kDouble);
  copy_elements(out, detach(x).cpu());
  return out;
}

// Writes count(element, its stream) over `values`, then into out.
template <class F>
void draw_counts(const Args& a, const Tensor& values, const Tensor& out, F count) {
  RandomStream stream = stream_of(a);
  double* v = static_cast<double*>(values.data_ptr());
  parallel_for(0, values.numel(), 1 << 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ElementStream random(stream, i);
      v[i] = count(i, random);
    }
  });
  copy_elements(out, values.to(out.device()));
}

void poisson_any(const Args& a, Tensor* out) {
  Tensor means = doubles_of(a[0]);
  const double* mean = static_cast<const double*>(means.data_ptr());
  for (int64_t i = 0; i < means.numel(); ++i)
    check(mean[i] >= 0 && std::isfinite(mean[i]), "poisson: rates must be 0 or more and finite, got ",
          mean[i], " at element ", i);
  draw_counts(a, means, *out,
              [&](int64_t i, ElementStream& random) { return poisson_count(mean[i], random); });
}

void binomial_any(const Args& a, Tensor* out) {
  Tensor counts = doubles_of(a[0]), probabilities = doubles_of(a[1]);
  const double* n = static_cast<const double*>(counts.data_ptr());
  const double* p = static_cast<const double*>(probabilities.data_ptr());
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check(n[i] >= 0 && std::isfinite(n[i]), "binomial: counts must be 0 or more and finite, got ", n[i],
          " at element ", i);
    check(p[i] >= 0 && p[i] <= 1, "binomial: probabilities must be between 0 and 1, got ", p[i],
          " at element ", i);
  }
  draw_counts(a, counts, *out, [&](int64_t i, ElementStream& random) {
    return binomial_count(std::floor(n[i]), p[i], random);
  });
}

void zero_grads(GradArgs& g) {
  for (int i = 0; i < g.inputs(); ++i)
    if (g.needs(i)) g.set(i, zeros_like(g.grad()));
}

const Op poisson_op = {.name = "poisson",
                       .infer = infer_like_first,
                       .cpu = poisson_any,
                       .cuda = poisson_any,
                       .grad = zero_grads};
const Op binomial_op = {.name = "binomial",
                        .infer = infer_like_first,
                        .cpu = binomial_any,
                        .cuda = binomial_any,
                        .grad = zero_grads};

}  // namespace

}  // namespace detail

using namespace detail;

Tensor poisson(const Tensor& rates, const Generator& generator) {
  check(is_floating(rates.dtype()), "poisson: rates must have a floating dtype, got ", rates.dtype());
  return dispatch(poisson_op, {rates}, {}, Draw({}, generator, 4 * rates.numel()));
}

Tensor binomial(const Tensor& count, const Tensor& prob, const Generator& generator) {
  check(is_floating(count.dtype()) && count.dtype() == prob.dtype(),
        "binomial: count and prob must have one floating dtype, got ", count.dtype(), " and ", prob.dtype());
  Dims sizes = broadcast_sizes(count.sizes(), prob.sizes(), "binomial");
  Tensor n = expand(count, sizes), p = expand(prob, sizes);
  return dispatch(binomial_op, {n, p}, {}, Draw({}, generator, 4 * n.numel()));
}

}  // namespace tarn::inline v1
