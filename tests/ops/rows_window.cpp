// Rows of im2col and col2im.
#include <tarn/core/ops/im2col.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

std::vector<Row> window_rows() {
  return {
      {.name = "im2col",
       .grad = true,
       .samples = {S_PY("torch._C._nn.im2col(x, [2, 3], [1, 1], [0, 0], [1, 1])", im2col(x, {2, 3}, 1, 0, 1),
                        {2, 2, 4, 5}),
                   S_PY("torch._C._nn.im2col(x, [2, 2], [2, 1], [1, 0], [1, 2])",
                        im2col(x, 2, {2, 1}, {1, 0}, {1, 2}), {1, 2, 4, 5}),
                   S_PY("unfold(x, 2)", detail::unfold_windows(x, 2), {2, 3, 3}),
                   S_PY("unfold(x, 2)", detail::unfold_windows(x, 2), {0, 2, 3, 3})},
       .errors =
           {E("im2col: input must be (N, C, H, W) or (C, H, W), got [4, 5]", im2col(x, 2, 1, 0, 1), {4, 5}),
            E("im2col: kernel_size must be in [1, 2^30), got [0]", im2col(x, 0, 1, 0, 1), {1, 4, 5}),
            E("im2col: a kernel of [5] with dilation [1] does not fit a plane of [4, 5] with padding [0]",
              im2col(x, 5, 1, 0, 1), {1, 4, 5}),
            E("im2col: stride must have 1 or 2 values, got [1, 1, 1]", im2col(x, 2, 1, 0, {1, 1, 1}),
              {1, 4, 5}),
            E("im2col: not implemented for dtype Long", im2col(x, 2, 1, 0, 1), typed(kLong, {1, 4, 5}))},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "col2im",
       .grad = true,
       .samples = {S_PY("torch._C._nn.col2im(x, [4, 5], [2, 3], [1, 1], [0, 0], [1, 1])",
                        col2im(x, {4, 5}, {2, 3}, 1, 0, 1), {2, 12, 9}),
                   S_PY("torch._C._nn.col2im(x, [4, 5], [2, 2], [2, 1], [1, 0], [1, 2])",
                        col2im(x, {4, 5}, 2, {2, 1}, {1, 0}, {1, 2}), {1, 8, 8}),
                   S_PY("fold(x, 3, 2)", detail::fold(x, 3, 2), {8, 4}),
                   S_PY("torch._C._nn.col2im(x, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])",
                        col2im(x, 3, 2, 1, 0, 1), {0, 8, 4})},
       .errors = {E("col2im: input must be (N, C * kernel, L) or (C * kernel, L), got [4]",
                    col2im(x, 3, 2, 1, 0, 1), {4}),
                  E("col2im: the 7 rows of input [7, 4] are no multiple of the 4 elements of a kernel of [2]",
                    col2im(x, 3, 2, 1, 0, 1), {7, 4}),
                  E("col2im: input [8, 5] has 5 columns, output_size [3] has 4 windows",
                    col2im(x, 3, 2, 1, 0, 1), {8, 5}),
                  E("col2im: not implemented for dtype Long", col2im(x, 3, 2, 1, 0, 1),
                    typed(kLong, {8, 4}))},
       .f16 = {5e-3, 2e-3},
       .bf16 = {4e-2, 2e-2},
       .no_scalar = "takes (N, C * kernel, L)"},
  };
}

}  // namespace tarn::testing
