// Interpolation: arguments in, resample() out.
#include <tarn/core/ops/upsample.h>

#include <bit>
#include <cmath>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/resample.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

using Scale = std::optional<double>;

const char* dims_text(int nd) { return nd == 1 ? "W" : nd == 2 ? "H, W" : "D, H, W"; }

struct Interpolation {
  Resampling mode;
  bool align_corners = false, antialias = false;
};

void check_input(const char* op, const Tensor& x, int nd, bool nearest) {
  check(x.dim() == nd + 2, op, ": input must be (N, C, ", dims_text(nd), "), got ", x.sizes());
  check(is_floating(x.dtype()) || (nearest && x.dtype() == kByte), op, ": not implemented for dtype ",
        x.dtype());
}

Tensor upsample(const char* op, int nd, const Tensor& x, IntArrayRef output_size, const Interpolation& how,
                std::initializer_list<Scale> scales) {
  bool nearest = how.mode == Resampling::Nearest || how.mode == Resampling::NearestExact;
  check_input(op, x, nd, nearest);
  check(int(output_size.size()) == nd, op, ": output_size must have ", nd, nd == 1 ? " value" : " values",
        ", got ", output_size);
  ResampleAttrs p{.mode = int64_t(how.mode), .align_corners = how.align_corners, .antialias = how.antialias};
  for (int d = 0; d < nd; ++d) {
    p.in[d] = x.size(2 + d);
    p.out[d] = output_size[size_t(d)];
    check(p.out[d] > 0, op, ": output_size must be at least 1, got ", output_size);
    check(p.in[d] > 0, op, ": input ", x.sizes(), " has an empty spatial dim");
    Scale scale = scales.begin()[d];
    if (scale && *scale > 0) p.step_bits[d] = std::bit_cast<int64_t>(1 / *scale);
  }
  if (x.dtype() == kByte) return cast(resample(cast(x, kFloat), p), kByte);
  return resample(x, p);
}

constexpr const char* kInterpolate = "interpolate";

// What a mode is called for each rank; 0: it does not exist there.
struct NamedMode {
  std::string_view name;
  int rank;  // 0: any
  Resampling mode;
  bool corners, antialias;  // whether these may be asked for
};
constexpr NamedMode kModes[] = {
    {"nearest", 0, Resampling::Nearest, false, false},
    {"nearest-exact", 0, Resampling::NearestExact, false, false},
    {"area", 0, Resampling::Adaptive, false, false},
    {"linear", 1, Resampling::Linear, true, false},
    {"bilinear", 2, Resampling::Linear, true, true},
    {"bicubic", 2, Resampling::Cubic, true, true},
    {"trilinear", 3, Resampling::Linear, true, false},
};

const NamedMode& mode_of(const Tensor& x, std::string_view name) {
  for (const NamedMode& m : kModes)
    if (m.name == name) {
      check(m.rank == 0 || m.rank + 2 == x.dim(), kInterpolate, ": mode '", name, "' takes (N, C, ",
            dims_text(m.rank ? m.rank : 1), "), got ", x.sizes());
      return m;
    }
  fail(kInterpolate,
       ": mode must be nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area, got '", name,
       "'");
}

// One value for all dims, or one per dim.
template <class T>
T value_at(ArrayRef<T> values, int d) {
  return values[values.size() == 1 ? 0 : size_t(d)];
}

}  // namespace

