// Rows of interpolation.
#include <tarn/core/ops/upsample.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// U(name, arguments, inputs...): in Python these functions live in torch._C._nn.
#define U(call, ...) S_PY("torch._C._nn." #call, call, __VA_ARGS__)

std::vector<ErrorRow> plane_errors(const char* op, Tensor (*f)(const Tensor&, IntArrayRef)) {
  std::string name(op);
  return {{name + ": input must be (N, C, H, W), got [3, 4]",
           name,
           [f](const Tensors& in) {
             return Tensors{f(in[0], {2, 2})};
           },
           {{3, 4}}},
          {name + ": output_size must have 2 values, got [2]",
           name,
           [f](const Tensors& in) { return Tensors{f(in[0], {2})}; },
           {{1, 1, 3, 4}}},
          {name + ": output_size must be at least 1, got [0, 2]",
           name,
           [f](const Tensors& in) {
             return Tensors{f(in[0], {0, 2})};
           },
           {{1, 1, 3, 4}}},
          {name + ": input [1, 1, 0, 4] has an empty spatial dim",
           name,
           [f](const Tensors& in) {
             return Tensors{f(in[0], {2, 2})};
           },
           {{1, 1, 0, 4}}},
          {name + ": not implemented for dtype Long",
           name,
           [f](const Tensors& in) {
             return Tensors{f(in[0], {2, 2})};
           },
           {typed(kLong, {1, 1, 3, 4})}}};
}

// A function, since tables are made before this file's constants.
std::vector<ScalarType> floats_and_byte() { return {kFloat, kDouble, kHalf, kBFloat16, kByte}; }

