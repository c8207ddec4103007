#include <tarn/data/png.h>

#include <png.h>

#include <tarn/tests/data/files.h>

namespace tarn {
namespace {

using namespace testing;

// What libpng reads from the bytes, as interleaved pixels.
std::vector<uint8_t> decode(const std::string& bytes, int format, int64_t& height, int64_t& width) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()));
  CHECK(int(image.format) == format);
  height = image.height;
  width = image.width;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  return pixels;
}

TEST_CASE("a PNG holds the image's bytes") {
  using Case = std::pair<int64_t, int>;
  for (auto [channels, format] :
       {Case(1, PNG_FORMAT_GRAY), Case(3, PNG_FORMAT_RGB), Case(4, PNG_FORMAT_RGBA)}) {
    Tensor image = detail::make_tensor({channels, 5, 7}, kByte);
    fill_with(image, [](int64_t i) { return i * 37 % 256; });
    int64_t height = 0, width = 0;
    std::vector<uint8_t> pixels = decode(data::encode_png(image), format, height, width);
    CHECK(height == 5);
    CHECK(width == 7);
    std::vector<double> expected = values_of(image.permute({1, 2, 0}));
    CHECK(std::vector<double>(pixels.begin(), pixels.end()) == expected);
  }
}

TEST_CASE("a PNG of two dims is grey, and a strided image is read by its strides") {
  Tensor image = detail::make_tensor({4, 3}, kByte);
  fill_with(image, [](int64_t i) { return i; });
  CHECK(data::encode_png(image) == data::encode_png(image.unsqueeze(0)));
  CHECK(data::encode_png(image.t()) == data::encode_png(image.t().contiguous()));
}

TEST_CASE("what is no image is named") {
  CHECK_ERROR(data::encode_png(detail::make_tensor({2, 2}, kFloat)), "png: image must be uint8, got Float");
  CHECK_ERROR(data::encode_png(detail::make_tensor({2}, kByte)),
              "png: image must be (H, W) or (C, H, W), got [2]");
  CHECK_ERROR(data::encode_png(detail::make_tensor({2, 3, 3}, kByte)),
              "png: image must have 1, 3 or 4 channels, got [2, 3, 3]");
  CHECK_ERROR(data::encode_png(detail::make_tensor({1, 0, 3}, kByte)),
              "png: sides must be 1 to 1000000, got [1, 0, 3]");
}

TEST_CASE("write_png writes the file or says why not") {
  TempDir folder;
  Tensor image = detail::make_tensor({2, 2}, kByte);
  fill_with(image, [](int64_t i) { return i; });
  data::write_png(folder / "a.png", image);
  CHECK(read_file(folder / "a.png") == data::encode_png(image));
  CHECK_ERROR(data::write_png("/nowhere/a.png", image),
              "png: cannot write /nowhere/a.png: No such file or directory");
}

}  // namespace
}  // namespace tarn
