// Rows of the inverse of max_pool, and of poolings by power averages and random windows.
#include <tarn/core/ops/pool.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

std::vector<Row> inverse_rows() {
  return {
      {.name = "max_unpool1d",
       .grad = true,
       .samples = {S_PY("max_unpool1d(x, y, 2)", detail::max_unpool1d(x, y, {6}), {1, 2, 3},
                        index_list({0, 3, 5, 1, 2, 4}, {1, 2, 3})),
                   S_PY("max_unpool1d(x, y, 2)", detail::max_unpool1d(x, y, {6}), {2, 3},
                        index_list({0, 3, 5, 1, 2, 4}, {2, 3}))},
       .errors = {E("max_unpool1d: input must be (N, C, ...) or (C, ...) with 1 spatial dim, got [3]",
                    detail::max_unpool1d(x, y, {6}), {3}, index_list({0, 1, 2})),
                  E("max_unpool1d: indices must be Long, got Float", detail::max_unpool1d(x, y, {6}), {1, 3},
                    {1, 3}),
                  E("max_unpool1d: output_size must have 1 value, got [6, 6]",
                    detail::max_unpool1d(x, y, {6, 6}), {1, 3}, index_list({0, 1, 2}, {1, 3}))},
       .no_empty = "PyTorch refuses it",
       .no_scalar = "takes (N, C, W)"},
      {.name = "max_unpool2d",
       .grad = true,
       .samples = {S_PY("torch._C._nn.max_unpool2d(x, y, [4, 5])", max_unpool2d(x, y, {4, 5}), {1, 2, 2, 2},
                        index_list({0, 3, 12, 19, 6, 8, 11, 18}, {1, 2, 2, 2})),
                   S_PY("torch._C._nn.max_unpool2d(x, y, [4, 5])", max_unpool2d(x, y, {4, 5}), {2, 1, 2},
                        index_list({0, 3, 12, 19}, {2, 1, 2})),
                   S_PY("torch._C._nn.max_unpool2d(x, y, [4, 5])", max_unpool2d(x, y, {4, 5}), {0, 1, 2, 2},
                        index_list({}, {0, 1, 2, 2}))},
       .errors = {E("max_unpool2d: input must be (N, C, ...) or (C, ...) with 2 spatial dims, got [3]",
                    max_unpool2d(x, y, {4, 5}), {3}, index_list({0, 1, 2})),
                  E("max_unpool2d: indices must have the sizes of the input [1, 2, 2], got [1, 2, 1]",
                    max_unpool2d(x, y, {4, 5}), {1, 2, 2}, index_list({0, 1}, {1, 2, 1})),
                  E("max_unpool2d: output_size must not be negative, got [4, -1]",
                    max_unpool2d(x, y, {4, -1}), {1, 1, 1}, index_list({0}, {1, 1, 1})),
                  E("scatter: index 20 is outside of dim 1 of a tensor of sizes [1, 20]",
                    max_unpool2d(x, y, {4, 5}), {1, 1, 1}, index_list({20}, {1, 1, 1}))},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "max_unpool3d",
       .grad = true,
       .samples = {S_PY("torch._C._nn.max_unpool3d(x, y, [2, 3, 3], [2, 2, 2], [0, 0, 0])",
                        max_unpool3d(x, y, {2, 3, 3}, 2, 0), {1, 2, 1, 1, 2},
                        index_list({0, 17, 5, 9}, {1, 2, 1, 1, 2})),
                   S_PY("torch._C._nn.max_unpool3d(x, y, [2, 3, 3], [2, 2, 2], [0, 0, 0])",
                        max_unpool3d(x, y, {2, 3, 3}, 2, 0), {0, 2, 1, 1, 2},
                        index_list({}, {0, 2, 1, 1, 2}))},
       .errors = {E("max_unpool3d: input must be (N, C, ...) or (C, ...) with 3 spatial dims, got [3]",
                    max_unpool3d(x, y, {4, 5, 5}, 2, 0), {3}, index_list({0, 1, 2})),
                  E("max_unpool3d: stride must be at least 1, got [0]", max_unpool3d(x, y, {4, 5, 5}, 0, 0),
                    {1, 1, 1, 1}, index_list({0}, {1, 1, 1, 1})),
                  E("max_unpool3d: output_size must have 3 values, got [4, 5]",
                    max_unpool3d(x, y, {4, 5}, 2, 0), {1, 1, 1, 1}, index_list({0}, {1, 1, 1, 1}))},
       .no_scalar = "takes (N, C, D, H, W)"},
  };
}