std::vector<Row> plane_rows() {
  return {
      {.name = "upsample_nearest2d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(upsample_nearest2d(x, {5, 7}), {2, 3, 3, 4}),
                   U(upsample_nearest2d(x, {6, 8}), {1, 2, 3, 4}),
                   U(upsample_nearest2d(x, {2, 3}), {1, 2, 5, 7}),
                   U(upsample_nearest2d(x, {7, 5}, 2.5, 1.3), {1, 2, 3, 4}),
                   U(upsample_nearest2d(x, {5, 7}), {0, 3, 3, 4})},
       .errors = plane_errors("upsample_nearest2d",
                              [](const Tensor& x, IntArrayRef s) { return upsample_nearest2d(x, s); }),
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "_upsample_nearest_exact2d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(_upsample_nearest_exact2d(x, {5, 7}), {2, 3, 3, 4}),
                   U(_upsample_nearest_exact2d(x, {2, 3}), {1, 2, 5, 7}),
                   U(_upsample_nearest_exact2d(x, {7, 5}, 2.5, 1.3), {1, 2, 3, 4}),
                   U(_upsample_nearest_exact2d(x, {5, 7}), {0, 3, 3, 4})},
       .errors = plane_errors("_upsample_nearest_exact2d",
                              [](const Tensor& x, IntArrayRef s) { return _upsample_nearest_exact2d(x, s); }),
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "upsample_bilinear2d",
       .grad = true,
       .samples = {U(upsample_bilinear2d(x, {5, 7}, false), {2, 3, 3, 4}),
                   U(upsample_bilinear2d(x, {5, 7}, true), {1, 2, 3, 4}),
                   U(upsample_bilinear2d(x, {2, 3}, false), {1, 2, 5, 7}),
                   U(upsample_bilinear2d(x, {1, 1}, true), {1, 2, 3, 3}),
                   U(upsample_bilinear2d(x, {7, 5}, false, 2.5, 1.3), {1, 2, 3, 4}),
                   U(upsample_bilinear2d(x, {3, 4}, false), {1, 2, 3, 4}),
                   U(upsample_bilinear2d(x, {5, 7}, false), {0, 3, 3, 4})},
       .errors =
           plane_errors("upsample_bilinear2d",
                        [](const Tensor& x, IntArrayRef s) { return upsample_bilinear2d(x, s, false); }),
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "upsample_bicubic2d",
       .grad = true,
       .samples = {U(upsample_bicubic2d(x, {5, 7}, false), {2, 3, 3, 4}),
                   U(upsample_bicubic2d(x, {5, 7}, true), {1, 2, 3, 4}),
                   U(upsample_bicubic2d(x, {2, 3}, false), {1, 2, 5, 7}),
                   U(upsample_bicubic2d(x, {7, 5}, false, 2.5, 1.3), {1, 2, 3, 4}),
                   U(upsample_bicubic2d(x, {4, 4}, false), {1, 1, 1, 2}),
                   U(upsample_bicubic2d(x, {5, 7}, false), {0, 3, 3, 4})},
       .errors = plane_errors("upsample_bicubic2d",
                              [](const Tensor& x, IntArrayRef s) { return upsample_bicubic2d(x, s, false); }),
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

std::vector<Row> antialiased_rows() {
  return {
      {.name = "_upsample_bilinear2d_aa",
       .grad = true,
       .samples = {U(_upsample_bilinear2d_aa(x, {2, 3}, false), {2, 3, 5, 7}),
                   U(_upsample_bilinear2d_aa(x, {5, 7}, false), {1, 2, 3, 4}),
                   U(_upsample_bilinear2d_aa(x, {3, 2}, true), {1, 2, 8, 9}),
                   U(_upsample_bilinear2d_aa(x, {2, 3}, false), {0, 3, 5, 7})},
       .errors =
           plane_errors("_upsample_bilinear2d_aa",
                        [](const Tensor& x, IntArrayRef s) { return _upsample_bilinear2d_aa(x, s, false); }),
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, H, W)"},
      {.name = "_upsample_bicubic2d_aa",
       .grad = true,
       .samples = {U(_upsample_bicubic2d_aa(x, {2, 3}, false), {2, 3, 5, 7}),
                   U(_upsample_bicubic2d_aa(x, {5, 7}, false), {1, 2, 3, 4}),
                   U(_upsample_bicubic2d_aa(x, {3, 2}, true), {1, 2, 8, 9}),
                   U(_upsample_bicubic2d_aa(x, {2, 3}, false), {0, 3, 5, 7})},
       .errors =
           plane_errors("_upsample_bicubic2d_aa",
                        [](const Tensor& x, IntArrayRef s) { return _upsample_bicubic2d_aa(x, s, false); }),
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, H, W)"},
  };
}

std::vector<Row> line_rows() {
  return {
      {.name = "upsample_nearest1d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(upsample_nearest1d(x, {7}), {2, 3, 4}), U(upsample_nearest1d(x, {3}), {2, 3, 7}),
                   U(upsample_nearest1d(x, {7}, 1.9), {2, 3, 4}), U(upsample_nearest1d(x, {7}), {0, 3, 4})},
       .errors = {E("upsample_nearest1d: input must be (N, C, W), got [4]", upsample_nearest1d(x, {7}), {4}),
                  E("upsample_nearest1d: output_size must have 1 value, got [7, 7]",
                    upsample_nearest1d(x, {7, 7}), {1, 1, 4}),
                  E("upsample_nearest1d: output_size must be at least 1, got [-1]",
                    upsample_nearest1d(x, {-1}), {1, 1, 4})},
       .no_scalar = "takes (N, C, W)"},
      {.name = "_upsample_nearest_exact1d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(_upsample_nearest_exact1d(x, {7}), {2, 3, 4}),
                   U(_upsample_nearest_exact1d(x, {3}), {2, 3, 7}),
                   U(_upsample_nearest_exact1d(x, {7}), {0, 3, 4})},
       .errors = {E("_upsample_nearest_exact1d: input must be (N, C, W), got [4]",
                    _upsample_nearest_exact1d(x, {7}), {4}),
                  E("_upsample_nearest_exact1d: output_size must be at least 1, got [0]",
                    _upsample_nearest_exact1d(x, {0}), {1, 1, 4}),
                  E("_upsample_nearest_exact1d: not implemented for dtype Long",
                    _upsample_nearest_exact1d(x, {7}), typed(kLong, {1, 1, 4}))},
       .no_scalar = "takes (N, C, W)"},
      {.name = "upsample_linear1d",
       .grad = true,
       .samples = {U(upsample_linear1d(x, {7}, false), {2, 3, 4}),
                   U(upsample_linear1d(x, {7}, true), {2, 3, 4}),
                   U(upsample_linear1d(x, {3}, false), {2, 3, 8}),
                   U(upsample_linear1d(x, {7}, false), {0, 3, 4})},
       .errors = {E("upsample_linear1d: input must be (N, C, W), got [4]", upsample_linear1d(x, {7}, false),
                    {4}),
                  E("upsample_linear1d: output_size must be at least 1, got [0]",
                    upsample_linear1d(x, {0}, false), {1, 1, 4}),
                  E("upsample_linear1d: not implemented for dtype Long", upsample_linear1d(x, {7}, false),
                    typed(kLong, {1, 1, 4}))},
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, W)"},
  };
}

