#include <tarn/core/ops/random.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/draw.h>
#include <tarn/core/ops/make.h>
#include <tarn/core/ops/pointwise.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// --- on a device ---

// The scalars before the stream's are a, b, or for integers low and range.
template <RandomKind kind>
void random_on_device(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor target = row_major_output(*out, out->dtype());
  Tensor in = kind == RandomKind::Dropout ? row_major(a[0], a[0].dtype()) : Tensor();
  RandomStream stream = stream_of(a);
  RandomCall call{};
  call.kind = kind;
  call.type = Elem(out->dtype());
  call.out = target.data_ptr();
  call.in = address_of(in);
  call.count = out->numel();
  call.seed = stream.seed;
  call.offset = stream.offset;
  bool two = a.scalars.size() > 3;
  if (kind == RandomKind::Integer) {
    call.low = uint64_t(a.scalar(0).to_int64());
    call.range = uint64_t(a.scalar(1).to_int64());
  } else {
    call.a = a.scalar(0).to_double();
    call.b = two ? a.scalar(1).to_double() : 0;
  }
  launch_cuda(a.op.name, &CudaTable::random, call);
  finish_output(*out, target);
}

void zero_grad(GradArgs& g) { g.set(0, zeros_like(g.grad())); }

// --- uniform: scalars from, to ---

// 16-bit floats take as many random bits as their significands have, so that no value rounds up to `to`.
template <class T>
void uniform_small(const Tensor& out, const RandomStream& stream, float from, float to) {
  constexpr int bits = std::is_same_v<T, Half> ? 11 : 8;
  float width = to - from;
  generate<1, T>(out, stream, [&](const uint32_t* w, int64_t) {
    return T(std::ldexp(float(w[0] >> (32 - bits)), -bits) * width + from);
  });
}

void uniform_cpu(const Args& a, Tensor* out) {
  double from = a.scalar(0).to_double(), to = a.scalar(1).to_double();
  RandomStream stream = stream_of(a);
  switch (out->dtype()) {
    case kFloat:
      return for_runs<float>(*out, [&](float* data, int64_t first, int64_t n) {
        random_kernels().uniform_f32(data, stream, first, n, float(from), float(to));
      });
    case kDouble: {
      double below = to > from ? std::nextafter(to, from) : to;
      return generate<2, double>(*out, stream, [&](const uint32_t* w, int64_t) {
        return std::min(uniform_double(w[0], w[1]) * (to - from) + from, below);
      });
    }
    case kHalf:
      return uniform_small<Half>(*out, stream, float(from), float(to));
    default:
      return uniform_small<BFloat16>(*out, stream, float(from), float(to));
  }
}

const Op rand_op = {
    .name = "rand", .infer = make_infer, .cpu = uniform_cpu, .cuda = random_on_device<RandomKind::Uniform>};
const Op uniform_op = {.name = "uniform",
                       .infer = infer_like_first,
                       .cpu = uniform_cpu,
                       .cuda = random_on_device<RandomKind::Uniform>,
                       .grad = zero_grad,
                       .inplace = true};

// The generator's words for `count` numbers of `words` each.
int64_t words_for(const char* op, int64_t count, int64_t words) {
  int64_t total = 0;
  check(!__builtin_mul_overflow(count, words, &total), op, ": ", count, " numbers are too many");
  return total;
}

Draw draw_uniform(const char* op, ScalarType dtype, int64_t numel, double from, double to,
                  const Generator& generator) {
  check(is_floating(dtype), op, ": needs a floating dtype, got ", dtype,
        "; for integers use randint or random_");
  check(from <= to && std::isfinite(to - from), op, ": needs from <= to, both finite, got ", from, " and ",
        to);
  return Draw({from, to}, generator, words_for(op, numel, dtype == kDouble ? 2 : 1));
}

// --- normal: scalars mean, std ---