std::vector<Row> power_rows() {
  return {
      {.name = "lp_pool1d",
       .grad = true,
       .samples = {S_PY("lp_pool1d(x, 2, 2)", detail::lp_pool1d(x, 2, 2), {2, 3, 8}),
                   S_PY("lp_pool1d(x, 3, 3, 2)", detail::lp_pool1d(x, 3, 3, 2), positive({3, 8})),
                   S_PY("lp_pool1d(x, torch.inf, 2)", detail::lp_pool1d(x, INFINITY, 2), {2, 3, 8}),
                   S_PY("lp_pool1d(x, 2, 2)", detail::lp_pool1d(x, 2, 2), {0, 3, 8})},
       .errors = {E("lp_pool1d: norm_type must not be 0", detail::lp_pool1d(x, 0, 2), {2, 3, 8}),
                  E("lp_pool1d: kernel_size must have 1 value, got [2, 2]", detail::lp_pool1d(x, 2, {2, 2}),
                    {2, 3, 8}),
                  E("lp_pool1d: input must be (N, C, W) or (C, W), got [8]", detail::lp_pool1d(x, 2, 2),
                    {8})},
       .bf16 = {3e-2, 1e-3},
       .no_scalar = "takes (N, C, W)"},
      {.name = "lp_pool2d",
       .grad = true,
       .samples = {S_PY("lp_pool2d(x, 2, 2)", detail::lp_pool2d(x, 2, 2), {1, 2, 4, 5}),
                   S_PY("lp_pool2d(x, 1.5, (2, 3), (1, 2))", detail::lp_pool2d(x, 1.5, {2, 3}, {1, 2}),
                        positive({2, 4, 6})),
                   S_PY("lp_pool2d(x, 2, 2, 2, True)", detail::lp_pool2d(x, 2, 2, 2, true), {1, 2, 5, 5}),
                   S_PY("lp_pool2d(x, -torch.inf, 2)", detail::lp_pool2d(x, -INFINITY, 2), {1, 2, 4, 4}),
                   S_PY("lp_pool2d(x, 2, 2)", detail::lp_pool2d(x, 2, 2), {0, 2, 4, 5})},
       .errors = {E("lp_pool2d: norm_type must not be 0", detail::lp_pool2d(x, 0, 2), {1, 2, 4, 5}),
                  E("lp_pool2d: kernel_size must have 1 or 2 values, got [2, 2, 2]",
                    detail::lp_pool2d(x, 2, {2, 2, 2}), {1, 2, 4, 5}),
                  E("lp_pool2d: not implemented for dtype Long", detail::lp_pool2d(x, 2, 2),
                    typed(kLong, {1, 2, 4, 5}))},
       .bf16 = {3e-2, 1e-3},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "lp_pool3d",
       .grad = true,
       .samples = {S_PY("lp_pool3d(x, 2, 2)", detail::lp_pool3d(x, 2, 2), {1, 2, 2, 4, 4}),
                   S_PY("lp_pool3d(x, 2, 2)", detail::lp_pool3d(x, 2, 2), {0, 2, 2, 4, 4})},
       .errors = {E("lp_pool3d: norm_type must not be 0", detail::lp_pool3d(x, 0, 2), {1, 2, 4, 5, 5}),
                  E("lp_pool3d: kernel_size must have 1 or 3 values, got [2, 2]",
                    detail::lp_pool3d(x, 2, {2, 2}), {1, 2, 4, 5, 5}),
                  E("lp_pool3d: not implemented for dtype Long", detail::lp_pool3d(x, 2, 2),
                    typed(kLong, {1, 2, 4, 5, 5}))},
       .bf16 = {3e-2, 1e-3},
       .no_scalar = "takes (N, C, D, H, W)"},
  };
}