std::vector<Row> volume_rows() {
  return {
      {.name = "upsample_nearest3d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(upsample_nearest3d(x, {3, 4, 5}), {1, 2, 2, 3, 2}),
                   U(upsample_nearest3d(x, {3, 4, 5}), {0, 2, 2, 3, 2})},
       .errors = {E("upsample_nearest3d: input must be (N, C, D, H, W), got [4]",
                    upsample_nearest3d(x, {7, 7, 7}), {4}),
                  E("upsample_nearest3d: output_size must have 3 values, got [7]", upsample_nearest3d(x, {7}),
                    {1, 1, 2, 2, 2}),
                  E("upsample_nearest3d: output_size must be at least 1, got [1, 0, 1]",
                    upsample_nearest3d(x, {1, 0, 1}), {1, 1, 2, 2, 2})},
       .no_scalar = "takes (N, C, D, H, W)"},
      {.name = "_upsample_nearest_exact3d",
       .dtypes = floats_and_byte(),
       .grad = true,
       .samples = {U(_upsample_nearest_exact3d(x, {3, 4, 5}), {1, 2, 2, 3, 2}),
                   U(_upsample_nearest_exact3d(x, {3, 4, 5}), {0, 2, 2, 3, 2})},
       .errors = {E("_upsample_nearest_exact3d: input must be (N, C, D, H, W), got [4]",
                    _upsample_nearest_exact3d(x, {7, 7, 7}), {4}),
                  E("_upsample_nearest_exact3d: output_size must have 3 values, got [7]",
                    _upsample_nearest_exact3d(x, {7}), {1, 1, 2, 2, 2}),
                  E("_upsample_nearest_exact3d: output_size must be at least 1, got [1, 0, 1]",
                    _upsample_nearest_exact3d(x, {1, 0, 1}), {1, 1, 2, 2, 2})},
       .no_scalar = "takes (N, C, D, H, W)"},
      {.name = "upsample_trilinear3d",
       .grad = true,
       .samples = {U(upsample_trilinear3d(x, {3, 4, 5}, false), {1, 2, 2, 3, 2}),
                   U(upsample_trilinear3d(x, {3, 4, 5}, true), {1, 1, 2, 3, 2}),
                   U(upsample_trilinear3d(x, {2, 1, 2}, false), {1, 1, 3, 3, 4}),
                   U(upsample_trilinear3d(x, {3, 4, 5}, false), {0, 2, 2, 3, 2})},
       .errors = {E("upsample_trilinear3d: input must be (N, C, D, H, W), got [4]",
                    upsample_trilinear3d(x, {7, 7, 7}, false), {4}),
                  E("upsample_trilinear3d: output_size must have 3 values, got [7]",
                    upsample_trilinear3d(x, {7}, false), {1, 1, 2, 2, 2}),
                  E("upsample_trilinear3d: not implemented for dtype Long",
                    upsample_trilinear3d(x, {2, 2, 2}, false), typed(kLong, {1, 1, 2, 2, 2}))},
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .no_scalar = "takes (N, C, D, H, W)"},
  };
}

#undef U

Tensor scaled(const Tensor& x, std::vector<double> factor, std::string_view mode,
              std::optional<bool> corners = {}, bool recompute = false, bool antialias = false) {
  return detail::interpolate(x, {}, factor, mode, corners, recompute, antialias);
}

