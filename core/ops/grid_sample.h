// Sampling images at places that a grid gives.
#pragma once

#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// The points of a (N, C, H, W) or (N, C, D, H, W) image that affine maps theta (N, 2, 3) or (N, 3, 4) send
// the output's points to: (N, H, W, 2) or (N, D, H, W, 3), x first, -1 and 1 at the borders. With
// align_corners these are the centers of the outermost pixels, otherwise their outer edges. Source: Jaderberg
// et al., arXiv:1506.02025.
TARN_API Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners);

// input (N, C, H, W) or (N, C, D, H, W) at the points of grid (N, H', W', 2) or (N, D', H', W', 3) -> (N, C,
// H', W') or (N, C, D', H', W'). interpolation_mode: 0 linear in each dim, 1 nearest, 2 bicubic (images
// only). padding_mode, for points outside: 0 zeros, 1 the border, 2 reflection. 16-bit floats are computed in
// float.
// A NaN coordinate is nowhere and gives 0 (PyTorch: NaN with padding_mode 0).
TARN_API Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                             int64_t padding_mode, bool align_corners);
TARN_API Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                int64_t padding_mode, bool align_corners);
TARN_API Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                int64_t padding_mode, bool align_corners);

// nn::functional's names for these; modes are bilinear, nearest, bicubic and zeros, border, reflection.
namespace detail {
TARN_API Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
TARN_API Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode = "bilinear",
                            std::string_view padding_mode = "zeros", bool align_corners = false);
}  // namespace detail

}  // namespace tarn::inline v1
