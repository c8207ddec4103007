// grid_sample made of other ops: the grid's coordinates give, per dim, a few places and their weights; each
// combination of places is one gather.
#include <tarn/core/ops/grid_sample.h>

#include <vector>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/ops/widen.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

enum Mode : int64_t { kLinear, kNearest, kBicubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

// One place along a dim for each point (N, P): where it is (Long, inside), whether it was inside before, and
// its weight.
struct Place {
  Tensor index, inside, weight;
};

struct Sampler {
  Mode mode;
  Padding padding;
  bool align_corners;

  // -1 .. 1 to places 0 .. size - 1.
  Tensor to_places(const Tensor& x, int64_t size) const {
    if (align_corners) return (x + 1) * (double(size - 1) / 2);
    return ((x + 1) * double(size) - 1) / 2;
  }

  // Mirrors at the borders, as often as needed.
  Tensor reflected(const Tensor& x, int64_t size) const {
    double low = align_corners ? 0 : -0.5, span = align_corners ? double(size - 1) : double(size);
    if (span == 0) return x * 0;
    Tensor at = abs(x - low), extra = fmod(at, span);
    Tensor even = remainder(floor(at / span), 2) == 0;
    return where(even, extra + low, span - extra + low);
  }

  Tensor padded(const Tensor& x, int64_t size) const {
    if (padding == kZeros) return x;
    Tensor at = padding == kReflection ? reflected(x, size) : x;
    return clamp(at, Scalar(0), Scalar(double(size - 1)));
  }

  // NaN is nowhere inside.
  Place place(const Tensor& at, int64_t size, const Tensor& weight) const {
    Tensor inside = (at >= 0) & (at <= double(size - 1));
    return {where(inside, at, 0).to(kLong), inside, weight};
  }

  std::vector<Place> places(const Tensor& coordinates, int64_t size) const {
    Tensor x = to_places(coordinates, size);
    if (mode == kBicubic) return cubic_places(x, size);
    x = padded(x, size);
    if (mode == kNearest) return {place(round(x.detach()), size, {})};
    Tensor low = floor(x.detach()), part = x - low;
    return {place(low, size, 1 - part), place(low + 1, size, part)};
  }