void normal_cpu(const Args& a, Tensor* out) {
  double mean = a.scalar(0).to_double(), std = a.scalar(1).to_double();
  RandomStream stream = stream_of(a);
  if (out->dtype() == kDouble) {
    return for_runs<double>(*out, [&](double* data, int64_t first, int64_t n) {
      random_kernels().normal_f64(data, stream, first, n, mean, std);
    });
  }
  auto fill = [&](float* data, int64_t first, int64_t n) {
    random_kernels().normal_f32(data, stream, first, n, float(mean), float(std));
  };
  if (out->dtype() == kFloat) return for_runs<float>(*out, fill);
  Tensor wide = make_tensor(out->sizes(), kFloat, out->device());
  for_runs<float>(wide, fill);
  copy_elements(*out, wide);
}

const Op randn_op = {
    .name = "randn", .infer = make_infer, .cpu = normal_cpu, .cuda = random_on_device<RandomKind::Normal>};
const Op normal_op = {.name = "normal",
                      .infer = infer_like_first,
                      .cpu = normal_cpu,
                      .cuda = random_on_device<RandomKind::Normal>,
                      .grad = zero_grad,
                      .inplace = true};

Draw draw_normal(const char* op, ScalarType dtype, int64_t numel, double mean, double std,
                 const Generator& generator) {
  check(is_floating(dtype), op, ": needs a floating dtype, got ", dtype);
  check(std >= 0, op, ": std must be 0 or more, got ", std);
  // Numbers come in pairs.
  return Draw({mean, std}, generator, words_for(op, numel / 2 + numel % 2, dtype == kDouble ? 4 : 2));
}

// --- random: integers; scalars low, high - low ---

template <int per>
uint64_t draw_below(uint64_t range, const uint32_t* w) {
  if constexpr (per == 2) return below(range, w[0], w[1]);
  return below(range, Words{{w[0], w[1], w[2], w[3]}});
}

int words_per_integer(uint64_t range) { return range <= uint64_t(1) << 32 ? 2 : 4; }

void random_cpu(const Args& a, Tensor* out) {
  uint64_t low = uint64_t(a.scalar(0).to_int64()), range = uint64_t(a.scalar(1).to_int64());
  RandomStream stream = stream_of(a);
  visit(out->dtype(), "random_", [&]<class T>(Type<T>) {
    auto fill = [&]<int per>() {
      generate<per, T>(*out, stream, [&](const uint32_t* w, int64_t) {
        return Scalar(int64_t(low + draw_below<per>(range, w))).to<T>();
      });
    };
    if (words_per_integer(range) == 2)
      fill.template operator()<2>();
    else
      fill.template operator()<4>();
  });
}

const Op randint_op = {
    .name = "randint", .infer = make_infer, .cpu = random_cpu, .cuda = random_on_device<RandomKind::Integer>};
const Op random_op = {.name = "random",
                      .infer = infer_like_first,
                      .cpu = random_cpu,
                      .cuda = random_on_device<RandomKind::Integer>,
                      .grad = zero_grad,
                      .inplace = true};

Draw draw_integers(const char* op, ScalarType dtype, int64_t numel, int64_t low, int64_t high,
                   const Generator& generator) {
  check(low < high, op, ": needs low < high, got ", low, " and ", high);
  int64_t most = largest_exact(dtype), least = dtype == kByte || dtype == kBool ? 0
                                               : is_floating(dtype)             ? -most
                                                                                : -most - 1;
  check(low >= least && high - 1 <= most, op, ": [", low, ", ", high, ") does not fit in ", dtype,
        ", which holds ", least, " to ", most);
  uint64_t range = uint64_t(high) - uint64_t(low);
  return Draw({low, int64_t(range)}, generator, words_for(op, numel, words_per_integer(range)));
}

// --- bernoulli: scalar p, or a tensor of p ---

// Compares with all 32 bits; p = 1 gives 1 always.
bool happens(double p, uint32_t word) { return double(word) < p * 0x1p32; }

void bernoulli_cpu(const Args& a, Tensor* out) {
  double p = a.scalar(0).to_double();
  RandomStream stream = stream_of(a);
  visit(out->dtype(), "bernoulli_", [&]<class T>(Type<T>) {
    generate<1, T>(*out, stream, [&](const uint32_t* w, int64_t) { return T(happens(p, w[0])); });
  });
}

