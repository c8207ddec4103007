#include <tarn/data/idx.h>

#include <random>

#include <tarn/data/mnist.h>

#include <tarn/tests/data/files.h>

namespace tarn {
namespace {

using data::read_idx;
using data::datasets::FashionMNIST;
using data::datasets::MNIST;
using namespace testing;

// Writes the bytes to a file "x" and reads it as bytes of rank 3; the Error's text without the folder.
struct Reading {
  TempDir folder;
  std::string path = folder / "x";

  Tensor operator()(const std::string& bytes, ScalarType dtype = kByte, int64_t rank = 3) {
    write_file(path, bytes);
    return read_idx(path, dtype, rank);
  }
  std::string error(const std::string& bytes, ScalarType dtype = kByte, int64_t rank = 3) {
    std::string text = error_of([&] { (*this)(bytes, dtype, rank); });
    size_t at = text.find(folder.path());
    return at == std::string::npos ? text : text.erase(at, folder.path().size() + 1);
  }
};

TEST_CASE("an IDX file is read, gzipped or not") {
  Reading read;
  std::string bytes = idx(8, {2, 3, 4});
  Tensor plain = read(bytes);
  CHECK(plain.sizes() == IntArrayRef({2, 3, 4}));
  CHECK(values_of(plain)[5] == 35);
  CHECK_SAME(read(gzipped(bytes)), plain);
}

TEST_CASE("elements of every type are read in the machine's byte order") {
  Reading read;
  auto file = [](uint8_t code, const std::string& elements) {
    return big_endian(code << 8 | 1) + big_endian(2) + elements;
  };
  CHECK(values_of(read(file(9, "\xff\x02"), kChar, 1)) == std::vector<double>{-1, 2});
  CHECK(values_of(read(file(11, std::string("\xff\xfe\1\0", 4)), kShort, 1)) == std::vector<double>{-2, 256});
  CHECK(values_of(read(file(12, big_endian(7) + big_endian(1u << 31)), kInt, 1)) ==
        std::vector<double>{7, -2147483648.0});
  CHECK(values_of(read(file(13, big_endian(0x3fc00000) + big_endian(0xc0000000)), kFloat, 1)) ==
        std::vector<double>{1.5, -2});
  CHECK(values_of(read(file(14, big_endian(0x3ff8000000000000, 8) + big_endian(0, 8)), kDouble, 1)) ==
        std::vector<double>{1.5, 0});
}

TEST_CASE("empty and scalar IDX files are read") {
  Reading read;
  CHECK(read(gzipped(idx(8, {0, 28, 28}))).sizes() == IntArrayRef({0, 28, 28}));
  CHECK(read(idx(8, {}), kByte, 0).dim() == 0);
}

TEST_CASE("a wrong magic names file, place and rule") {
  Reading read;
  CHECK(read.error(idx(8, {5}), kByte, 3) ==
        "idx: x: byte 4: magic is 0x00000801, expected 0x00000803 for Byte of rank 3");
  CHECK(read.error(gzipped(idx(13, {1, 1, 1}, 4))) ==
        "idx: x: byte 4 after inflating: magic is 0x00000d03, expected 0x00000803 for Byte of rank 3");
  CHECK(read.error("hello, this is no image") ==
        "idx: x: byte 4: magic is 0x68656c6c, expected 0x00000803 for Byte of rank 3");
}

TEST_CASE("a file that is too short or too long is refused") {
  Reading read;
  std::string bytes = idx(8, {2, 3, 4});
  CHECK(read.error("") == "idx: x: byte 0: the file ends, 4 bytes are missing");
  CHECK(read.error(bytes.substr(0, 7)) == "idx: x: byte 7: the file ends, 1 bytes are missing");
  CHECK(read.error(bytes.substr(0, 30)) == "idx: x: byte 16: the header asks for 40 bytes, the file has 30");
  CHECK(read.error(bytes + "!") == "idx: x: byte 16: the header asks for 40 bytes, the file has 41");
  CHECK(read.error(gzipped(bytes.substr(0, 30))) ==
        "idx: x: byte 16 after inflating: the header asks for 40 bytes, the gzip trailer says 30");
  CHECK(read.error(gzipped(bytes) + "extra") ==
        "idx: x: byte 16 after inflating: the header asks for 40 bytes, the gzip trailer says 1634890872");
  // A second gzip member whose trailer repeats the first one's.
  CHECK(read.error(gzipped(bytes) + gzipped(bytes)) ==
        "idx: x: byte 40 after inflating: more bytes follow the gzip stream");
}

TEST_CASE("a header that asks for more than the file can hold takes no memory") {
  Reading read;
  std::string huge = big_endian(0x803) + big_endian(0xffffffff) + big_endian(0xffff) + big_endian(1);
  CHECK(read.error(huge).find("the header asks for 281470681677841 bytes, the file has 16") !=
        std::string::npos);
  std::string wild =
      big_endian(0x803) + big_endian(0xffffffff) + big_endian(0xffffffff) + big_endian(0xffffffff);
  CHECK(read.error(wild) == "idx: x: byte 16: sizes [4294967295, 4294967295, 4294967295] are too large");
  // A gzip file whose trailer agrees modulo 2^32, but which is too small for deflate's best.
  std::string small = gzipped(big_endian(0x803) + big_endian(1 << 16) + big_endian(1 << 16) + big_endian(1));
  CHECK(read.error(small).find("which a gzip file of") != std::string::npos);
}

TEST_CASE("a file that is not there is named") {
  CHECK(error_of([] { read_idx("/nowhere/x", kByte, 3); }) ==
        "idx: /nowhere/x: cannot open: No such file or directory");
  TempDir folder;
  CHECK(error_of([&] { read_idx(folder.path(), kByte, 3); }).find("idx: " + folder.path()) == 0);
}

// Refused, or, where the damage is in what gzip does not protect (a date, a name), read as if undamaged.
void check_mutant(Reading& read, const std::string& mutant, const Tensor& undamaged, size_t& refused) {
  try {
    Tensor got = read(mutant);
    if (bit_difference(got, undamaged) != "") FAIL("a damaged file was read as other values");
  } catch (const Error& e) {
    if (std::string(e.what()).rfind("idx: ", 0) != 0) FAIL("another error: " << e.what());
    ++refused;
  }
}

TEST_CASE("every truncation of an IDX file is refused", "[fuzz]") {
  Reading read;
  std::string bytes = idx(8, {5, 4, 3}), packed = gzipped(bytes);
  for (size_t length = 0; length < bytes.size(); ++length)
    CHECK(read.error(bytes.substr(0, length)).rfind("idx: x: byte", 0) == 0);
  for (size_t length = 0; length < packed.size(); ++length)
    CHECK(read.error(packed.substr(0, length)).rfind("idx: x: byte", 0) == 0);
}

TEST_CASE("every flipped bit of a gzipped IDX file is refused or harmless", "[fuzz]") {
  Reading read;
  std::string packed = gzipped(idx(8, {5, 4, 3}));
  Tensor undamaged = read(packed);
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    std::string mutant = packed;
    mutant[bit / 8] = char(mutant[bit / 8] ^ 1 << bit % 8);
    check_mutant(read, mutant, undamaged, refused);
  }
  // Harmless: date, extra flags, system (6 bytes), a "text" flag, and the bits after deflate's last code.
  CHECK(refused >= 8 * packed.size() - 8 * 6 - 1 - 7);
}

TEST_CASE("a hundred thousand random damages of a gzipped IDX file are refused or harmless", "[fuzz]") {
  Reading read;
  std::string packed = gzipped(idx(8, {7, 6, 5}));
  Tensor undamaged = read(packed);
  std::mt19937 random(1);
  auto below = [&](size_t n) { return size_t(random() % n); };
  size_t refused = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string mutant = packed;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      size_t at = below(mutant.size());
      switch (below(4)) {
        case 0:
          mutant[at] = char(random());
          break;
        case 1:
          mutant.erase(at, 1 + below(4));
          break;
        case 2:
          mutant.insert(at, 1 + below(4), char(random()));
          break;
        default:
          std::swap(mutant[at], mutant[below(mutant.size())]);
      }
      if (mutant.empty()) mutant = "x";
    }
    check_mutant(read, mutant, undamaged, refused);
  }
  CHECK(refused > 85000);
}

