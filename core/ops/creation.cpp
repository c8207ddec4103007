#include <tarn/core/ops/creation.h>

#include <algorithm>
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/make.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// --- full ---

void fill_all(const Args& a, Tensor* out) { fill_elements(*out, a.scalar()); }

const Op full_op = {.name = "full", .infer = make_infer, .cpu = fill_all, .cuda = fill_all};

// --- arange: scalars start, step. A value is start + i * step, rounded once for floating dtypes ---

template <class T>
void write_progression(T* out, int64_t n, double start, double step) {
  parallel_for(0, n, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = Scalar(start + double(i) * step).to<T>();
  });
}

template <class T>
void write_progression(T* out, int64_t n, int64_t start, int64_t step) {
  parallel_for(0, n, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = T(uint64_t(start) + uint64_t(i) * uint64_t(step));
  });
}

void arange_cpu(const Args& a, Tensor* out) {
  const Scalar &start = a.scalar(0), &step = a.scalar(1);
  visit(out->dtype(), "arange", [&]<class T>(Type<T>) {
    T* data = static_cast<T*>(out->data_ptr());
    if constexpr (std::is_integral_v<T>) {
      write_progression(data, out->numel(), start.to_int64(), step.to_int64());
    } else {
      write_progression(data, out->numel(), start.to_double(), step.to_double());
    }
  });
}

const Op arange_op = {
    .name = "arange", .infer = make_infer, .cpu = arange_cpu, .cuda = make_on_cpu<arange_cpu>};

// The number of values, exact for integers.
int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, bool integers) {
  if (integers) {
    int64_t first = start.to_int64(), last = end.to_int64(), by = step.to_int64();
    check(by != 0, "arange: step must not be 0");
    check(first == last || (by > 0) == (last > first), "arange: a step of ", by, " does not lead from ",
          first, " to ", last);
    uint64_t distance = last > first ? uint64_t(last) - uint64_t(first) : uint64_t(first) - uint64_t(last);
    uint64_t stride = by > 0 ? uint64_t(by) : 0 - uint64_t(by);
    uint64_t length = distance / stride + (distance % stride != 0);
    check(length <= uint64_t(INT64_MAX), "arange: from ", first, " to ", last, " are too many values");
    return int64_t(length);
  }
  double first = start.to_double(), last = end.to_double(), by = step.to_double();
  check(std::isfinite(first) && std::isfinite(last), "arange: start and end must be finite, got ", first,
        " and ", last);
  check(by != 0 && !std::isnan(by), "arange: step must not be 0 or NaN, got ", by);
  check(first == last || (by > 0) == (last > first), "arange: a step of ", by, " does not lead from ", first,
        " to ", last);
  double length = std::ceil((last - first) / by);
  check(length < 0x1p62, "arange: from ", first, " to ", last, " by ", by, " are too many values");
  return int64_t(length);
}

// --- linspace: scalars start, end ---

void linspace_cpu(const Args& a, Tensor* out) {
  int64_t n = out->numel();
  double start = a.scalar(0).to_double(), end = a.scalar(1).to_double();
  double step = n > 1 ? (end - start) / double(n - 1) : 0;
  visit(out->dtype(), "linspace", [&]<class T>(Type<T>) {
    T* data = static_cast<T*>(out->data_ptr());
    parallel_for(0, n, 1 << 14, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        double value = i < (n + 1) / 2 ? start + double(i) * step : end - double(n - 1 - i) * step;
        data[i] = Scalar(value).to<T>();
      }
    });
  });
}

const Op linspace_op = {
    .name = "linspace", .infer = make_infer, .cpu = linspace_cpu, .cuda = make_on_cpu<linspace_cpu>};

// --- logspace: scalars start, end, base ---

void logspace_cpu(const Args& a, Tensor* out) {
  Tensor powers = make_tensor(out->sizes(), kDouble);
  linspace_cpu(a, &powers);
  double* p = static_cast<double*>(powers.data_ptr());
  double base = a.scalar(2).to_double();
  parallel_for(0, powers.numel(), 1 << 12, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) p[i] = std::pow(base, p[i]);
  });
  copy_elements(*out, powers);
}

const Op logspace_op = {
    .name = "logspace", .infer = make_infer, .cpu = logspace_cpu, .cuda = make_on_cpu<logspace_cpu>};

// --- eye ---

void eye_cpu(const Args&, Tensor* out) {
  if (out->numel() == 0) return;
  fill_elements(*out, 0);
  int64_t n = std::min(out->sizes()[0], out->sizes()[1]), step = out->sizes()[1] + 1;
  visit(out->dtype(), "eye", [&]<class T>(Type<T>) {
    T* data = static_cast<T*>(out->data_ptr());
    for (int64_t i = 0; i < n; ++i) data[i * step] = T(1);
  });
}

const Op eye_op = {.name = "eye", .infer = make_infer, .cpu = eye_cpu, .cuda = make_on_cpu<eye_cpu>};