const Op bernoulli_op = {.name = "bernoulli",
                         .infer = infer_like_first,
                         .cpu = bernoulli_cpu,
                         .cuda = random_on_device<RandomKind::Bernoulli>,
                         .grad = zero_grad,
                         .inplace = true};

void bernoulli_each_cpu(const Args& a, Tensor* out) {
  Tensor p =
      a[0].dtype() == kDouble && a[0].is_contiguous() ? a[0] : make_tensor(a[0].sizes(), kDouble, Device());
  if (!p.is_same(a[0])) copy_elements(p, a[0]);
  const double* probability = p.const_data_ptr<double>();
  for (int64_t i = 0; i < p.numel(); ++i) {
    check(probability[i] >= 0 && probability[i] <= 1, "bernoulli: p must be between 0 and 1, got ",
          probability[i], " at element ", i);
  }
  visit(out->dtype(), "bernoulli", [&]<class T>(Type<T>) {
    generate<1, T>(*out, stream_of(a),
                   [&](const uint32_t* w, int64_t i) { return T(happens(probability[i], w[0])); });
  });
}

void bernoulli_each_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), "bernoulli: p must have a floating dtype, got ", a[0].dtype());
  infer_like_first(a, out);
}

const Op bernoulli_each_op = {
    .name = "bernoulli", .infer = bernoulli_each_infer, .cpu = bernoulli_each_cpu, .grad = zero_grad};

// --- randperm ---

// Fisher and Yates; the draw for place i is word pair i.
template <class T>
void shuffle(T* data, int64_t n, const RandomStream& stream) {
  for (int64_t i = 0; i < n; ++i) data[i] = T(i);
  uint32_t words[2 * kRandomTile];
  for (int64_t first = 0; first < n; first += kRandomTile) {
    int64_t count = std::min(kRandomTile, n - first);
    random_kernels().words(words, stream, 2 * first, 2 * count);
    for (int64_t k = 0; k < count; ++k) {
      int64_t i = first + k;
      std::swap(data[i], data[i + int64_t(below(uint64_t(n - i), words[2 * k], words[2 * k + 1]))]);
    }
  }
}

void randperm_cpu(const Args& a, Tensor* out) {
  int64_t n = out->numel();
  if (out->dtype() == kLong) return shuffle(static_cast<int64_t*>(out->data_ptr()), n, stream_of(a));
  Tensor order = make_tensor(out->sizes(), kLong, out->device());
  shuffle(static_cast<int64_t*>(order.data_ptr()), n, stream_of(a));
  copy_elements(*out, order);
}

const Op randperm_op = {
    .name = "randperm", .infer = make_infer, .cpu = randperm_cpu, .cuda = make_on_cpu<randperm_cpu>};

// --- dropout: scalar p. Computes in float for 16-bit dtypes ---

uint32_t drop_threshold(double p) { return uint32_t(std::min(std::round(p * 0x1p32), 0x1p32 - 1)); }

template <class T>
void dropout_each(const Tensor& out, const T* in, const RandomStream& stream, double p) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Wide scale = fault(7) ? Wide(1) : p < 1 ? Wide(1 / (1 - p)) : Wide(0);
  uint32_t threshold = drop_threshold(p);
  generate<1, T>(out, stream, [&](const uint32_t* w, int64_t i) {
    return T(Wide(in[i]) * (w[0] >= threshold ? scale : Wide(0)));
  });
}

void dropout_cpu(const Args& a, Tensor* out) {
  Tensor in = a[0];
  if (!in.is_contiguous()) {
    in = make_tensor(in.sizes(), in.dtype(), in.device());
    copy_elements(in, a[0]);
  }
  double p = a.scalar(0).to_double();
  RandomStream stream = stream_of(a);
  switch (in.dtype()) {
    case kFloat: {
      const float* from = static_cast<const float*>(in.data_ptr());
      float scale = fault(7) ? 1 : p < 1 ? float(1 / (1 - p)) : 0.0f;
      return for_runs<float>(*out, [&](float* data, int64_t first, int64_t n) {
        random_kernels().dropout_f32(data, from + first, stream, first, n, drop_threshold(p), scale);
      });
    }
    case kDouble:
      return dropout_each(*out, static_cast<const double*>(in.data_ptr()), stream, p);
    case kHalf:
      return dropout_each(*out, static_cast<const Half*>(in.data_ptr()), stream, p);
    default:
      return dropout_each(*out, static_cast<const BFloat16*>(in.data_ptr()), stream, p);
  }
}

