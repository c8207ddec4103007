// Rows of the normalisations over groups, samples, and neighbouring channels.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/norm.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// The result, and what it made of copies of the running statistics.
Tensors with_statistics(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                        const Tensor& var) {
  Tensor m = clone(mean), v = clone(var);
  Tensor y = instance_norm(x, weight, bias, m, v, true, 0.1, 1e-5);
  return {y, m, v};
}

std::vector<Row> sample_rows() {
  return {
      {.name = "instance_norm",
       .grad = true,
       .samples = {S_PY("torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)",
                        instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5), {2, 3, 5}),
                   S_PY("torch.instance_norm(x, y, z, None, None, True, 0.1, 1e-5, False)",
                        instance_norm(x, y, z, {}, {}, true, 0.1, 1e-5), {2, 3, 2, 3}, {3}, {3}),
                   S_PY("[torch.instance_norm(x, y, z, m := w.clone(), n := v.clone(), True, 0.1, 1e-5, "
                        "False), m, n]",
                        with_statistics(x, y, z, w, v), {2, 3, 2, 3}, {3}, {3}, Input({3}).no_grad(),
                        positive({3}).no_grad()),
                   S_PY("torch.instance_norm(x, y, z, w, v, False, 0.1, 1e-5, False)",
                        instance_norm(x, y, z, w, v, false, 0.1, 1e-5), {2, 3, 2, 2}, {3}, {3},
                        Input({3}).no_grad(), positive({3}).no_grad())},
       .errors = {E("instance_norm: input must be (N, C, ...), got [3]",
                    instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5), {3}),
                  E("instance_norm: weight [2] does not fit input [2, 3, 4], which has 3 channels",
                    instance_norm(x, y, {}, {}, {}, true, 0.1, 1e-5), {2, 3, 4}, {2}),
                  E("instance_norm: running_mean and running_var are needed without use_input_stats",
                    instance_norm(x, {}, {}, {}, {}, false, 0.1, 1e-5), {2, 3, 4})},
       .bf16 = {1.6e-2, 5e-3},
       .no_empty = "batch_norm of no channel has no statistics",
       .no_scalar = "takes (N, C, ...)"},
      {.name = "local_response_norm",
       .grad = true,
       .samples = {S_PY("local_response_norm(x, 3)", detail::local_response_norm(x, 3), {2, 5, 4}),
                   S_PY("local_response_norm(x, 2)", detail::local_response_norm(x, 2), {2, 5, 2, 3}),
                   S_PY("local_response_norm(x, 4, 0.5, 0.5, 2)",
                        detail::local_response_norm(x, 4, 0.5, 0.5, 2), {1, 3, 2, 2, 2}),
                   S_PY("local_response_norm(x, 3)", detail::local_response_norm(x, 3), {0, 5, 4})},
       .errors = {E("local_response_norm: input must be (N, C, ...) with at least 3 dims, got [2, 3]",
                    detail::local_response_norm(x, 3), {2, 3}),
                  E("local_response_norm: size must be at least 1, got 0", detail::local_response_norm(x, 0),
                    {2, 3, 4}),
                  E("local_response_norm: not implemented for dtype Long", detail::local_response_norm(x, 3),
                    typed(kLong, {2, 3, 4}))},
       .no_scalar = "takes (N, C, ...)"},
  };
}

}  // namespace

std::vector<Row> group_norm_rows() {
  std::vector<Row> rows{
      {.name = "group_norm",
       .grad = true,
       .samples = {S(group_norm(x, 2), {2, 4, 5}), S(group_norm(x, 2, y, z), {2, 4, 2, 3}, {4}, {4}),
                   S(group_norm(x, 1, y, z, 0.5), {2, 3, 2, 2}, {3}, {3}),
                   S_PY("group_norm(x, 3, y)", group_norm(x, 3, y), {2, 3, 4}, {3}),
                   S(group_norm(x, 2), {3, 6}), S(group_norm(x, 2, y, z), {0, 4, 3}, {4}, {4})},
       .errors = {E("group_norm: input must be (N, C, ...), got [3]", group_norm(x, 1), {3}),
                  E("group_norm: the 4 channels of input [2, 4, 3] do not divide into 3 groups",
                    group_norm(x, 3), {2, 4, 3}),
                  E("group_norm: num_groups must be at least 1, got 0", group_norm(x, 0), {2, 4, 3}),
                  E("group_norm: weight [3] does not fit input [2, 4, 3], which has 4 channels",
                    group_norm(x, 2, y), {2, 4, 3}, {3}),
                  E("group_norm: not implemented for dtype Long", group_norm(x, 1), typed(kLong, {2, 3}))},
       .bf16 = {1.6e-2, 5e-3},
       .no_scalar = "takes (N, C, ...)"},
      {.name = "rms_norm",
       .grad = true,
       .samples = {S(rms_norm(x, {5}, y), {3, 5}, {5}), S(rms_norm(x, {2, 3}), {4, 2, 3}),
                   S_PY("torch.rms_norm(x, [5], y, 0.5)", rms_norm(x, {5}, y, 0.5), {3, 5}, {5}),
                   S(rms_norm(x, {3}), listed({1e-4, 2e-4, -1e-4}, {1, 3})),
                   S(rms_norm(x, {5}, y), {0, 5}, {5})},
       .errors = {E("rms_norm: input [3, 5] does not end in the normalized shape [4]", rms_norm(x, {4}),
                    {3, 5}),
                  E("rms_norm: the normalized shape must have at least 1 dim", rms_norm(x, {}), {3, 5}),
                  E("rms_norm: weight [4] must have the normalized shape [5]", rms_norm(x, {5}, y), {3, 5},
                    {4}),
                  E("rms_norm: not implemented for dtype Long", rms_norm(x, {5}), typed(kLong, {3, 5}))},
       .bf16 = {1.6e-2, 5e-3},
       .no_scalar = "needs a dim to normalize"},
  };
  return join({rows, sample_rows()});
}

}  // namespace tarn::testing
