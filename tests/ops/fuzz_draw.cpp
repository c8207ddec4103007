#include <tarn/tests/ops/fuzz_draw.h>

#include <limits>

#include <tarn/core/ops/views.h>

namespace tarn::testing {

namespace {

constexpr int64_t kIntegerCorners[] = {0,
                                       -1,
                                       1,
                                       std::numeric_limits<int32_t>::max(),
                                       std::numeric_limits<int32_t>::min(),
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min(),
                                       (int64_t(1) << 31) + 1,
                                       (int64_t(1) << 31),
                                       (int64_t(1) << 32),
                                       int64_t(1) << 62,
                                       -(int64_t(1) << 62)};
constexpr double kRealCorners[] = {0.0,    -0.0,     1.0,       -1.0, 1e308,        -1e308,
                                   5e-324, INFINITY, -INFINITY, NAN,  2147483648.0, 1e19};

}  // namespace

// splitmix64 (Steele, Lea and Flood, 2014).
uint64_t Draw::below(uint64_t n) {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % n;
}

// Often not below the one before: many ops take a low and a high end.
int64_t Draw::integer() {
  if (chance(20)) return kIntegerCorners[below(std::size(kIntegerCorners))];
  last_ = chance(50) ? last_ % 1000 + 1 + int64_t(below(3)) : int64_t(below(7)) - chance(30);
  return last_;
}

double Draw::real() {
  return chance(25) ? kRealCorners[below(std::size(kRealCorners))] : double(below(9)) / 8 - chance(15);
}

ScalarType Draw::dtype() {
  return chance(70) ? (chance(70) ? kFloat : kDouble) : kEveryDtype[below(kEveryDtype.size())];
}

Layout Draw::layout() {
  constexpr Layout all[] = {Layout::Contiguous, Layout::Transposed, Layout::Strided,
                            Layout::Offset,     Layout::Expanded,   Layout::ChannelsLast};
  return chance(50) ? Layout::Contiguous : all[below(std::size(all))];
}

std::vector<int64_t> Draw::sizes() {
  constexpr int64_t extents[] = {1, 2, 3, 4, 5, 7, 0};
  std::vector<int64_t> sizes(chance(90) ? below(5) : below(9));
  int64_t count = 1;
  for (int64_t& n : sizes) {
    n = chance(5) ? 0 : extents[below(6)];
    if (count * n > 4096) n = 1;
    count *= std::max<int64_t>(n, 1);
  }
  return sizes;
}

std::vector<int64_t> Draw::integers() {
  // Lists that belong together, as sizes and strides do, are of one length.
  size_t length = !integers_.empty() && chance(80) ? integers_.front().size()
                  : chance(90)                     ? below(5)
                                                   : below(20);
  bool plain = chance(60);
  std::vector<int64_t> list(length);
  for (int64_t& n : list) n = plain ? int64_t(below(6)) : integer();
  return list;
}

void Draw::spoil(const Tensor& t) {
  Tensor base = t;
  if (!t.defined() || t.numel() == 0 || t.numel() > 65536) return;
  NoGradGuard guard;
  Tensor dense = t.is_contiguous() ? t : t.contiguous();
  detail::visit(t.dtype(), "spoil", [&]<class T>(detail::Type<T>) {
    T* values = static_cast<T*>(dense.data_ptr());
    for (int64_t i = 0; i < dense.numel(); ++i) {
      if (!chance(25)) continue;
      if constexpr (std::is_same_v<T, bool>)
        values[i] = chance(50);
      else if constexpr (std::is_integral_v<T>)
        values[i] = T(kIntegerCorners[below(std::size(kIntegerCorners))]);
      else
        values[i] = T(float(kRealCorners[below(std::size(kRealCorners))]));
    }
  });
  bool repeats = false;
  for (int64_t d = 0; d < t.dim(); ++d) repeats |= t.size(d) > 1 && t.stride(d) == 0;
  if (!t.is_contiguous() && !repeats) t.copy_(dense);
}

Tensor Draw::new_tensor() {
  if (chance(3)) return {};
  Input input(sizes(), chance(50) ? kInsideZeroOne : kAny);
  Tensor t = make(input, int(below(3)), dtype(), layout());
  if (chance(40)) spoil(t);
  if (t.numel() > 4 && t.is_contiguous() && chance(5))
    t = as_strided(t, {2, 3}, {1, 1});  // elements share memory
  return t;
}

Tensor Draw::tensor() {
  if (!tensors_.empty() && chance(60)) {
    const Tensor& earlier = tensors_[below(tensors_.size())];
    if (chance(30) || !earlier.defined()) return earlier;
    Tensor twin =
        make(Input(earlier.sizes().vec(), kAny), int(below(3)), chance(85) ? earlier.dtype() : dtype());
    return tensors_.emplace_back(twin);
  }
  return tensors_.emplace_back(new_tensor());
}

void Draw::note_tensor(const Tensor& t) {
  if (!t.defined()) return note("undefined");
  note(t.dtype(), t.sizes());
}

}  // namespace tarn::testing
