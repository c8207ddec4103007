// Gradients by central differences in double: slow, obvious, and independent of autograd's own checker.
#pragma once

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

// Empty if autograd's gradient of sum of outputs * weights agrees with differences at every element of every
// input; else where it does not. The outputs are those of f that require grad.
std::string check_first_gradients(const Call& f, const Tensors& inputs);

// The same for the gradient of the gradient, with respect to the inputs and to the weights of the outputs.
std::string check_second_gradients(const Call& f, const Tensors& inputs);

// And once more.
std::string check_third_gradients(const Call& f, const Tensors& inputs);

}  // namespace tarn::testing