void dropout_infer(const Args& a, Spec* out) {
  check(is_floating(a[0].dtype()), "dropout: needs a floating tensor, got ", a[0].dtype());
  infer_like_first(a, out);
}

void dropout_grad(GradArgs& g);

const Op dropout_op = {.name = "dropout",
                       .infer = dropout_infer,
                       .cpu = dropout_cpu,
                       .cuda = random_on_device<RandomKind::Dropout>,
                       .grad = dropout_grad,
                       .inplace = true};

// The same mask again: same p, seed and offset.
void dropout_grad(GradArgs& g) { g.set(0, dispatch(dropout_op, {g.grad()}, {}, g.scalars)); }

bool drops(const Tensor& x, double p, bool train) {
  check(p >= 0 && p <= 1, "dropout: p must be between 0 and 1, got ", p);
  return train && p > 0 && x.numel() > 0;
}

Tensor& self(const Tensor& x) { return const_cast<Tensor&>(x); }

}  // namespace

Tensor rand(IntArrayRef sizes, const Generator& generator, const TensorOptions& options) {
  MakeAttrs attrs = attrs_of("rand", sizes, options);
  Draw draw = draw_uniform("rand", options.dtype(), numel_of(sizes, "rand"), 0, 1, generator);
  return with_grad_option(dispatch(rand_op, {}, attrs, draw), options);
}

Tensor rand(IntArrayRef sizes, const TensorOptions& options) { return rand(sizes, Generator(), options); }

Tensor rand_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  MakeAttrs attrs = attrs_like("rand_like", x, options, format);
  Draw draw = draw_uniform("rand_like", ScalarType(attrs.dtype), x.numel(), 0, 1, {});
  return with_grad_option(dispatch(rand_op, {}, attrs, draw), options);
}

Tensor normal(double mean, double std, IntArrayRef sizes, const Generator& generator,
              const TensorOptions& options) {
  MakeAttrs attrs = attrs_of("normal", sizes, options);
  Draw draw = draw_normal("normal", options.dtype(), numel_of(sizes, "normal"), mean, std, generator);
  return with_grad_option(dispatch(randn_op, {}, attrs, draw), options);
}

Tensor randn(IntArrayRef sizes, const Generator& generator, const TensorOptions& options) {
  MakeAttrs attrs = attrs_of("randn", sizes, options);
  Draw draw = draw_normal("randn", options.dtype(), numel_of(sizes, "randn"), 0, 1, generator);
  return with_grad_option(dispatch(randn_op, {}, attrs, draw), options);
}

Tensor randn(IntArrayRef sizes, const TensorOptions& options) { return randn(sizes, Generator(), options); }

Tensor randn_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  MakeAttrs attrs = attrs_like("randn_like", x, options, format);
  Draw draw = draw_normal("randn_like", ScalarType(attrs.dtype), x.numel(), 0, 1, {});
  return with_grad_option(dispatch(randn_op, {}, attrs, draw), options);
}

Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const Generator& generator,
               const TensorOptions& options) {
  ScalarType dtype = options.dtype_opt().value_or(kLong);
  MakeAttrs attrs = attrs_of("randint", sizes, dtype, options);
  Draw draw = draw_integers("randint", dtype, numel_of(sizes, "randint"), low, high, generator);
  return with_grad_option(dispatch(randint_op, {}, attrs, draw), options);
}

Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(low, high, sizes, Generator(), options);
}

Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(0, high, sizes, Generator(), options);
}

Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options) {
  MakeAttrs attrs = attrs_like("randint_like", x, options, {});
  Draw draw = draw_integers("randint_like", ScalarType(attrs.dtype), x.numel(), low, high, {});
  return with_grad_option(dispatch(randint_op, {}, attrs, draw), options);
}