namespace detail {

Tensor interpolate(const Tensor& x, IntArrayRef size, ArrayRef<double> scale_factor, std::string_view mode,
                   std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor,
                   bool antialias) {
  check(x.dim() >= 3 && x.dim() <= 5, kInterpolate,
        ": input must be (N, C, ...) with 1 to 3 spatial dims, got ", x.sizes());
  int nd = int(x.dim()) - 2;
  check(size.empty() != scale_factor.empty(), kInterpolate, ": give size or scale_factor, and not both");
  size_t given = size.empty() ? scale_factor.size() : size.size();
  check(given == 1 || int(given) == nd, kInterpolate, ": ", size.empty() ? "scale_factor" : "size",
        " must have 1 or ", nd, " values for input ", x.sizes(), ", got ", given);
  const NamedMode& m = mode_of(x, mode);
  check(!align_corners || m.corners, kInterpolate, ": align_corners has no meaning for mode '", mode, "'");
  check(!antialias || m.antialias, kInterpolate, ": antialias needs mode bilinear or bicubic, got '", mode,
        "'");
  bool recompute = recompute_scale_factor.value_or(false);
  check(!recompute || size.empty(), kInterpolate, ": recompute_scale_factor needs scale_factor");

  Dims sizes(nd, 0);
  Scale scales[3];
  for (int d = 0; d < nd; ++d) {
    if (!size.empty()) {
      sizes[d] = value_at(size, d);
      continue;
    }
    double factor = value_at(scale_factor, d), made = std::floor(double(x.size(2 + d)) * factor);
    check(made >= 1 && made < 0x1p62, kInterpolate, ": scale_factor ", factor, " of input ", x.sizes(),
          " gives no size");
    sizes[d] = int64_t(made);
    if (!recompute) scales[d] = factor;
  }
  if (m.mode == Resampling::Adaptive)
    return nd == 1   ? adaptive_avg_pool1d(x, sizes)
           : nd == 2 ? adaptive_avg_pool2d(x, sizes)
                     : adaptive_avg_pool3d(x, sizes);
  return upsample(kInterpolate, nd, x, sizes, {m.mode, align_corners.value_or(false), antialias},
                  {scales[0], scales[1], scales[2]});
}

}  // namespace detail

Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, Scale scales) {
  return upsample("upsample_nearest1d", 1, x, output_size, {Resampling::Nearest}, {scales});
}

Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, Scale scales_h, Scale scales_w) {
  return upsample("upsample_nearest2d", 2, x, output_size, {Resampling::Nearest}, {scales_h, scales_w});
}

Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, Scale scales_d, Scale scales_h,
                          Scale scales_w) {
  return upsample("upsample_nearest3d", 3, x, output_size, {Resampling::Nearest},
                  {scales_d, scales_h, scales_w});
}

Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size, Scale scales) {
  return upsample("_upsample_nearest_exact1d", 1, x, output_size, {Resampling::NearestExact}, {scales});
}

Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size, Scale scales_h, Scale scales_w) {
  return upsample("_upsample_nearest_exact2d", 2, x, output_size, {Resampling::NearestExact},
                  {scales_h, scales_w});
}

Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size, Scale scales_d, Scale scales_h,
                                 Scale scales_w) {
  return upsample("_upsample_nearest_exact3d", 3, x, output_size, {Resampling::NearestExact},
                  {scales_d, scales_h, scales_w});
}

Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales) {
  return upsample("upsample_linear1d", 1, x, output_size, {Resampling::Linear, align_corners}, {scales});
}

Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales_h,
                           Scale scales_w) {
  return upsample("upsample_bilinear2d", 2, x, output_size, {Resampling::Linear, align_corners},
                  {scales_h, scales_w});
}

Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales_d,
                            Scale scales_h, Scale scales_w) {
  return upsample("upsample_trilinear3d", 3, x, output_size, {Resampling::Linear, align_corners},
                  {scales_d, scales_h, scales_w});
}

Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales_h,
                          Scale scales_w) {
  return upsample("upsample_bicubic2d", 2, x, output_size, {Resampling::Cubic, align_corners},
                  {scales_h, scales_w});
}

Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales_h,
                               Scale scales_w) {
  return upsample("_upsample_bilinear2d_aa", 2, x, output_size, {Resampling::Linear, align_corners, true},
                  {scales_h, scales_w});
}

Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners, Scale scales_h,
                              Scale scales_w) {
  return upsample("_upsample_bicubic2d_aa", 2, x, output_size, {Resampling::Cubic, align_corners, true},
                  {scales_h, scales_w});
}

}  // namespace tarn::inline v1