std::vector<Row> random_window_rows() {
  Input samples2 = listed({0.1, 0.9, 0.5, 0.3, 0.7, 0.6, 0.0, 0.99}).no_grad(),
        samples3 = listed({0.1, 0.9, 0.5, 0.3, 0.7, 0.6}).no_grad();
  auto as = [](Input i, std::vector<int64_t> sizes) {
    i.sizes = std::move(sizes);
    return i;
  };
  return {
      {.name = "fractional_max_pool2d",
       .grad = true,
       .samples = {S_PY("torch._C._nn.fractional_max_pool2d(x, [2, 2], [3, 4], y)",
                        fractional_max_pool2d(x, 2, {3, 4}, y), {2, 2, 6, 7}, as(samples2, {2, 2, 2})),
                   S_PY("torch._C._nn.fractional_max_pool2d(x, [3, 2], [1, 2], y)",
                        fractional_max_pool2d(x, {3, 2}, {1, 2}, y), {2, 5, 5}, as(samples2, {1, 2, 2})),
                   S_PY("torch._C._nn.fractional_max_pool2d(x, [2, 2], [3, 4], y)",
                        fractional_max_pool2d(x, 2, {3, 4}, y), {0, 2, 6, 7}, Input({0, 2, 2}).no_grad())},
       .errors =
           {E("fractional_max_pool2d: input must be (N, C, H, W) or (C, H, W), got [5]",
              fractional_max_pool2d(x, 2, 2, y), {5}, {1, 1, 2}),
            E("fractional_max_pool2d: [5] windows of [2] do not fit input [1, 1, 5, 5]",
              fractional_max_pool2d(x, 2, 5, y), {1, 1, 5, 5}, {1, 1, 2}),
            E("fractional_max_pool2d: random_samples must be (N, C, 2) for input [1, 1, 5, 5], got [1, 1, 3]",
              fractional_max_pool2d(x, 2, 2, y), {1, 1, 5, 5}, {1, 1, 3})},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "fractional_max_pool3d",
       .grad = true,
       .samples = {S_PY("torch._C._nn.fractional_max_pool3d(x, [2, 2, 2], [2, 3, 3], y)",
                        fractional_max_pool3d(x, 2, {2, 3, 3}, y), {1, 2, 4, 5, 6}, as(samples3, {1, 2, 3})),
                   S_PY("torch._C._nn.fractional_max_pool3d(x, [2, 2, 2], [2, 3, 3], y)",
                        fractional_max_pool3d(x, 2, {2, 3, 3}, y), {0, 2, 4, 5, 6},
                        Input({0, 2, 3}).no_grad())},
       .errors = {E("fractional_max_pool3d: input must be (N, C, D, H, W) or (C, D, H, W), got [5]",
                    fractional_max_pool3d(x, 2, 2, y), {5}, {1, 1, 3}),
                  E("fractional_max_pool3d: kernel_size must have 1 or 3 values, got [2, 2]",
                    fractional_max_pool3d(x, {2, 2}, 2, y), {1, 1, 5, 5, 5}, {1, 1, 3}),
                  E("fractional_max_pool3d: random_samples must be (N, C, 3) for input [1, 1, 5, 5, 5], got "
                    "[1, 1, 2]",
                    fractional_max_pool3d(x, 2, 2, y), {1, 1, 5, 5, 5}, {1, 1, 2})},
       .no_scalar = "takes (N, C, D, H, W)"},
  };
}

}  // namespace

std::vector<Row> unpool_rows() { return join({inverse_rows(), power_rows(), random_window_rows()}); }

}  // namespace tarn::testing