Tensor randperm(int64_t n, const Generator& generator, const TensorOptions& options) {
  check(n >= 0, "randperm: n must be 0 or more, got ", n);
  ScalarType dtype = options.dtype_opt().value_or(kLong);
  check(n - 1 <= largest_exact(dtype), "randperm: ", n - 1, " does not fit in ", dtype);
  Draw draw({}, generator, words_for("randperm", n, 2));
  return with_grad_option(dispatch(randperm_op, {}, attrs_of("randperm", {n}, dtype, options), draw),
                          options);
}

Tensor randperm(int64_t n, const TensorOptions& options) { return randperm(n, Generator(), options); }

Tensor normal(const Tensor& mean, const Tensor& std, const Generator& generator) {
  check(is_floating(mean.dtype()) && is_floating(std.dtype()), "normal: mean and std must be floating, got ",
        mean.dtype(), " and ", std.dtype());
  check(std.numel() == 0 || std.min().item().to_double() >= 0, "normal: std must be 0 or more everywhere");
  Dims sizes = broadcast_sizes(mean.sizes(), std.sizes(), "normal");
  return randn(sizes, generator, TensorOptions(promote_types(mean.dtype(), std.dtype()))) * std + mean;
}

Tensor normal(const Tensor& mean, double std, const Generator& generator) {
  check(std >= 0, "normal: std must be 0 or more, got ", std);
  check(is_floating(mean.dtype()), "normal: mean must be floating, got ", mean.dtype());
  return randn(mean.sizes(), generator, TensorOptions(mean.dtype())) * std + mean;
}

Tensor normal(double mean, const Tensor& std, const Generator& generator) {
  return normal(full_like(std, mean), std, generator);
}

Tensor bernoulli(const Tensor& p, const Generator& generator) {
  return dispatch(bernoulli_each_op, {p}, {}, Draw({}, generator, p.numel()));
}

Tensor bernoulli(const Tensor& x, double p, const Generator& generator) {
  return empty_like(x).bernoulli_(p, generator);
}

Tensor dropout(const Tensor& x, double p, bool train) {
  if (!drops(x, p, train)) return x;
  return dispatch(dropout_op, {x}, {}, Draw({p}, {}, x.numel()));
}

Tensor& dropout_(const Tensor& x, double p, bool train) {
  if (drops(x, p, train)) dispatch_inplace(dropout_op, {x}, {}, Draw({p}, {}, x.numel()));
  return self(x);
}

Tensor& Tensor::uniform_(double from, double to, const Generator& generator) const {
  dispatch_inplace(uniform_op, {*this}, {}, draw_uniform("uniform_", dtype(), numel(), from, to, generator));
  return self(*this);
}
Tensor& Tensor::uniform_(double from, double to) const { return uniform_(from, to, Generator()); }

Tensor& Tensor::normal_(double mean, double std, const Generator& generator) const {
  dispatch_inplace(normal_op, {*this}, {}, draw_normal("normal_", dtype(), numel(), mean, std, generator));
  return self(*this);
}
Tensor& Tensor::normal_(double mean, double std) const { return normal_(mean, std, Generator()); }

Tensor& Tensor::bernoulli_(double p, const Generator& generator) const {
  check(p >= 0 && p <= 1, "bernoulli_: p must be between 0 and 1, got ", p);
  dispatch_inplace(bernoulli_op, {*this}, {}, Draw({p}, generator, numel()));
  return self(*this);
}
Tensor& Tensor::bernoulli_(double p) const { return bernoulli_(p, Generator()); }

Tensor& Tensor::random_(int64_t from, int64_t to, const Generator& generator) const {
  dispatch_inplace(random_op, {*this}, {}, draw_integers("random_", dtype(), numel(), from, to, generator));
  return self(*this);
}
Tensor& Tensor::random_(int64_t from, int64_t to) const { return random_(from, to, Generator()); }

// All integers from 0 to the largest up to which the dtype holds all of them.
Tensor& Tensor::random_() const {
  uint64_t range = uint64_t(largest_exact(dtype())) + 1;
  Draw draw({int64_t(0), int64_t(range)}, {}, numel() * words_per_integer(range));
  dispatch_inplace(random_op, {*this}, {}, draw);
  return self(*this);
}

}  // namespace tarn::inline v1
