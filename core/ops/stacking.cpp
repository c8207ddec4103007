// Joining tensors by rows, columns and blocks, and the grids of their elements: made of cat, pad and views.
#include <algorithm>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/from.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/rearrange.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

template <class F>
std::vector<Tensor> each(const char* op, TensorList tensors, F f) {
  check(!tensors.empty(), op, ": at least one tensor is needed");
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

// 0-dim tensors count as one element.
std::vector<Tensor> axes_of(const char* op, TensorList tensors) {
  return each(op, tensors, [&](const Tensor& t) {
    check(t.dim() <= 1, op, ": tensors must have at most 1 dim, got sizes ", t.sizes());
    check(t.dtype() == tensors[0].dtype(), op, ": tensors must have one dtype, got ", tensors[0].dtype(),
          " and ", t.dtype());
    return reshape(t, {-1});
  });
}

constexpr int64_t kManyChoices = int64_t(1) << 40;

// How many ways there are to choose r of n.
int64_t choices(int64_t n, int64_t r) {
  check(r < kManyChoices, "combinations: r is too large: ", r);
  if (n < r) return 0;
  int64_t count = 1;
  for (int64_t k = 1; k <= std::min(r, n - r); ++k) {
    // The product is divisible by k.
    __int128 next = __int128(count) * (n - std::min(r, n - r) + k) / k;
    check(next < kManyChoices, "combinations: choosing ", r, " of ", n, " gives too many rows");
    count = int64_t(next);
  }
  return count;
}

// Moves on to the next choice of places in order, if there is one. `gap` is 1 where no place may come twice.
void next_choice(std::vector<int64_t>& places, int64_t n, int64_t gap) {
  int64_t r = int64_t(places.size());
  for (int64_t k = r - 1; k >= 0; --k) {
    if (places[size_t(k)] >= n - 1 - gap * (r - 1 - k)) continue;
    int64_t place = ++places[size_t(k)];
    for (int64_t j = k + 1; j < r; ++j) places[size_t(j)] = place += gap;
    return;
  }
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor hstack(TensorList tensors) {
  std::vector<Tensor> parts = each("hstack", tensors, [](const Tensor& t) { return atleast_1d(t); });
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(TensorList tensors) {
  return cat(each("vstack", tensors, [](const Tensor& t) { return atleast_2d(t); }), 0);
}

Tensor row_stack(TensorList tensors) { return vstack(tensors); }

Tensor dstack(TensorList tensors) {
  return cat(each("dstack", tensors, [](const Tensor& t) { return atleast_3d(t); }), 2);
}

Tensor column_stack(TensorList tensors) {
  return cat(each("column_stack", tensors,
                  [](const Tensor& t) {
                    return t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t;
                  }),
             1);
}

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  check(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be \"ij\" or \"xy\", got \"", indexing,
        "\"");
  std::vector<Tensor> axes = axes_of("meshgrid", tensors);
  int rank = int(axes.size());
  check(rank <= kMaxRank, "meshgrid: ", rank, " tensors make more than ", kMaxRank, " dims");
  bool swap = indexing == "xy" && rank >= 2;
  Dims sizes;
  for (const Tensor& axis : axes) sizes.push_back(axis.numel());
  numel_of(sizes, "meshgrid");
  for (int d = 0; d < rank; ++d) {
    Dims own(rank, 1);
    own[d] = axes[size_t(d)].numel();
    Tensor& axis = axes[size_t(d)];
    axis = expand(view(axis, own), sizes);
    if (swap) axis = transpose(axis, 0, 1);
  }
  return axes;
}

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors)
    check(t.dim() == 1, "cartesian_prod: tensors must have 1 dim, got sizes ", t.sizes());
  check(!tensors.empty(), "cartesian_prod: at least one tensor is needed");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(flatten(grid));
  return stack(columns, 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  check(x.dim() == 1, "combinations: the tensor must have 1 dim, got sizes ", x.sizes());
  check(r >= 0, "combinations: r must not be negative, got ", r);
  if (r == 0) return empty({0}, x.options());
  int64_t n = x.numel(), gap = with_replacement ? 0 : 1;
  int64_t count = choices(with_replacement ? n + std::min(r, kManyChoices) - 1 : n, r);
  Tensor index = make_tensor({count, r}, kLong);
  std::vector<int64_t> places(count ? static_cast<size_t>(r) : 0, 0);
  for (size_t k = 0; k < places.size(); ++k) places[k] = gap * int64_t(k);
  int64_t* to = static_cast<int64_t*>(index.data_ptr());
  for (int64_t i = 0; i < count; ++i) {
    to = std::copy(places.begin(), places.end(), to);
    next_choice(places, n, gap);
  }
  return reshape(index_select(x, 0, reshape(index, {-1}).to(x.device())), {count, r});
}

Tensor block_diag(TensorList tensors) {
  int64_t columns = 0, left = 0;
  for (const Tensor& t : tensors) {
    check(t.dim() <= 2, "block_diag: tensors must have at most 2 dims, got sizes ", t.sizes());
    columns += atleast_2d(t).size(1);
  }
  if (tensors.empty()) return empty({1, 0});
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    Tensor block = atleast_2d(t);
    int64_t width = block.size(1);
    rows.push_back(constant_pad_nd(block, {left, columns - left - width}));
    left += width;
  }
  return cat(rows, 0);
}

}  // namespace tarn::inline v1
