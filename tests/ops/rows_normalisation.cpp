// Rows of the normalisations.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/norm.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

// The result, and what training made of copies of the running statistics.
Tensors train(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
              const Tensor& var, double momentum) {
  Tensor m = clone(mean), v = clone(var);
  Tensor y = batch_norm(x, weight, bias, m, v, true, momentum, 1e-5);
  return {y, m, v};
}

}  // namespace

std::vector<Row> normalisation_rows() {
  return {
      {.name = "batch_norm",
       .grad = true,
       .channels_last = true,
       .samples = {S_PY("batch_norm(x, y, z, None, None, True, 0.1, 0.00001, False)",
                        batch_norm(x, y, z, {}, {}, true, 0.1, 0.00001), {4, 3, 2, 3}, {3}, {3}),
                   S_PY("batch_norm(x, None, None, w, v, False, 0.1, 0.00001, False)",
                        batch_norm(x, {}, {}, w, v, false, 0.1, 0.00001), {4, 3, 2, 3}, {3}, {3},
                        Input({3}).no_grad(), positive({3}).no_grad()),
                   S(batch_norm(x, y, z, w, v, false, 0.1, 0.001, false), {4, 3}, {3}, {3},
                     Input({3}).no_grad(), positive({3}).no_grad()),
                   S_PY("[batch_norm(x, y, z, m := w.clone(), n := v.clone(), True, 0.1, 1e-5, False), m, n]",
                        train(x, y, z, w, v, 0.1), {4, 3, 2, 3}, {3}, {3}, Input({3}).no_grad(),
                        positive({3}).no_grad()),
                   S_PY("[batch_norm(x, y, z, m := w.clone(), n := v.clone(), True, 0.7, 1e-5, False), m, n]",
                        train(x, y, z, w, v, 0.7), {5, 3}, {3}, {3}, Input({3}).no_grad(),
                        positive({3}).no_grad()),
                   S_PY("batch_norm(x, y, z, w, v, False, 0.1, 0.00001, False)",
                        batch_norm(x, y, z, w, v, false, 0.1, 0.00001), {0, 3, 2, 2}, {3}, {3},
                        Input({3}).no_grad(), positive({3}).no_grad())},
       .errors = {E("batch_norm: input must be (N, C, ...), got [3]", batch_norm(x, {}, {}, {}, {}, true),
                    {3}),
                  E("batch_norm: weight [4] does not fit input [2, 3, 2, 2], which has 3 channels",
                    batch_norm(x, y, {}, {}, {}, true), {2, 3, 2, 2}, {4}),
                  E("batch_norm: running_mean and running_var must be given together",
                    batch_norm(x, {}, {}, y, {}, true), {2, 3, 2, 2}, {3}),
                  E("batch_norm: running_mean and running_var are needed outside of training",
                    batch_norm(x, {}, {}, {}, {}, false), {2, 3, 2, 2}),
                  E("batch_norm: training needs more than one value per channel, got input [1, 3]",
                    batch_norm(x, {}, {}, {}, {}, true), {1, 3}),
                  E("batch_norm: not implemented for dtype Long", batch_norm(x, {}, {}, {}, {}, true),
                    typed(kLong, {2, 3}))},
       .bf16 = {1.6e-2, 5e-3},
       .no_scalar = "takes (N, C, ...)"},
      {.name = "layer_norm",
       .grad = true,
       .samples = {S(layer_norm(x, {5}, y, z), {3, 5}, {5}, {5}), S(layer_norm(x, {23}), {3, 23}),
                   S(layer_norm(x, {2, 3}, y, z), {4, 2, 3}, {2, 3}, {2, 3}),
                   S_PY("layer_norm(x, [5], y, None, 0.5)", layer_norm(x, {5}, y, {}, 0.5), {3, 5}, {5}),
                   S(layer_norm(x, {5}, y, z), {0, 5}, {5}, {5})},
       .errors = {E("layer_norm: input [3, 5] does not end in the normalized shape [4]", layer_norm(x, {4}),
                    {3, 5}),
                  E("layer_norm: the normalized shape must have at least 1 dim", layer_norm(x, {}), {3, 5}),
                  E("layer_norm: weight [4] must have the normalized shape [5]", layer_norm(x, {5}, y),
                    {3, 5}, {4}),
                  E("layer_norm: not implemented for dtype Long", layer_norm(x, {5}), typed(kLong, {3, 5}))},
       .no_scalar = "needs a dim to normalize"},
  };
}

}  // namespace tarn::testing
