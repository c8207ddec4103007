#include <tarn/data/mnist.h>

#include <filesystem>

#include <tarn/data/idx.h>

namespace tarn::inline v1::data::datasets {

namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;

std::string find_file(const std::string& root, const std::string& name) {
  std::string plain = root + "/" + name;
  std::string gzipped = plain + ".gz";
  if (std::filesystem::exists(plain)) return plain;
  check(std::filesystem::exists(gzipped), "MNIST: neither ", plain, " nor ", gzipped, " is there");
  return gzipped;
}

Tensor read_images(const std::string& path) {
  Tensor images = read_idx(path, kByte, 3);
  check(images.size(1) == kSide && images.size(2) == kSide, "MNIST: ", path,
        ": images must be 28x28, got sizes ", images.sizes());
  return images;
}

Tensor read_labels(const std::string& path, int64_t images) {
  Tensor bytes = read_idx(path, kByte, 1);
  check(bytes.size(0) == images, "MNIST: ", path, " has ", bytes.size(0), " labels for ", images, " images");
  Tensor labels = tarn::detail::make_tensor({images}, kLong);
  const uint8_t* from = bytes.data_ptr<uint8_t>();
  int64_t* to = labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < images; ++i) {
    check(from[i] < kClasses, "MNIST: ", path, ": label ", i, " is ", int(from[i]), ", must be 0 to 9");
    to[i] = from[i];
  }
  return labels;
}

// Pixels 0 ... 255 as k / 255, correctly rounded.
void to_floats(const uint8_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = float(from[i]) / 255.0f;
}

}  // namespace

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  std::string prefix = mode == Mode::kTrain ? "train" : "t10k";
  bytes_ = read_images(find_file(root, prefix + "-images-idx3-ubyte"));
  targets_ = read_labels(find_file(root, prefix + "-labels-idx1-ubyte"), bytes_.size(0));
}

Example<> MNIST::get(size_t index) {
  size_t count = size_t(targets_.size(0));
  check(index < count, "MNIST: index ", index, " is outside of ", count, " examples");
  Tensor image = tarn::detail::make_tensor({1, kSide, kSide}, kFloat);
  to_floats(bytes_.data_ptr<uint8_t>() + index * kSide * kSide, image.data_ptr<float>(), kSide * kSide);
  Tensor label = tarn::detail::make_tensor({}, kLong);
  *label.data_ptr<int64_t>() = targets_.data_ptr<int64_t>()[index];
  return {std::move(image), std::move(label)};
}

std::optional<size_t> MNIST::size() const { return size_t(targets_.size(0)); }

Tensor MNIST::images() const {
  Tensor images = tarn::detail::make_tensor({bytes_.size(0), 1, kSide, kSide}, kFloat);
  to_floats(bytes_.data_ptr<uint8_t>(), images.data_ptr<float>(), images.numel());
  return images;
}

namespace {

MNIST open_fashion_mnist(const std::string& root, MNIST::Mode mode) {
  check(std::filesystem::is_directory(root), "FashionMNIST: there is no folder ", root,
        "; on Debian the package dataset-fashion-mnist brings it: apt-get install dataset-fashion-mnist");
  return MNIST(root, mode);
}

}  // namespace

FashionMNIST::FashionMNIST(const std::string& root, Mode mode) : files_(open_fashion_mnist(root, mode)) {}

const char* FashionMNIST::class_name(int64_t label) {
  static const char* const names[kClasses] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                              "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  check(label >= 0 && label < kClasses, "FashionMNIST: label ", label, " is outside of 0 to 9");
  return names[label];
}

}  // namespace tarn::inline v1::data::datasets
