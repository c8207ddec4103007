// Rows of the poolings.
#include <tarn/core/ops/pool.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

// One number where each window has a tie, so that the first of equals shows.
Input plateau(std::vector<int64_t> sizes) { return tied(std::move(sizes)); }

std::vector<Row> max_pool_rows() {
  return {
      {.name = "max_pool1d",
       .grad = true,
       .samples = {S(max_pool1d(x, 2), {2, 3, 9}), S(max_pool1d(x, 3, 2, 1), {2, 3, 8}),
                   S(max_pool1d(x, 2, 1, 0, 2), {3, 7}), S(max_pool1d(x, 2, 2, 0, 1, true), {2, 3, 9}),
                   S(max_pool1d(x, 2), {0, 3, 8})},
       .errors = {E("max_pool1d: input must be (N, C, W) or (C, W), got [9]", max_pool1d(x, 2), {9}),
                  E("max_pool1d: kernel_size must be at least 1, got [0]", max_pool1d(x, 0), {2, 3, 9}),
                  E("max_pool1d: kernel_size must have 1 value, got [2, 2]", max_pool1d(x, {2, 2}),
                    {2, 3, 9})},
       .no_scalar = "takes (N, C, W)"},
      {.name = "max_pool2d",
       .grad = true,
       .channels_last = true,
       .samples = {S(max_pool2d(x, 2), {2, 3, 6, 5}), S(max_pool2d(x, 3, 2, 1), {2, 3, 7, 6}),
                   S(max_pool2d(x, {2, 3}, {1, 2}), {1, 2, 5, 7}), S(max_pool2d(x, 2, 1, 0, 2), {1, 2, 6, 6}),
                   S(max_pool2d(x, 3, 2, 1, 1, true), {1, 2, 6, 6}), S(max_pool2d(x, 2), {3, 6, 6}),
                   S(max_pool2d(x, 3, 1), plateau({1, 2, 5, 5})),
                   S(max_pool2d(x, 2, 1),
                     listed({1, NAN, 2, -INFINITY, INFINITY, 0}, {1, 1, 4, 4}).no_grad()),
                   S(max_pool2d(x, 2), {0, 3, 6, 5})},
       .errors = {E("max_pool2d: input must be (N, C, H, W) or (C, H, W), got [6, 5]", max_pool2d(x, 2),
                    {6, 5}),
                  E("max_pool2d: padding must be at most half of the kernel, got padding [2] and kernel [3]",
                    max_pool2d(x, 3, 1, 2), {1, 1, 5, 5}),
                  E("max_pool2d: a kernel of [3, 3] with dilation [1, 1] does not fit input [1, 1, 2, 5] "
                    "with padding [0, 0]",
                    max_pool2d(x, 3), {1, 1, 2, 5}),
                  E("max_pool2d: stride must be at least 1, got [0]", max_pool2d(x, 2, 0), {1, 1, 5, 5}),
                  E("max_pool2d: not implemented for dtype Long", max_pool2d(x, 2),
                    typed(kLong, {1, 1, 5, 5}))},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "max_pool2d_with_indices",
       .grad = true,
       .channels_last = true,
       .samples = {S_PY("F.max_pool2d_with_indices(x, 2)", max_pool2d_with_indices(x, 2), {2, 3, 6, 5}),
                   S_PY("F.max_pool2d_with_indices(x, 3, 2, 1)", max_pool2d_with_indices(x, 3, 2, 1),
                        {2, 3, 7, 6}),
                   S_PY("F.max_pool2d_with_indices(x, 3, 1)", max_pool2d_with_indices(x, 3, 1),
                        plateau({1, 2, 5, 5})),
                   S_PY("F.max_pool2d_with_indices(x, 2)", max_pool2d_with_indices(x, 2), {0, 3, 6, 5})},
       .errors = {E("max_pool2d: input must be (N, C, H, W) or (C, H, W), got [6, 5]",
                    max_pool2d_with_indices(x, 2), {6, 5})},
       .no_scalar = "takes (N, C, H, W)",
       .few_errors = "as max_pool2d"},
      {.name = "adaptive_max_pool2d",
       .grad = true,
       .channels_last = true,
       .samples = {S_PY("F.adaptive_max_pool2d(x, [2, 3], True)", adaptive_max_pool2d(x, {2, 3}),
                        {2, 3, 5, 7}),
                   S_PY("F.adaptive_max_pool2d(x, 1, True)", adaptive_max_pool2d(x, 1), {3, 4, 4}),
                   S_PY("F.adaptive_max_pool2d(x, 2, True)", adaptive_max_pool2d(x, 2), {0, 3, 4, 4})},
       .errors = {E("adaptive_max_pool2d: input must be (N, C, H, W) or (C, H, W), got [6, 5]",
                    adaptive_max_pool2d(x, 2), {6, 5}),
                  E("adaptive_max_pool2d: output_size must be at least 0, got [-1]",
                    adaptive_max_pool2d(x, -1), {1, 1, 5, 5}),
                  E("adaptive_max_pool2d: output_size must have 1 or 2 values, got [1, 2, 3]",
                    adaptive_max_pool2d(x, {1, 2, 3}), {1, 1, 5, 5})},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

std::vector<Row> avg_pool_rows() {
  return {
      {.name = "avg_pool1d",
       .grad = true,
       .samples = {S(avg_pool1d(x, 2), {2, 3, 9}), S(avg_pool1d(x, 3, 2, 1), {2, 3, 8}),
                   S(avg_pool1d(x, 3, 2, 1, true, false), {2, 3, 8}), S(avg_pool1d(x, 2), {3, 7}),
                   S(avg_pool1d(x, 2), {0, 3, 8})},
       .errors = {E("avg_pool1d: input must be (N, C, W) or (C, W), got [9]", avg_pool1d(x, 2), {9}),
                  E("avg_pool1d: kernel_size must be at least 1, got [0]", avg_pool1d(x, 0), {2, 3, 9}),
                  E("avg_pool1d: padding must be at most half of the kernel, got padding [2] and kernel [3]",
                    avg_pool1d(x, 3, 1, 2), {2, 3, 9})},
       .no_scalar = "takes (N, C, W)"},
      {.name = "avg_pool2d",
       .grad = true,
       .channels_last = true,
       .samples = {S(avg_pool2d(x, 2), {2, 3, 6, 5}), S(avg_pool2d(x, 3, 2, 1), {2, 3, 7, 6}),
                   S(avg_pool2d(x, 3, 2, 1, false, false), {2, 3, 7, 6}),
                   S(avg_pool2d(x, 3, 2, 1, true), {1, 2, 6, 6}),
                   S(avg_pool2d(x, 3, 2, 1, true, false), {1, 2, 6, 6}),
                   S(avg_pool2d(x, 2, 1, 0, false, true, 3), {1, 2, 4, 4}),
                   S(avg_pool2d(x, {2, 3}, {1, 2}), {3, 5, 7}), S(avg_pool2d(x, 2), {0, 3, 6, 5})},
       .errors = {E("avg_pool2d: input must be (N, C, H, W) or (C, H, W), got [6, 5]", avg_pool2d(x, 2),
                    {6, 5}),
                  E("avg_pool2d: divisor_override must not be 0", avg_pool2d(x, 2, 2, 0, false, true, 0),
                    {1, 1, 5, 5}),
                  E("avg_pool2d: padding must be at least 0, got [-1]", avg_pool2d(x, 2, 2, -1),
                    {1, 1, 5, 5}),
                  E("avg_pool2d: a kernel of [3, 3] with dilation [1, 1] does not fit input [1, 1, 2, 5] "
                    "with padding [0, 0]",
                    avg_pool2d(x, 3), {1, 1, 2, 5})},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "adaptive_avg_pool1d",
       .grad = true,
       .samples = {S(adaptive_avg_pool1d(x, 3), {2, 3, 8}), S(adaptive_avg_pool1d(x, 1), {3, 7}),
                   S(adaptive_avg_pool1d(x, 2), {0, 3, 8})},
       .errors = {E("adaptive_avg_pool1d: input must be (N, C, W) or (C, W), got [9]",
                    adaptive_avg_pool1d(x, 2), {9}),
                  E("adaptive_avg_pool1d: output_size must be at least 0, got [-1]",
                    adaptive_avg_pool1d(x, -1), {1, 1, 5}),
                  E("adaptive_avg_pool1d: output_size must have 1 value, got [1, 2]",
                    adaptive_avg_pool1d(x, {1, 2}), {1, 1, 5})},
       .no_scalar = "takes (N, C, W)"},
      {.name = "adaptive_avg_pool2d",
       .grad = true,
       .channels_last = true,
       .samples = {S(adaptive_avg_pool2d(x, {2, 3}), {2, 3, 5, 7}),
                   S(adaptive_avg_pool2d(x, 1), {2, 3, 4, 4}),
                   S(adaptive_avg_pool2d(x, {6, 5}), {1, 2, 4, 4}), S(adaptive_avg_pool2d(x, 2), {3, 4, 4}),
                   S(adaptive_avg_pool2d(x, 2), {0, 3, 4, 4})},
       .errors = {E("adaptive_avg_pool2d: input must be (N, C, H, W) or (C, H, W), got [6, 5]",
                    adaptive_avg_pool2d(x, 2), {6, 5}),
                  E("adaptive_avg_pool2d: output_size must be at least 0, got [-1]",
                    adaptive_avg_pool2d(x, -1), {1, 1, 5, 5}),
                  E("adaptive_avg_pool2d: output_size must have 1 or 2 values, got [1, 2, 3]",
                    adaptive_avg_pool2d(x, {1, 2, 3}), {1, 1, 5, 5})},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

}  // namespace

std::vector<Row> pool_rows() { return join({max_pool_rows(), avg_pool_rows()}); }

}  // namespace tarn::testing