std::vector<Row> interpolate_rows() {
  return {
      {.name = "interpolate",
       .grad = true,
       .samples =
           {S_PY("F.interpolate(x, (5, 7))", detail::interpolate(x, {5, 7}, {}), {2, 3, 3, 4}),
            S_PY("F.interpolate(x, 5)", detail::interpolate(x, {5}, {}), {1, 2, 3}),
            S_PY("F.interpolate(x, scale_factor=2.5, mode='bilinear')", scaled(x, {2.5}, "bilinear"),
                 {1, 2, 3, 4}),
            S_PY("F.interpolate(x, scale_factor=[1.7, 2.3], mode='bilinear', recompute_scale_factor=True)",
                 scaled(x, {1.7, 2.3}, "bilinear", {}, true), {1, 2, 3, 4}),
            S_PY("F.interpolate(x, scale_factor=2, mode='bicubic', align_corners=True)",
                 scaled(x, {2}, "bicubic", true), {1, 2, 3, 4}),
            S_PY("F.interpolate(x, scale_factor=0.5, mode='bilinear', antialias=True)",
                 scaled(x, {0.5}, "bilinear", {}, false, true), {1, 2, 6, 7}),
            S_PY("F.interpolate(x, 3, mode='area')", detail::interpolate(x, {3}, {}, "area"), {1, 2, 7}),
            S_PY("F.interpolate(x, (2, 3), mode='area')", detail::interpolate(x, {2, 3}, {}, "area"),
                 {1, 2, 5, 7}),
            S_PY("F.interpolate(x, (2, 3, 2), mode='area')", detail::interpolate(x, {2, 3, 2}, {}, "area"),
                 {1, 1, 3, 4, 3}),
            S_PY("F.interpolate(x, 7, mode='linear')", detail::interpolate(x, {7}, {}, "linear"), {1, 2, 3}),
            S_PY("F.interpolate(x, 3, mode='trilinear')", detail::interpolate(x, {3}, {}, "trilinear"),
                 {1, 1, 2, 2, 2}),
            S_PY("F.interpolate(x, 5, mode='nearest-exact')",
                 detail::interpolate(x, {5}, {}, "nearest-exact"), {1, 1, 3, 3}),
            S_PY("F.interpolate(x, (5, 7))", detail::interpolate(x, {5, 7}, {}), {0, 3, 3, 4})},
       .errors = {E("interpolate: input must be (N, C, ...) with 1 to 3 spatial dims, got [3, 4]",
                    detail::interpolate(x, {5}, {}), {3, 4}),
                  E("interpolate: give size or scale_factor, and not both", detail::interpolate(x, {}, {}),
                    {1, 1, 3}),
                  E("interpolate: mode must be nearest, nearest-exact, linear, bilinear, bicubic, trilinear "
                    "or area, got 'cubic'",
                    detail::interpolate(x, {5}, {}, "cubic"), {1, 1, 3}),
                  E("interpolate: mode 'bilinear' takes (N, C, H, W), got [1, 1, 3]",
                    detail::interpolate(x, {5}, {}, "bilinear"), {1, 1, 3}),
                  E("interpolate: align_corners has no meaning for mode 'nearest'",
                    detail::interpolate(x, {5}, {}, "nearest", true), {1, 1, 3}),
                  E("interpolate: antialias needs mode bilinear or bicubic, got 'nearest'",
                    scaled(x, {2}, "nearest", {}, false, true), {1, 1, 3, 3}),
                  E("interpolate: scale_factor 0.1 of input [1, 1, 3] gives no size",
                    scaled(x, {0.1}, "linear"), {1, 1, 3}),
                  E("interpolate: size must have 1 or 2 values for input [1, 1, 3, 3], got 3",
                    detail::interpolate(x, {1, 2, 3}, {}), {1, 1, 3, 3})},
       .f32 = {2e-5, 1e-5},
       .f16 = {5e-3, 3e-3},
       .bf16 = {3e-2, 2e-2},
       .uncompared = {kByte},
       .why_uncompared = "only nearest takes it",
       .no_scalar = "takes (N, C, ...)"},
  };
}

}  // namespace

std::vector<Row> upsample_rows() {
  return join({plane_rows(), antialiased_rows(), line_rows(), volume_rows(), interpolate_rows()});
}

}  // namespace tarn::testing
