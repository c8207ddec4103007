// Interpolation of (N, C, W), (N, C, H, W) or (N, C, D, H, W) to other spatial sizes.
#pragma once

#include <optional>
#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// Output i lies at input (i + 0.5) * in / out - 0.5, or at i * (in - 1) / (out - 1) with align_corners; a
// scale, if given, stands for out / in. nearest takes the element at floor(i * in / out), nearest_exact the
// nearest one. The cubic kernel is Keys' with a = -0.75. The forms _aa widen the kernel (cubic: a = -0.5)
// when they shrink, as Pillow does. 16-bit floats are computed in float; nearest takes Byte too.
TARN_API Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size,
                                   std::optional<double> scales = {});
TARN_API Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size,
                                   std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
TARN_API Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size,
                                   std::optional<double> scales_d = {}, std::optional<double> scales_h = {},
                                   std::optional<double> scales_w = {});
TARN_API Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size,
                                          std::optional<double> scales = {});
TARN_API Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size,
                                          std::optional<double> scales_h = {},
                                          std::optional<double> scales_w = {});
TARN_API Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size,
                                          std::optional<double> scales_d = {},
                                          std::optional<double> scales_h = {},
                                          std::optional<double> scales_w = {});
TARN_API Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                  std::optional<double> scales = {});
TARN_API Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                    std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
TARN_API Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                     std::optional<double> scales_d = {}, std::optional<double> scales_h = {},
                                     std::optional<double> scales_w = {});
TARN_API Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                   std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
TARN_API Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                        std::optional<double> scales_h = {},
                                        std::optional<double> scales_w = {});
TARN_API Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                       std::optional<double> scales_h = {},
                                       std::optional<double> scales_w = {});

namespace detail {
// nn::functional's interpolate: one of `size` and scale_factor (one value or one per dim; the other empty).
// mode: nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area. With recompute_scale_factor the
// scale is that of the sizes. antialias: bilinear and bicubic only.
TARN_API Tensor interpolate(const Tensor& x, IntArrayRef size, ArrayRef<double> scale_factor,
                            std::string_view mode = "nearest", std::optional<bool> align_corners = {},
                            std::optional<bool> recompute_scale_factor = {}, bool antialias = false);
}  // namespace detail

}  // namespace tarn::inline v1