// A folder with the four files of two images each.
struct SmallMnist {
  TempDir folder;
  SmallMnist() {
    for (const char* part : {"train", "t10k"}) {
      write_file(folder / (std::string(part) + "-images-idx3-ubyte.gz"), gzipped(idx(8, {2, 28, 28})));
      write_file(folder / (std::string(part) + "-labels-idx1-ubyte.gz"), gzipped(idx(8, {2})));
    }
  }
};

TEST_CASE("MNIST gives float images in [0, 1] and labels") {
  SmallMnist files;
  MNIST train(files.folder.path()), test(files.folder.path(), MNIST::Mode::kTest);
  CHECK(train.is_train());
  CHECK(!test.is_train());
  REQUIRE(train.size() == 2u);
  data::Example<> second = train.get(1);
  CHECK(second.data.sizes() == IntArrayRef({1, 28, 28}));
  CHECK(second.target.item<int64_t>() == 7);
  CHECK(values_of(second.data)[0] == double(float((784 * 7) % 256) / 255.0f));
  CHECK_SAME(train.images().select(0, 1), second.data);
  CHECK(train.images().sizes() == IntArrayRef({2, 1, 28, 28}));
  CHECK_ERROR(train.get(2), "MNIST: index 2 is outside of 2 examples");
}

