#include <tarn/data/png.h>

#include <png.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tarn::inline v1::data {

namespace {

// libpng's limit on a side by default.
constexpr int64_t kMaxSide = 1000000;

int format_of(int64_t channels) {
  return channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
}

// PNG wants the channels of a pixel together: (C, H, W) to (H, W, C).
std::vector<png_byte> interleave(const Tensor& planes) {
  int64_t channels = planes.size(0), pixels = planes.size(1) * planes.size(2);
  std::vector<png_byte> out(size_t(channels * pixels));
  const uint8_t* from = planes.data_ptr<uint8_t>();
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < pixels; ++i) out[size_t(i * channels + c)] = from[c * pixels + i];
  return out;
}

}  // namespace

std::string encode_png(const Tensor& image) {
  check(image.dtype() == kByte, "png: image must be uint8, got ", image.dtype());
  check(image.dim() == 2 || image.dim() == 3, "png: image must be (H, W) or (C, H, W), got ", image.sizes());
  Tensor planes = (image.dim() == 2 ? image.unsqueeze(0) : image).cpu().contiguous();
  int64_t channels = planes.size(0), height = planes.size(1), width = planes.size(2);
  check(channels == 1 || channels == 3 || channels == 4, "png: image must have 1, 3 or 4 channels, got ",
        image.sizes());
  check(height > 0 && width > 0 && height <= kMaxSide && width <= kMaxSide, "png: sides must be 1 to ",
        kMaxSide, ", got ", image.sizes());
  std::vector<png_byte> pixels = interleave(planes);

  // libpng's simplified interface reports errors as a value; its other one jumps over C++ frames.
  png_image description = {};
  description.version = PNG_IMAGE_VERSION;
  description.width = png_uint_32(width);
  description.height = png_uint_32(height);
  description.format = png_uint_32(format_of(channels));
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(description);
  std::string out(size, '\0');
  bool ok = png_image_write_to_memory(&description, out.data(), &size, 0, pixels.data(), 0, nullptr);
  check(ok, "png: ", static_cast<const char*>(description.message));
  out.resize(size);
  return out;
}

void write_png(const std::string& path, const Tensor& image) {
  std::string bytes = encode_png(image);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  check(bool(file), "png: cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace tarn::inline v1::data
