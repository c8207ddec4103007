// Rows of the transposed convolutions.
#include <tarn/core/ops/conv.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

std::vector<Row> planes() {
  return {
      {.name = "conv_transpose2d",
       .grad = true,
       .channels_last = true,
       .samples = {S(conv_transpose2d(x, y, z), {2, 3, 4, 5}, {3, 2, 3, 3}, {2}),
                   S(conv_transpose2d(x, y), {2, 3, 4, 4}, {3, 2, 1, 1}),
                   S(conv_transpose2d(x, y, z, 2, 1), {1, 2, 4, 3}, {2, 3, 3, 3}, {3}),
                   S(conv_transpose2d(x, y, z, 2, 1, 1), {1, 2, 4, 3}, {2, 3, 3, 3}, {3}),
                   S(conv_transpose2d(x, y, z, {2, 1}, {0, 2}, {1, 0}), {1, 2, 3, 4}, {2, 2, 2, 3}, {2}),
                   S(conv_transpose2d(x, y, z, 2, 1, 1, 2, 2), {1, 4, 3, 3}, {4, 2, 3, 3}, {4}),
                   // output_padding beyond the stride.
                   S(conv_transpose2d(x, y, z, 1, {0, 2}, 2, 1, 3), {1, 2, 3, 3}, {2, 2, 2, 2}, {2}),
                   S(conv_transpose2d(x, y), {3, 4, 5}, {3, 2, 3, 3}),
                   S(conv_transpose2d(x, y), {0, 3, 4, 5}, {3, 2, 3, 3})},
       .errors =
           {E("conv_transpose2d: input has 2 channels, weight [3, 2, 3, 3] expects 3", conv_transpose2d(x, y),
              {1, 2, 4, 4}, {3, 2, 3, 3}),
            E("conv_transpose2d: input must be (N, C, H, W) or (C, H, W), got [4, 4]", conv_transpose2d(x, y),
              {4, 4}, {3, 2, 3, 3}),
            E("conv_transpose2d: weight must be (channels, outputs / groups, kernel of 2 dims), got [3, "
              "2, 3]",
              conv_transpose2d(x, y), {1, 3, 4, 4}, {3, 2, 3}),
            E("conv_transpose2d: output_padding must be less than stride or dilation, got "
              "output_padding [2], stride [2, 2], dilation [1, 1]",
              conv_transpose2d(x, y, {}, 2, 0, 2), {1, 3, 4, 4}, {3, 2, 3, 3}),
            E("conv_transpose2d: bias [3] does not fit weight [3, 2, 3, 3] in 1 group, which has 2 "
              "outputs",
              conv_transpose2d(x, y, z), {1, 3, 4, 4}, {3, 2, 3, 3}, {3}),
            E("conv_transpose2d: the 3 channels of input [1, 3, 4, 4] do not divide into 2 groups",
              conv_transpose2d(x, y, {}, 1, 0, 0, 2), {1, 3, 4, 4}, {3, 2, 3, 3}),
            E("conv_transpose2d: the output of input [1, 3, 4, 4] would have sizes [1, 2, 0, 0]; padding "
              "is too large",
              conv_transpose2d(x, y, {}, 1, 3), {1, 3, 4, 4}, {3, 2, 3, 3}),
            E("conv_transpose2d: stride must be at most 2147483647, got [4611686018427387904]",
              conv_transpose2d(x, y, {}, int64_t(1) << 62), {1, 3, 4, 4}, {3, 2, 3, 3})},
       .f16 = {1e-2, 2e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

}  // namespace

std::vector<Row> transposed_rows() {
  std::vector<Row> others{
      {.name = "conv_transpose1d",
       .grad = true,
       .samples = {S(conv_transpose1d(x, y, z), {2, 3, 5}, {3, 4, 3}, {4}),
                   S(conv_transpose1d(x, y, z, 2, 1, 1), {1, 2, 5}, {2, 3, 3}, {3}),
                   S(conv_transpose1d(x, y, z, 1, 1, 0, 2, 2), {1, 4, 5}, {4, 2, 3}, {4}),
                   S(conv_transpose1d(x, y), {3, 5}, {3, 4, 3}),
                   S(conv_transpose1d(x, y), {0, 3, 5}, {3, 4, 3})},
       .errors = {E("conv_transpose1d: input has 2 channels, weight [3, 4, 3] expects 3",
                    conv_transpose1d(x, y), {1, 2, 5}, {3, 4, 3}),
                  E("conv_transpose1d: stride must be at least 1, got [0]", conv_transpose1d(x, y, {}, 0),
                    {1, 3, 5}, {3, 4, 3}),
                  E("conv_transpose1d: not implemented for dtype Long", conv_transpose1d(x, y),
                    typed(kLong, {1, 3, 5}), {3, 4, 3})},
       .f16 = {1e-2, 2e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, W)"},
      {.name = "conv_transpose3d",
       .grad = true,
       .samples = {S(conv_transpose3d(x, y, z), {1, 2, 3, 2, 3}, {2, 2, 2, 3, 2}, {2}),
                   S(conv_transpose3d(x, y, z, 2, 1, 1), {1, 1, 2, 3, 2}, {1, 2, 3, 3, 3}, {2}),
                   S(conv_transpose3d(x, y), {2, 3, 3, 3}, {2, 1, 2, 2, 2}),
                   S(conv_transpose3d(x, y), {0, 2, 3, 2, 3}, {2, 2, 2, 3, 2})},
       .errors = {E("conv_transpose3d: input has 1 channels, weight [2, 2, 2, 2, 2] expects 2",
                    conv_transpose3d(x, y), {1, 1, 4, 4, 4}, {2, 2, 2, 2, 2}),
                  E("conv_transpose3d: input must be (N, C, D, H, W) or (C, D, H, W), got [4, 4, 4]",
                    conv_transpose3d(x, y), {4, 4, 4}, {2, 2, 2, 2, 2}),
                  E("conv_transpose3d: groups must be at least 1, got 0",
                    conv_transpose3d(x, y, {}, 1, 0, 0, 0), {1, 2, 4, 4, 4}, {2, 2, 2, 2, 2})},
       .f16 = {1e-2, 2e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, D, H, W)"},
  };
  return join({planes(), others});
}

}  // namespace tarn::testing
