#include <tarn/data/transforms.h>

#include <algorithm>
#include <cstring>

#include <tarn/data/collate.h>

namespace tarn::inline v1::data {

namespace detail {

Tensor stack_rows(TensorList rows) {
  check(!rows.empty(), "Stack: needs at least one example");
  const Tensor& first = rows[0];
  Dims sizes = first.sizes();
  sizes.insert(0, int64_t(rows.size()));
  Tensor out = tarn::detail::make_tensor(sizes, first.dtype(), first.device());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Tensor& row = rows[i];
    check(row.sizes() == first.sizes() && row.dtype() == first.dtype(), "Stack: example ", i, " is ",
          row.dtype(), " ", row.sizes(), ", the first one ", first.dtype(), " ", first.sizes());
    if (row.is_cpu() && out.is_cpu() && row.is_contiguous())
      std::memcpy(static_cast<char*>(out.data_ptr()) + i * row.nbytes(), row.data_ptr(), row.nbytes());
    else
      out.select(0, int64_t(i)).copy_(row.detach());
  }
  return out;
}

namespace {

// How a tensor (..., H, W) is walked: planes of H rows.
struct Planes {
  int64_t count, height, width;
};

Planes planes_of(const Tensor& image, const char* op) {
  check(image.dim() >= 2, op, ": image must be (..., H, W), got ", image.sizes());
  check(image.is_cpu(), op, ": image must be on the cpu, got ", image.device());
  int64_t height = image.size(-2), width = image.size(-1);
  return {height * width > 0 ? image.numel() / (height * width) : 0, height, width};
}

// The overlap of [start, start + length) with [0, size).
struct Span {
  int64_t begin, end;
};
Span overlap(int64_t start, int64_t length, int64_t size) {
  return {std::clamp<int64_t>(start, 0, size), std::clamp<int64_t>(start + length, 0, size)};
}

template <class T>
void crop(const T* from, T* to, Planes in, Planes out, int64_t top, int64_t left) {
  std::fill_n(to, out.count * out.height * out.width, T(0));
  Span rows = overlap(top, out.height, in.height), columns = overlap(left, out.width, in.width);
  if (columns.begin == columns.end) return;
  for (int64_t p = 0; p < out.count; ++p) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const T* source = from + (p * in.height + row) * in.width;
      std::copy(source + columns.begin, source + columns.end,
                to + (p * out.height + row - top) * out.width + columns.begin - left);
    }
  }
}

}  // namespace

Tensor random_crop(const Tensor& image, int64_t height, int64_t width, int64_t padding) {
  Planes in = planes_of(image, "RandomCrop");
  check(padding >= 0, "RandomCrop: padding must not be negative, got ", padding);
  int64_t tops = in.height + 2 * padding - height, lefts = in.width + 2 * padding - width;
  check(height > 0 && width > 0 && tops >= 0 && lefts >= 0, "RandomCrop: a window of ", height, "x", width,
        " does not fit an image of sizes ", image.sizes(), " with padding ", padding);
  SampleRandom random;
  int64_t top = random.below(tops + 1) - padding, left = random.below(lefts + 1) - padding;
  Tensor source = image.contiguous();
  Dims sizes = image.sizes();
  sizes[sizes.size() - 2] = height;
  sizes[sizes.size() - 1] = width;
  Tensor out = tarn::detail::make_tensor(sizes, image.dtype());
  tarn::detail::visit_bytes(image.dtype(), [&]<class T>(tarn::detail::Type<T>) {
    crop(static_cast<const T*>(source.data_ptr()), static_cast<T*>(out.data_ptr()), in,
         {in.count, height, width}, top, left);
  });
  return out;
}

Tensor random_horizontal_flip(const Tensor& image, double p) {
  Planes in = planes_of(image, "RandomHorizontalFlip");
  SampleRandom random;
  if (random.uniform() >= p) return image;
  Tensor source = image.contiguous();
  Tensor out = tarn::detail::make_tensor(image.sizes(), image.dtype());
  tarn::detail::visit_bytes(image.dtype(), [&]<class T>(tarn::detail::Type<T>) {
    const T* from = static_cast<const T*>(source.data_ptr());
    T* to = static_cast<T*>(out.data_ptr());
    for (int64_t row = 0; row < in.count * in.height; ++row)
      std::reverse_copy(from + row * in.width, from + (row + 1) * in.width, to + row * in.width);
  });
  return out;
}

namespace {

// One number for every channel, or one for each.
double channel_value(ArrayRef<double> values, int64_t channel) {
  return values[values.size() == 1 ? 0 : size_t(channel)];
}

}  // namespace

Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> std) {
  check(image.is_cpu() && is_floating(image.dtype()), "Normalize: needs floating data on the cpu, got ",
        image.dtype(), " on ", image.device());
  bool single = mean.size() == 1 && std.size() == 1;
  int64_t channels = single ? 1 : image.dim() > 0 ? image.size(0) : 0;
  for (size_t given : {mean.size(), std.size()})
    check(given == 1 || int64_t(given) == channels, "Normalize: ", given, " values for data of sizes ",
          image.sizes());
  for (double value : std) check(value != 0, "Normalize: a std of 0 was given");
  Tensor source = image.contiguous();
  Tensor out = tarn::detail::make_tensor(image.sizes(), image.dtype());
  int64_t count = channels ? image.numel() / channels : 0;
  tarn::detail::visit_float(image.dtype(), "Normalize", [&]<class T>(tarn::detail::Type<T>) {
    const T* from = source.data_ptr<T>();
    T* to = out.data_ptr<T>();
    for (int64_t c = 0; c < channels; ++c) {
      T m = T(channel_value(mean, c)), s = T(channel_value(std, c));
      for (int64_t i = c * count; i < (c + 1) * count; ++i) to[i] = (from[i] - m) / s;
    }
  });
  return out;
}

}  // namespace detail

namespace transforms {

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  data.reserve(examples.size());
  targets.reserve(examples.size());
  for (Example<>& e : examples) {
    data.push_back(std::move(e.data));
    targets.push_back(std::move(e.target));
  }
  return {detail::stack_rows(data), detail::stack_rows(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  data.reserve(examples.size());
  for (TensorExample& e : examples) data.push_back(std::move(e.data));
  return detail::stack_rows(data);
}

}  // namespace transforms
}  // namespace tarn::inline v1::data