ScalarType dtype_for(const Scalar& value, const TensorOptions& options) {
  if (options.has_dtype()) return options.dtype();
  return value.is_floating() ? get_default_dtype() : value.type();
}

Tensor make_empty(const MakeAttrs& attrs, const TensorOptions& options) {
  Spec spec;
  make_infer({full_op, {}, attrs, {}}, &spec);
  if (options.pinned_memory()) {
    check(spec.device.is_cpu() && spec.strides.empty(), "empty: only row-major CPU memory can be pinned");
    return with_grad_option(make_pinned(spec.sizes, spec.dtype), options);
  }
  return with_grad_option(make_tensor(spec.sizes, spec.strides, spec.dtype, spec.device), options);
}

}  // namespace

Tensor empty(IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return make_empty(attrs_of("empty", sizes, options.memory_format(format.value_or(options.memory_format()))),
                    options);
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  check(sizes.size() == strides.size(), "empty_strided: sizes ", sizes, " and strides ", strides,
        " differ in number");
  // The memory reaches from the first element to the last.
  int64_t elements = numel_of(sizes, "empty_strided") == 0 ? 0 : 1;
  for (size_t d = 0; elements > 0 && d < sizes.size(); ++d) {
    int64_t reach = 0;
    bool overflow = __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) ||
                    __builtin_add_overflow(elements, reach, &elements);
    check(strides[d] >= 0 && !overflow, "empty_strided: strides must be 0 or more and fit in memory, got ",
          strides);
  }
  Tensor memory = make_tensor({elements}, options.dtype(), options.device());
  return with_grad_option(make_alias(memory, sizes, strides, 0), options);
}

Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) {
  return with_grad_option(
      dispatch(full_op, {}, attrs_of("full", sizes, dtype_for(value, options), options), value), options);
}

Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  return with_grad_option(dispatch(full_op, {}, attrs_of("zeros", sizes, options), Scalar(0)), options);
}

Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  return with_grad_option(dispatch(full_op, {}, attrs_of("ones", sizes, options), Scalar(1)), options);
}

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return with_grad_option(dispatch(full_op, {}, attrs_of("scalar_tensor", {}, options), value), options);
}

Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return make_empty(attrs_like("empty_like", x, options, format), options);
}

Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options,
                 std::optional<MemoryFormat> format) {
  return with_grad_option(dispatch(full_op, {}, attrs_like("full_like", x, options, format), value), options);
}

Tensor zeros_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return with_grad_option(dispatch(full_op, {}, attrs_like("zeros_like", x, options, format), Scalar(0)),
                          options);
}

Tensor ones_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return with_grad_option(dispatch(full_op, {}, attrs_like("ones_like", x, options, format), Scalar(1)),
                          options);
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  bool floating = start.is_floating() || end.is_floating() || step.is_floating();
  ScalarType dtype = options.has_dtype() ? options.dtype() : floating ? get_default_dtype() : kLong;
  check(dtype != kBool, "arange: bool is not supported; use an integer dtype");
  bool integers = !floating || is_integral(dtype);
  int64_t length = arange_length(start, end, step, integers);
  Scalar scalars[] = {start, step};
  return with_grad_option(
      dispatch(arange_op, {}, MakeAttrs("arange", {length}, dtype, options.device()), scalars), options);
}

Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  double first = start.to_double(), last = end.to_double(), by = step.to_double();
  check(std::isfinite(first) && std::isfinite(last), "range: start and end must be finite, got ", first,
        " and ", last);
  check(by != 0 && !std::isnan(by), "range: step must not be 0 or NaN, got ", by);
  check(first == last || (by > 0) == (last > first), "range: a step of ", by, " does not lead from ", first,
        " to ", last);
  check(options.dtype() != kBool, "range: bool is not supported; use an integer dtype");
  double length = std::floor((last - first) / by) + 1;
  check(length < 0x1p62, "range: from ", first, " to ", last, " by ", by, " are too many values");
  Scalar scalars[] = {start, step};
  MakeAttrs attrs("range", {int64_t(length)}, options.dtype(), options.device());
  return with_grad_option(dispatch(arange_op, {}, attrs, scalars), options);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& options) {
  check(steps >= 0, "logspace: steps must be 0 or more, got ", steps);
  Scalar scalars[] = {start, end, base};
  MakeAttrs attrs("logspace", {steps}, options.dtype(), options.device());
  return with_grad_option(dispatch(logspace_op, {}, attrs, scalars), options);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  check(steps >= 0, "linspace: steps must be 0 or more, got ", steps);
  Scalar scalars[] = {start, end};
  MakeAttrs attrs("linspace", {steps}, options.dtype(), options.device());
  return with_grad_option(dispatch(linspace_op, {}, attrs, scalars), options);
}

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }

Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  check(n >= 0 && m >= 0, "eye: sizes must be 0 or more, got ", n, " and ", m);
  return with_grad_option(dispatch(eye_op, {}, MakeAttrs("eye", {n, m}, options.dtype(), options.device())),
                          options);
}

}  // namespace tarn::inline v1
