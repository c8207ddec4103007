// Draws in place: exponential_, cauchy_, log_normal_, geometric_, and random_ over all of a dtype. On a
// device the numbers are made by the CPU and copied, so that they are the same.
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

template <void (*cpu)(const Args& a, Tensor* out)>
void drawn_on_cpu(const Args& a, Tensor* out) {
  Tensor made = make_tensor(out->sizes(), out->dtype());
  cpu(a, &made);
  copy_elements(*out, made.to(out->device()));
}

void zero_grad(GradArgs& g) { g.set(0, zeros_like(g.grad())); }

template <void (*cpu)(const Args& a, Tensor* out)>
constexpr Op in_place_draw(const char* name) {
  return {.name = name,
          .infer = infer_like_first,
          .cpu = cpu,
          .cuda = drawn_on_cpu<cpu>,
          .grad = zero_grad,
          .inplace = true};
}

// Element i is value(a uniform number in (0, 1)).
template <class F>
void from_uniform(const Args& a, const Tensor& out, F value) {
  visit(out.dtype(), a.op.name, [&]<class T>(Type<T>) {
    generate<2, T>(out, stream_of(a), [&](const uint32_t* w, int64_t) {
      return Scalar(value(open_uniform(w[0], w[1]))).to<T>();
    });
  });
}

void exponential_cpu(const Args& a, Tensor* out) {
  double lambda = a.scalar(0).to_double();
  from_uniform(a, *out, [&](double u) { return -std::log(u) / lambda; });
}

void cauchy_cpu(const Args& a, Tensor* out) {
  double median = a.scalar(0).to_double(), sigma = a.scalar(1).to_double();
  from_uniform(a, *out, [&](double u) { return median + sigma * std::tan(M_PI * (u - 0.5)); });
}

// Trials up to the first success: 1, 2, ...; at most what the dtype holds.
void geometric_cpu(const Args& a, Tensor* out) {
  double scale = std::log1p(-a.scalar(0).to_double());
  double most = is_floating(out->dtype()) ? INFINITY : std::nextafter(double(largest_exact(out->dtype())), 0);
  from_uniform(a, *out, [&](double u) {
    double trials = std::max(1.0, std::ceil(std::log(u) / scale));
    return trials < most ? trials : std::floor(most);
  });
}

const Op exponential_op = in_place_draw<exponential_cpu>("exponential");
const Op cauchy_op = in_place_draw<cauchy_cpu>("cauchy");
const Op geometric_op = in_place_draw<geometric_cpu>("geometric");

void check_floating(const char* op, const Tensor& x) {
  check(is_floating(x.dtype()), op, ": needs a floating dtype, got ", x.dtype());
}

Tensor& draw_into(const Op& op, const Tensor& x, std::initializer_list<Scalar> own,
                  const Generator& generator) {
  dispatch_inplace(op, {x}, {}, Draw(own, generator, 2 * x.numel()));
  return const_cast<Tensor&>(x);
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor& Tensor::exponential_(double lambda, const Generator& generator) const {
  check_floating("exponential_", *this);
  check(lambda > 0, "exponential_: lambda must be positive, got ", lambda);
  return draw_into(exponential_op, *this, {lambda}, generator);
}

Tensor& Tensor::cauchy_(double median, double sigma, const Generator& generator) const {
  check_floating("cauchy_", *this);
  check(sigma > 0, "cauchy_: sigma must be positive, got ", sigma);
  return draw_into(cauchy_op, *this, {median, sigma}, generator);
}

Tensor& Tensor::geometric_(double p, const Generator& generator) const {
  check(dtype() != kBool, "geometric_: Bool holds no counts");
  check(p > 0 && p < 1, "geometric_: p must be between 0 and 1, got ", p);
  return draw_into(geometric_op, *this, {p}, generator);
}

// mean and std are those of the logarithm.
Tensor& Tensor::log_normal_(double mean, double std, const Generator& generator) const {
  check_floating("log_normal_", *this);
  check(std > 0, "log_normal_: std must be positive, got ", std);
  return normal_(mean, std, generator).exp_();
}

Tensor& Tensor::random_(int64_t to) const { return random_(0, to); }

Tensor& Tensor::bernoulli_(const Tensor& p, const Generator& generator) const {
  check(is_floating(p.dtype()), "bernoulli_: p must have a floating dtype, got ", p.dtype());
  Tensor each = tarn::expand(tarn::detach(p), sizes());
  return copy_(tarn::bernoulli(each, generator));
}

Tensor Tensor::bernoulli() const { return tarn::bernoulli(*this); }

Tensor& Tensor::exponential_(double lambda) const { return exponential_(lambda, Generator()); }
Tensor& Tensor::cauchy_(double median, double sigma) const { return cauchy_(median, sigma, Generator()); }
Tensor& Tensor::log_normal_(double mean, double std) const { return log_normal_(mean, std, Generator()); }
Tensor& Tensor::geometric_(double p) const { return geometric_(p, Generator()); }
Tensor& Tensor::bernoulli_(const Tensor& p) const { return bernoulli_(p, Generator()); }

}  // namespace tarn::inline v1
