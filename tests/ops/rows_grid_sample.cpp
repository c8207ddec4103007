// Rows of sampling by a grid.
#include <tarn/core/ops/grid_sample.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// Places inside and outside of the image, between its pixels.
Input points(std::vector<int64_t> sizes) {
  return Input(std::move(sizes), {{.a = 37, .b = 11, .m = 256, .c = 128, .d = 90}, kAround0});
}

#define PLANES(mode, padding, corners) \
  S(grid_sampler_2d(x, y, mode, padding, corners), {2, 2, 4, 5}, points({2, 3, 2, 2}))

// Nearest places jump.
#define NEAREST(padding, corners) \
  S(grid_sampler_2d(x, y, 1, padding, corners), {2, 2, 4, 5}, rough(points({2, 3, 2, 2})))

std::vector<Row> plane_rows() {
  return {
      {.name = "grid_sampler_2d",
       .grad = true,
       .samples = {PLANES(0, 0, false), PLANES(0, 0, true), PLANES(0, 1, false), PLANES(0, 1, true),
                   PLANES(0, 2, false), PLANES(0, 2, true), NEAREST(0, false), NEAREST(1, true),
                   NEAREST(2, false), PLANES(2, 0, false), PLANES(2, 1, false), PLANES(2, 2, true),
                   S(grid_sampler_2d(x, y, 0, 0, false), {1, 1, 3, 3},
                     listed({5, 0, 1e30, 0, -1, -1, 1, 1}, {1, 2, 2, 2}).no_grad()),
                   S(grid_sampler_2d(x, y, 0, 2, true), {1, 1, 1, 1}, points({1, 2, 2, 2})),
                   S(grid_sampler_2d(x, y, 0, 0, false), {0, 2, 4, 5}, {0, 3, 2, 2})},
       .errors =
           {E("grid_sampler_2d: input must be (N, C, H, W) and grid (N, H, W, 2), got [4, 5] and [2, 2]",
              grid_sampler_2d(x, y, 0, 0, false), {4, 5}, {2, 2}),
            E("grid_sampler_2d: grid must be (1, H, W, 2), got [1, 3, 2, 3]",
              grid_sampler_2d(x, y, 0, 0, false), {1, 1, 4, 5}, {1, 3, 2, 3}),
            E("grid_sampler_2d: input and grid must have one floating dtype, got Float and Double",
              grid_sampler_2d(x, y, 0, 0, false), {1, 1, 4, 5}, typed(kDouble, {1, 3, 2, 2})),
            E("grid_sampler_2d: interpolation_mode must be 0 (linear), 1 (nearest) or 2 (bicubic, of images "
              "only), got 3",
              grid_sampler_2d(x, y, 3, 0, false), {1, 1, 4, 5}, {1, 3, 2, 2}),
            E("grid_sampler_2d: padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), got -1",
              grid_sampler_2d(x, y, 0, -1, false), {1, 1, 4, 5}, {1, 3, 2, 2})},
       .f32 = {1.3e-5, 5e-6},
       .f16 = {1e-2, 5e-3},
       .bf16 = {3e-2, 3e-2},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "grid_sampler",
       .grad = true,
       .samples = {S(grid_sampler(x, y, 0, 0, false), {1, 2, 4, 5}, points({1, 3, 2, 2})),
                   S(grid_sampler(x, y, 0, 0, false), {1, 2, 2, 3, 2}, points({1, 1, 3, 2, 3})),
                   S_PY("F.grid_sample(x, y, 'bicubic', 'border', True)",
                        detail::grid_sample(x, y, "bicubic", "border", true), {1, 2, 4, 5},
                        points({1, 3, 2, 2})),
                   S(grid_sampler(x, y, 0, 0, false), {0, 2, 4, 5}, {0, 3, 2, 2})},
       .errors = {E("grid_sampler: input must be (N, C, H, W) and grid (N, H, W, 2), got [4, 5] and [2, 2]",
                    grid_sampler(x, y, 0, 0, false), {4, 5}, {2, 2}),
                  E("grid_sample: unknown mode 'cubic'", detail::grid_sample(x, y, "cubic"), {1, 1, 4, 5},
                    {1, 3, 2, 2}),
                  E("grid_sample: unknown padding_mode 'wrap'", detail::grid_sample(x, y, "nearest", "wrap"),
                    {1, 1, 4, 5}, {1, 3, 2, 2})},
       .f32 = {1.3e-5, 5e-6},
       .f16 = {1e-2, 5e-3},
       .bf16 = {3e-2, 3e-2},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

#undef PLANES
#undef NEAREST

std::vector<Row> other_rows() {
  return {
      {.name = "grid_sampler_3d",
       .grad = true,
       .samples = {S(grid_sampler_3d(x, y, 0, 0, false), {1, 2, 2, 3, 4}, points({1, 1, 3, 2, 3})),
                   S(grid_sampler_3d(x, y, 0, 1, true), {1, 1, 2, 3, 3}, points({1, 1, 3, 2, 3})),
                   S(grid_sampler_3d(x, y, 1, 2, false), {1, 1, 2, 3, 3}, rough(points({1, 1, 3, 2, 3}))),
                   S(grid_sampler_3d(x, y, 0, 0, false), {0, 2, 2, 3, 4}, {0, 1, 3, 2, 3})},
       .errors =
           {E("grid_sampler_3d: input must be (N, C, D, H, W) and grid (N, D, H, W, 3), got [4, 5] and "
              "[2, 2]",
              grid_sampler_3d(x, y, 0, 0, false), {4, 5}, {2, 2}),
            E("grid_sampler_3d: interpolation_mode must be 0 (linear), 1 (nearest) or 2 (bicubic, of images "
              "only), got 2",
              grid_sampler_3d(x, y, 2, 0, false), {1, 1, 2, 2, 2}, {1, 1, 1, 1, 3}),
            E("grid_sampler_3d: input [1, 1, 0, 2, 2] has an empty spatial dim",
              grid_sampler_3d(x, y, 0, 0, false), {1, 1, 0, 2, 2}, {1, 1, 1, 1, 3})},
       .f32 = {1.3e-5, 5e-6},
       .f16 = {1e-2, 5e-3},
       .bf16 = {3e-2, 3e-2},
       .no_scalar = "takes (N, C, D, H, W)"},
      {.name = "affine_grid_generator",
       .grad = true,
       .samples = {S(affine_grid_generator(x, {2, 1, 3, 4}, false), {2, 2, 3}),
                   S(affine_grid_generator(x, {2, 1, 3, 4}, true), {2, 2, 3}),
                   S(affine_grid_generator(x, {1, 1, 2, 1, 3}, false), {1, 3, 4}),
                   S_PY("F.affine_grid(x, [1, 1, 2, 2, 3], True)",
                        detail::affine_grid(x, {1, 1, 2, 2, 3}, true), {1, 3, 4})},
       .errors = {E("affine_grid_generator: size must be (N, C, H, W) or (N, C, D, H, W), got [2, 3]",
                    affine_grid_generator(x, {2, 3}, false), {2, 2, 3}),
                  E("affine_grid_generator: theta must be [2, 2, 3] for size [2, 1, 3, 4], got [2, 3, 4]",
                    affine_grid_generator(x, {2, 1, 3, 4}, false), {2, 3, 4}),
                  E("affine_grid_generator: size must be positive, got [2, 1, 0, 4]",
                    affine_grid_generator(x, {2, 1, 0, 4}, false), {2, 2, 3})},
       .bf16 = {1.6e-2, 1e-2},
       .no_empty = "an image of no sample has no theta",
       .no_scalar = "takes (N, 2, 3)"},
  };
}

}  // namespace

std::vector<Row> grid_sample_rows() { return join({plane_rows(), other_rows()}); }

}  // namespace tarn::testing
