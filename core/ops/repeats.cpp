// Repeating, turning and shuffling: made of views, flip and index_select.
#include <tarn/core/cpu/copy.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/from.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/rearrange.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// Number i counts[i] times.
Tensor repeated_places(const Tensor& counts) {
  check(counts.dtype() == kLong || counts.dtype() == kInt,
        "repeat_interleave: repeats must be Int or Long, got ", counts.dtype());
  check(counts.dim() <= 1, "repeat_interleave: repeats must have at most 1 dim, got sizes ", counts.sizes());
  Tensor on_cpu = make_tensor({counts.numel()}, kLong);
  copy_elements(on_cpu, reshape(detach(counts).cpu(), {-1}));
  const int64_t* n = static_cast<const int64_t*>(on_cpu.data_ptr());
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check(n[i] >= 0, "repeat_interleave: repeats must not be negative, got ", n[i]);
    check(!__builtin_add_overflow(total, n[i], &total), "repeat_interleave: the sum of repeats overflows");
  }
  Tensor out = make_tensor({total}, kLong);
  int64_t* to = static_cast<int64_t*>(out.data_ptr());
  for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, n[i], i);
  return out;
}

// Sizes of x with dim d replaced.
Dims with_dims(const Tensor& x, int64_t d, int64_t n, std::initializer_list<int64_t> by) {
  Dims sizes;
  for (int64_t i = 0; i < d; ++i) sizes.push_back(x.sizes()[i]);
  for (int64_t s : by) sizes.push_back(s);
  for (int64_t i = d + n; i < x.dim(); ++i) sizes.push_back(x.sizes()[i]);
  return sizes;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  check(repeats >= 0, "repeat_interleave: repeats must not be negative, got ", repeats);
  Tensor in = dim && x.dim() > 0 ? x : reshape(x, {-1});
  int d = wrap_dim(dim.value_or(0), x.dim() == 0 || !dim ? 1 : x.dim(), "repeat_interleave");
  int64_t size = in.sizes()[d], total = 0;
  check(!__builtin_mul_overflow(size, repeats, &total), "repeat_interleave: ", repeats, " times a size of ",
        size, " overflows");
  Tensor wide = expand(unsqueeze(in, d + 1), with_dims(in, d, 1, {size, repeats}));
  return reshape(clone(wide, MemoryFormat::Contiguous), with_dims(in, d, 1, {total}));
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim) {
  Tensor in = dim && x.dim() > 0 ? x : reshape(x, {-1});
  int d = wrap_dim(dim.value_or(0), in.dim(), "repeat_interleave");
  Tensor counts = repeats;
  if (counts.numel() == 1 && counts.dim() <= 1) counts = expand(reshape(counts, {1}), {in.sizes()[d]});
  check(counts.dim() != 1 || counts.numel() == in.sizes()[d], "repeat_interleave: ", counts.numel(),
        " repeats do not fit dim ", d, " of a tensor of sizes ", in.sizes());
  Tensor places = repeated_places(counts);
  return index_select(in, d, places.to(x.device()));
}

Tensor repeat_interleave(const Tensor& repeats) {
  Tensor places = repeated_places(repeats);
  return places.to(repeats.device(), repeats.dtype());
}

Tensor tile(const Tensor& x, IntArrayRef repeats) {
  Dims all(std::max(0, int(x.dim()) - int(repeats.size())), 1);
  for (int64_t r : repeats) all.push_back(r);
  return repeat(x, all);
}

Tensor rot90(const Tensor& x, int64_t k, IntArrayRef dims) {
  check(dims.size() == 2, "rot90: two dims are needed, got ", dims);
  check(x.dim() >= 2, "rot90: the tensor must have at least 2 dims, got sizes ", x.sizes());
  int64_t a = wrap_dim(dims[0], x.dim(), "rot90"), b = wrap_dim(dims[1], x.dim(), "rot90");
  check(a != b, "rot90: dims must differ, got ", dims);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, {b}), a, b);
    case 2:
      return flip(x, {a, b});
    case 3:
      return transpose(flip(x, {a}), a, b);
    default:
      return clone(x);
  }
}

Tensor fliplr(const Tensor& x) {
  check(x.dim() >= 2, "fliplr: the tensor must have at least 2 dims, got sizes ", x.sizes());
  return flip(x, {1});
}

Tensor flipud(const Tensor& x) {
  check(x.dim() >= 1, "flipud: the tensor must have at least 1 dim");
  return flip(x, {0});
}

Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor) {
  int64_t r = upscale_factor, d = x.dim() - 3, squared = 0;
  check(d >= 0, "pixel_shuffle: the tensor must be (..., C, H, W), got sizes ", x.sizes());
  check(r > 0, "pixel_shuffle: upscale_factor must be positive, got ", r);
  check(!__builtin_mul_overflow(r, r, &squared) && x.sizes()[d] % squared == 0,
        "pixel_shuffle: ", x.sizes()[d], " channels cannot be divided by the square of upscale_factor ", r);
  int64_t c = x.sizes()[d] / squared, h = x.sizes()[d + 1], w = x.sizes()[d + 2];
  Tensor parts = reshape(x, with_dims(x, d, 3, {c, r, r, h, w}));
  Dims order;
  for (int64_t i = 0; i < d; ++i) order.push_back(i);
  for (int64_t i : {0, 3, 1, 4, 2}) order.push_back(d + i);
  return reshape(permute(parts, order), with_dims(x, d, 3, {c, h * r, w * r}));
}

Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor) {
  int64_t r = downscale_factor, d = x.dim() - 3;
  check(d >= 0, "pixel_unshuffle: the tensor must be (..., C, H, W), got sizes ", x.sizes());
  check(r > 0, "pixel_unshuffle: downscale_factor must be positive, got ", r);
  int64_t c = x.sizes()[d], h = x.sizes()[d + 1], w = x.sizes()[d + 2];
  check(h % r == 0 && w % r == 0, "pixel_unshuffle: height ", h, " and width ", w,
        " cannot be divided by downscale_factor ", r);
  int64_t channels = 0;
  bool overflow = __builtin_mul_overflow(c, r, &channels) || __builtin_mul_overflow(channels, r, &channels);
  check(!overflow, "pixel_unshuffle: downscale_factor is too large: ", r);
  Tensor parts = reshape(x, with_dims(x, d, 3, {c, h / r, r, w / r, r}));
  Dims order;
  for (int64_t i = 0; i < d; ++i) order.push_back(i);
  for (int64_t i : {0, 2, 4, 1, 3}) order.push_back(d + i);
  return reshape(permute(parts, order), with_dims(x, d, 3, {channels, h / r, w / r}));
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  check(x.dim() >= 3, "channel_shuffle: the tensor must be (N, C, ...) with at least 3 dims, got sizes ",
        x.sizes());
  check(groups > 0, "channel_shuffle: groups must be positive, got ", groups);
  int64_t c = x.sizes()[1];
  check(c % groups == 0, "channel_shuffle: ", c, " channels cannot be divided into ", groups, " groups");
  Tensor parts = reshape(x, with_dims(x, 1, 1, {groups, c / groups}));
  return reshape(transpose(parts, 1, 2), x.sizes());
}

Tensor Tensor::tile(IntArrayRef repeats) const { return tarn::tile(*this, repeats); }
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim) const {
  return tarn::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim) const {
  return tarn::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const { return tarn::rot90(*this, k, dims); }
Tensor Tensor::fliplr() const { return tarn::fliplr(*this); }
Tensor Tensor::flipud() const { return tarn::flipud(*this); }

}  // namespace tarn::inline v1