  // Keys' kernel with a = -0.75; the four places are padded one by one.
  std::vector<Place> cubic_places(const Tensor& x, int64_t size) const {
    constexpr double a = -0.75;
    auto near = [](const Tensor& t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
    auto far = [](const Tensor& t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
    Tensor low = floor(x.detach()), part = x - low;
    Tensor weights[4] = {far(part + 1), near(part), near(1 - part), far(2 - part)};
    std::vector<Place> places;
    for (int k = 0; k < 4; ++k) places.push_back(place(padded(low + (k - 1), size), size, weights[k]));
    return places;
  }
};

// Sums, over all combinations of one place per dim from `dim` on, the elements there times the weights.
// flat (N, C, all places); index, inside, weight (N, P) of the dims before, undefined at first.
void add_samples(const Tensor& flat, IntArrayRef sizes, const std::vector<std::vector<Place>>& places,
                 size_t dim, const Place& before, Tensor& sum) {
  if (dim == places.size()) {
    Dims wanted = {flat.size(0), flat.size(1), before.index.size(1)};
    Tensor values = gather(flat, 2, before.index.unsqueeze(1).expand(wanted));
    if (before.weight.defined()) values = values * before.weight.unsqueeze(1);
    values = where(before.inside.unsqueeze(1), values, 0);
    sum = sum.defined() ? sum + values : values;
    return;
  }
  for (const Place& p : places[dim]) {
    Place next = p;
    if (dim > 0) {
      next.index = before.index * sizes[dim] + p.index;
      next.inside = before.inside & p.inside;
      if (p.weight.defined()) next.weight = before.weight * p.weight;
    }
    add_samples(flat, sizes, places, dim + 1, next, sum);
  }
}

Tensor sample(const char* op, int nd, const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
              bool align_corners) {
  const char* dims = nd == 2 ? "H, W" : "D, H, W";
  check(input.dim() == nd + 2 && grid.dim() == nd + 2, op, ": input must be (N, C, ", dims, ") and grid (N, ",
        dims, ", ", nd, "), got ", input.sizes(), " and ", grid.sizes());
  check(grid.size(-1) == nd && grid.size(0) == input.size(0), op, ": grid must be (", input.size(0), ", ",
        dims, ", ", nd, "), got ", grid.sizes());
  check(is_floating(input.dtype()) && input.dtype() == grid.dtype(), op,
        ": input and grid must have one floating dtype, got ", input.dtype(), " and ", grid.dtype());
  check(mode >= kLinear && mode <= kBicubic && (mode != kBicubic || nd == 2), op,
        ": interpolation_mode must be 0 (linear), 1 (nearest) or 2 (bicubic, of images only), got ", mode);
  check(padding >= kZeros && padding <= kReflection, op,
        ": padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), got ", padding);
  for (int d = 0; d < nd; ++d)
    check(input.size(2 + d) > 0, op, ": input ", input.sizes(), " has an empty spatial dim");

  Sampler sampler{Mode(mode), Padding(padding), align_corners};
  Tensor x = widened(input), points = widened(grid);
  int64_t count = 1;
  Dims made = {input.size(0), input.size(1)};
  for (int d = 0; d < nd; ++d) {
    made.push_back(grid.size(1 + d));
    count *= grid.size(1 + d);
  }
  points = points.reshape({grid.size(0), count, nd});
  std::vector<std::vector<Place>> places;
  for (int d = 0; d < nd; ++d) places.push_back(sampler.places(points.select(2, nd - 1 - d), x.size(2 + d)));
  Tensor sum;
  add_samples(flatten(x, 2), x.sizes().slice(2), places, 0, {}, sum);
  return cast(sum.view(made), input.dtype());
}

int64_t named(const char* what, std::string_view name, std::initializer_list<std::string_view> names) {
  int64_t i = 0;
  for (std::string_view n : names) {
    if (n == name) return i;
    ++i;
  }
  fail("grid_sample: unknown ", what, " '", name, "'");
}

// n places from -1 to 1, at the outer edges' or, within them, the pixels' centers.
Tensor base_places(int64_t n, bool align_corners, const TensorOptions& options) {
  if (n == 1) return zeros({1}, options);
  Tensor x = linspace(-1, 1, n, options);
  return align_corners ? x : x * (double(n - 1) / double(n));
}

}  // namespace

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  const char* op = "affine_grid_generator";
  check(size.size() == 4 || size.size() == 5, op, ": size must be (N, C, H, W) or (N, C, D, H, W), got ",
        size);
  int64_t nd = int64_t(size.size()) - 2;
  check(is_floating(theta.dtype()), op, ": not implemented for dtype ", theta.dtype());
  check(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == nd && theta.size(2) == nd + 1, op,
        ": theta must be [", size[0], ", ", nd, ", ", nd + 1, "] for size ", size, ", got ", theta.sizes());
  IntArrayRef spatial = size.slice(2);
  for (int64_t n : spatial) check(n > 0, op, ": size must be positive, got ", size);
  Dims points(spatial);
  std::vector<Tensor> columns;
  for (int64_t d = nd - 1; d >= 0; --d) {
    Dims shape(int(nd), 1);
    shape[int(d)] = spatial[size_t(d)];
    columns.push_back(
        base_places(spatial[size_t(d)], align_corners, theta.options()).view(shape).expand(points));
  }
  columns.push_back(ones(points, theta.options()));
  Tensor base = stack(columns, -1).reshape({1, -1, nd + 1}).expand({size[0], numel_of(points, op), nd + 1});
  Dims made = {size[0]};
  for (int64_t n : spatial) made.push_back(n);
  made.push_back(nd);
  return matmul(base, theta.mT()).view(made);
}

Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners) {
  return sample("grid_sampler_2d", 2, input, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners) {
  return sample("grid_sampler_3d", 3, input, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  return sample("grid_sampler", input.dim() == 5 ? 3 : 2, input, grid, interpolation_mode, padding_mode,
                align_corners);
}

namespace detail {

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  return affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode,
                   std::string_view padding_mode, bool align_corners) {
  return grid_sampler(input, grid, named("mode", mode, {"bilinear", "nearest", "bicubic"}),
                      named("padding_mode", padding_mode, {"zeros", "border", "reflection"}), align_corners);
}

}  // namespace detail

}  // namespace tarn::inline v1