TEST_CASE("MNIST refuses files that do not fit each other") {
  SmallMnist files;
  std::string labels = files.folder / "train-labels-idx1-ubyte.gz",
              images = files.folder / "train-images-idx3-ubyte.gz";
  auto error = [&] { return error_of([&] { MNIST(files.folder.path()); }); };
  write_file(labels, gzipped(idx(8, {3})));
  CHECK(error() == "MNIST: " + labels + " has 3 labels for 2 images");
  write_file(labels, gzipped(big_endian(0x801) + big_endian(2) + "\x01\x0a"));
  CHECK(error() == "MNIST: " + labels + ": label 1 is 10, must be 0 to 9");
  write_file(images, gzipped(idx(8, {2, 32, 32})));
  CHECK(error() == "MNIST: " + images + ": images must be 28x28, got sizes [2, 32, 32]");
  std::filesystem::remove(images);
  CHECK(error().find("is there") != std::string::npos);
}

TEST_CASE("a missing Fashion-MNIST says which package brings it") {
  CHECK_ERROR(
      FashionMNIST("/nowhere"),
      "FashionMNIST: there is no folder /nowhere; on Debian the package dataset-fashion-mnist brings it: "
      "apt-get install dataset-fashion-mnist");
}

TEST_CASE("Fashion-MNIST names its classes") {
  CHECK(std::string(FashionMNIST::class_name(9)) == "Ankle boot");
  CHECK_ERROR(FashionMNIST::class_name(10), "FashionMNIST: label 10 is outside of 0 to 9");
}

TEST_CASE("Fashion-MNIST's files have 60,000 and 10,000 images, 10 % of each class") {
  if (!std::filesystem::exists(FashionMNIST::default_root())) {
    WARN("the package dataset-fashion-mnist is not installed");
    SUCCEED();
    return;
  }
  for (auto [mode, count] : {std::pair(MNIST::Mode::kTrain, 60000), std::pair(MNIST::Mode::kTest, 10000)}) {
    FashionMNIST dataset(FashionMNIST::default_root(), mode);
    CHECK(dataset.size() == size_t(count));
    std::vector<int> histogram(10, 0);
    for (double label : values_of(dataset.targets())) ++histogram[size_t(label)];
    CHECK(histogram == std::vector<int>(10, count / 10));
  }
}

}  // namespace
}  // namespace tarn
