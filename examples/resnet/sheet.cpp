#include "sheet.h"

#include <algorithm>
#include <cctype>

#include <tarn/core/ops/creation.h>

#include "font.h"

namespace {

constexpr int64_t kColumns = 8, kZoom = 3, kMargin = 6, kLine = kGlyphHeight + 3;

struct Color {
  uint8_t red, green, blue;
};
constexpr Color kBlack = {0, 0, 0}, kGrey = {110, 110, 110}, kRed = {200, 0, 0};

class Canvas {
 public:
  Canvas(int64_t height, int64_t width)
      : pixels(tarn::full({3, height, width}, 255, tarn::kByte)), height_(height), width_(width) {}

  void fill(int64_t y, int64_t x, int64_t height, int64_t width, Color color) {
    uint8_t* plane = pixels.data_ptr<uint8_t>();
    for (uint8_t value : {color.red, color.green, color.blue}) {
      for (int64_t row = y; row < std::min(y + height, height_); ++row)
        for (int64_t column = x; column < std::min(x + width, width_); ++column)
          plane[row * width_ + column] = value;
      plane += height_ * width_;
    }
  }

  // Letters become capitals; what the font lacks is left blank.
  void write(int64_t y, int64_t x, const std::string& text, Color color) {
    for (char c : text) {
      for (const Glyph& glyph : kFont)
        if (glyph.letter == std::toupper(static_cast<unsigned char>(c))) draw(y, x, glyph, color);
      x += kGlyphWidth + 1;
    }
  }

  tarn::Tensor pixels;

 private:
  void draw(int64_t y, int64_t x, const Glyph& glyph, Color color) {
    for (int row = 0; row < kGlyphHeight; ++row)
      for (int column = 0; column < kGlyphWidth; ++column)
        if (glyph.rows[row] >> (kGlyphWidth - 1 - column) & 1) fill(y + row, x + column, 1, 1, color);
  }

  int64_t height_, width_;
};

}  // namespace

tarn::Tensor draw_sheet(const tarn::Tensor& images, const std::vector<Labelled>& labels) {
  int64_t count = images.size(0), height = images.size(1), width = images.size(2);
  tarn::check(count == int64_t(labels.size()), "draw_sheet: ", count, " images, ", labels.size(), " labels");
  int64_t cell_height = height * kZoom + 2 * kLine + 2 * kMargin, cell_width = width * kZoom + 2 * kMargin;
  int64_t rows = (count + kColumns - 1) / kColumns;
  Canvas canvas(rows * cell_height + kMargin, kColumns * cell_width + kMargin);

  tarn::Tensor dense = images.contiguous();
  const uint8_t* grey = dense.data_ptr<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t top = i / kColumns * cell_height + kMargin, left = i % kColumns * cell_width + kMargin;
    bool wrong = labels[i].predicted != labels[i].truth;
    if (wrong) canvas.fill(top - 2, left - 2, height * kZoom + 4, width * kZoom + 4, kRed);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        uint8_t value = *grey++;
        canvas.fill(top + y * kZoom, left + x * kZoom, kZoom, kZoom, {value, value, value});
      }
    }
    int64_t text = top + height * kZoom + 5;
    canvas.write(text, left, labels[i].predicted, wrong ? kRed : kBlack);
    canvas.write(text + kLine, left, labels[i].truth, kGrey);
  }
  return canvas.pixels;
}
