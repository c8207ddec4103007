// Rows of the activations.
#include <tarn/core/ops/pointwise.h>

#include <tarn/tests/ops/pointwise_row.h>

namespace tarn::testing {

std::vector<Row> activation_rows() {
  return {
      ROW1(sigmoid),
      ROW1(relu, .floating = false),
      ROW1(relu6, .floating = false, .special_grad = false),
      ROW1(leaky_relu, .more = {S(leaky_relu(x, 0.2), {3, 23}), S(leaky_relu(x, 0), special())},
           .inplace = {I(x.leaky_relu_(0.2), leaky_relu(x, 0.2), {3, 5})}),
      ROW1(elu, .special_grad = false,
           .more = {S(elu(x, 0.5), {3, 23}),
                    S_PY("torch._C._nn.elu(x, 0.5, 2, 3)", elu(x, 0.5, 2, 3), {3, 23})}),
      unary_row({.name = "selu",
                 .call = TARN_ROW_CALL(selu(x)),
                 .write = TARN_ROW_CALL(selu_(x)),
                 .special_grad = false,
                 .error_name = "elu"}),
      unary_row({.name = "celu",
                 .call = TARN_ROW_CALL(celu(x)),
                 .write = TARN_ROW_CALL(celu_(x)),
                 .special_grad = false,
                 .error_name = "elu",
                 .more = {S(celu(x, 2), {3, 23})}}),
      ROW1(silu),
      ROW1(mish),
      ROW1(softplus, .more = {S(softplus(x, 2), {3, 23}), S(softplus(x, 2, 1), {3, 23})}),
      ROW1(hardtanh, .floating = false, .special_grad = false, .more = {S(hardtanh(x, -2, 3), {3, 23})}),
      // PyTorch's gradient multiplies with a float 1/6, in double too.
      ROW1(hardsigmoid, .f64 = {1e-8, 1e-10}),
      ROW1(hardswish, .special_grad = false),
      ROW1(hardshrink, .special_grad = false, .more = {S(hardshrink(x, 1), finite())}),
      ROW1(softshrink, .special_grad = false, .more = {S(softshrink(x, 1), finite())}),
      ROW1(log_sigmoid, .python = "logsigmoid"),
      {.name = "threshold",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(threshold(x, 1, -2), {3, 23}), S(threshold(x, 1, -2), {}),
                   S(threshold(x, 1, -2), {0, 3}), S(threshold(x, 1, 7), special())},
       .inplace = {I(x.threshold_(1, 2), threshold(x, 1, 2), {3, 5})},
       .errors = {E("threshold: the first tensor is undefined", threshold(x, 0, 1), undefined())},
       .few_errors = "takes any tensor and any numbers"},
      {.name = "gelu",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(gelu(x), {3, 23}), S(gelu(x), {}), S(gelu(x), {0, 3}), S(gelu(x), finite()),
                   S_PY("gelu(x, approximate='tanh')", gelu(x, "tanh"), {3, 23}),
                   S_PY("gelu(x, approximate='tanh')", gelu(x, "tanh"), finite())},
       .errors = {E("gelu: approximate must be \"none\" or \"tanh\", got \"erf\"", gelu(x, "erf"), {2}),
                  E("gelu_erf: the first tensor is undefined", gelu(x), undefined())},
       .few_errors = "takes any floating tensor"},
  };
}

}  // namespace tarn::testing
