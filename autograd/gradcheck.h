// Gradients checked against central differences: slow, obvious, for tests of ops and of custom functions.
#pragma once

#include <tarn/autograd/node.h>
#include <tarn/core/function.h>

namespace tarn::inline v1::autograd {

using CheckedFunction = detail::Function<variable_list(const variable_list&)>;

struct GradcheckOptions {
  double eps = 1e-6;   // the step of the differences
  double atol = 1e-5;  // |analytic - numeric| <= atol + rtol * |numeric|
  double rtol = 1e-3;
  bool raise_exception = true;  // false: return false where the check fails
};

// Compares the whole Jacobian of f at `inputs`, by autograd and by differences: every element of every output
// that requires grad, with respect to every element of every input that does. f must be deterministic. Inputs
// that require grad must be Double and must not repeat memory; any strides will do. The Error names the first
// entry that differs.
TARN_API bool gradcheck(const CheckedFunction& f, const variable_list& inputs, GradcheckOptions options = {});

// The same for the gradient of f, as a function of the inputs and of the gradients of the outputs.
TARN_API bool gradgradcheck(const CheckedFunction& f, const variable_list& inputs,
                            GradcheckOptions options = {});

}  // namespace tarn::inline v1::autograd
