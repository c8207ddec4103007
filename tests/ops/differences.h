// Gradients by central differences: the slow and obvious check for tests of one op.
#pragma once

#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>

#include <tarn/tests/support.h>

namespace tarn::testing {

// The gradient of sum(f(x) * weight) by central differences; x is double.
template <class F>
inline Tensor slow_gradient(F f, const Tensor& x, const Tensor& weight) {
  NoGradGuard no_grad;
  Tensor gradient = zeros(x.sizes(), kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    double h = 1e-6, values[2];
    for (int side : {0, 1}) {
      Tensor moved = x.detach().clone();
      moved.data_ptr<double>()[i] += side ? h : -h;
      values[side] = (f(moved) * weight).sum().template item<double>();
    }
    gradient.data_ptr<double>()[i] = (values[1] - values[0]) / (2 * h);
  }
  return gradient;
}

template <class F>
void check_gradient(F f, const Tensor& start) {
  Tensor x = start.detach().clone().requires_grad_();
  Tensor y = f(x);
  Tensor weight = randn(y.sizes(), Generator(1), kDouble);
  (y * weight).sum().backward();
  CHECK_CLOSE(x.grad(), slow_gradient(f, start, weight), {1e-6, 1e-7});
}

// The gradient that create_graph builds is the one without, and its own gradient is right.
template <class F>
void check_second_gradient(F f, const Tensor& start) {
  auto gradient = [&](const Tensor& x, bool create_graph) {
    Tensor y = f(x);
    return autograd::grad({(y * randn(y.sizes(), Generator(1), kDouble)).sum()}, {x}, {}, {},
                          create_graph)[0];
  };
  Tensor x = start.detach().clone().requires_grad_();
  CHECK_CLOSE(gradient(x, true), gradient(x, false));
  Tensor g = gradient(x, true);
  if (!g.requires_grad()) return;  // f is linear: its gradient does not depend on x
  Tensor weight = randn(g.sizes(), Generator(2), kDouble);
  (g * weight).sum().backward();
  auto enabled = [&](const Tensor& at) {
    AutoGradMode on(true);
    return gradient(at.detach().clone().requires_grad_(), false);
  };
  CHECK_CLOSE(x.grad(), slow_gradient(enabled, start, weight), {1e-5, 1e-6});
}

}  // namespace tarn::testing
