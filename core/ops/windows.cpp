// Windows, as Harris writes them in "On the use of windows for harmonic analysis with the discrete Fourier
// transform", Proceedings of the IEEE 66 (1978). Computed in double.
#include <algorithm>
#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/from.h>
#include <tarn/core/ops/make.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

enum class Window : int64_t { Hamming, Blackman, Bartlett, Kaiser };

// The modified Bessel function of order 0, by its series: all terms are positive.
double bessel_i0(double x) {
  double term = 1, sum = 1, quarter = x * x / 4;
  for (double k = 1; term > sum * 1e-17; ++k) sum += term *= quarter / (k * k);
  return sum;
}

// --- scalars: kind, distance between the first and the last number, and two numbers a, b of the kind ---

double window_at(Window kind, double i, double width, double a, double b) {
  double angle = 2 * M_PI * i / width, t = 2 * i / width - 1;
  switch (kind) {
    case Window::Hamming:
      return a - b * std::cos(angle);
    case Window::Blackman:
      return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
    case Window::Bartlett:
      return 1 - std::abs(t);
    default:
      return bessel_i0(a * std::sqrt(std::max(0.0, 1 - t * t))) / bessel_i0(a);
  }
}

void window_cpu(const Args& a, Tensor* out) {
  auto kind = Window(a.scalar(0).to_int64());
  double width = a.scalar(1).to_double(), p = a.scalar(2).to_double(), q = a.scalar(3).to_double();
  int64_t n = out->numel();
  Tensor values = make_tensor(out->sizes(), kDouble);
  double* v = static_cast<double*>(values.data_ptr());
  for (int64_t i = 0; i < n; ++i) v[i] = n == 1 ? 1 : window_at(kind, double(i), width, p, q);
  copy_elements(*out, values);
}

const Op window_op = {
    .name = "window", .infer = make_infer, .cpu = window_cpu, .cuda = make_on_cpu<window_cpu>};

Tensor window(const char* op, Window kind, int64_t n, bool periodic, double a, double b,
              const TensorOptions& options) {
  check(n >= 0, op, ": the length must be 0 or more, got ", n);
  check(is_floating(options.dtype()), op, ": needs a floating dtype, got ", options.dtype());
  Scalar scalars[] = {int64_t(kind), double(periodic ? n : n - 1), a, b};
  MakeAttrs attrs(op, {n}, options.dtype(), options.device());
  return with_grad_option(dispatch(window_op, {}, attrs, scalars), options);
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor hann_window(int64_t n, bool periodic, const TensorOptions& options) {
  return window("hann_window", Window::Hamming, n, periodic, 0.5, 0.5, options);
}

Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return window("hamming_window", Window::Hamming, n, periodic, alpha, beta, options);
}

Tensor blackman_window(int64_t n, bool periodic, const TensorOptions& options) {
  return window("blackman_window", Window::Blackman, n, periodic, 0, 0, options);
}

Tensor bartlett_window(int64_t n, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", Window::Bartlett, n, periodic, 0, 0, options);
}

Tensor kaiser_window(int64_t n, bool periodic, double beta, const TensorOptions& options) {
  check(beta >= 0 && beta < 700, "kaiser_window: beta must be from 0 to 700, got ", beta);
  return window("kaiser_window", Window::Kaiser, n, periodic, beta, 0, options);
}

}  // namespace tarn::inline v1
