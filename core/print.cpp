#include <tarn/core/print.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>

#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace {

// How the numbers of one matrix are written: all in the same width.
struct Format {
  enum Style { General, Fixed, Scientific } style = General;
  int width = 0;
  double scale = 1;
};

std::string number(const Format& f, double value) {
  char text[64];
  value /= f.scale;
  switch (f.style) {
    case Format::General:
      std::snprintf(text, sizeof text, "%*g", f.width, value);
      break;
    case Format::Fixed:
      std::snprintf(text, sizeof text, "%*.4f", f.width, value);
      break;
    case Format::Scientific:
      std::snprintf(text, sizeof text, "%*.4e", f.width, value);
      break;
  }
  return text;
}

// Digits before the decimal point; 1 for zero.
double digits(double magnitude) { return magnitude == 0 ? 1 : std::floor(std::log10(magnitude)) + 1; }

Format choose_format(const Tensor& values) {
  const double* p = static_cast<const double*>(values.data_ptr());
  bool integers = true, any_finite = false;
  double smallest = 1, largest = 1;
  for (int64_t i = 0; i < values.numel(); ++i) {
    if (!std::isfinite(p[i])) continue;
    double z = std::fabs(p[i]);
    integers &= z == std::ceil(z);
    smallest = any_finite ? std::min(smallest, z) : z;
    largest = any_finite ? std::max(largest, z) : z;
    any_finite = true;
  }
  double low = any_finite ? digits(smallest) : 1, high = any_finite ? digits(largest) : 1;
  if (integers) {
    if (high > 9) return {Format::Scientific, 11, 1};
    return {Format::General, int(high) + 1, 1};
  }
  if (high - low > 4) return {Format::Scientific, std::fabs(high) > 99 || std::fabs(low) > 99 ? 12 : 11, 1};
  if (high > 5 || high < 0) return {Format::Fixed, 7, std::pow(10.0, high - 1)};
  return {Format::Fixed, high == 0 ? 7 : int(high) + 6, 1};
}

std::string scale_line(const Format& f) {
  char text[32];
  std::snprintf(text, sizeof text, "%g *\n", f.scale);
  return text;
}

void append_matrix(std::string& out, const Tensor& m, int line_size, int indent) {
  Format f = choose_format(m);
  const double* p = static_cast<const double*>(m.data_ptr());
  const int64_t rows = m.size(0), columns = m.size(1);
  const int64_t per_line = std::max<int64_t>(1, (line_size - indent) / (f.width + 1));
  const std::string margin(size_t(indent), ' ');
  for (int64_t first = 0; first < columns; first += per_line) {
    int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first != 0) out += '\n';
      out += "Columns " + std::to_string(first + 1) + " to " + std::to_string(last + 1) + margin;
    }
    if (f.scale != 1 && !detail::fault(17)) out += scale_line(f) + margin;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = first; c <= last; ++c) {
        out += number(f, p[r * columns + c]);
        if (c < last) out += ' ';
      }
      out += '\n';
      if (r != rows - 1) out += margin + (f.scale != 1 ? " " : "");
    }
  }
}

// (1,2,.,.) = and a matrix, for each place of the outer dims.
void append_matrices(std::string& out, const Tensor& t, int line_size) {
  const int outer = int(t.dim()) - 2;
  Tensor flat = t.view([&] {
    Dims sizes{-1, t.size(-2), t.size(-1)};
    return sizes;
  }());
  Dims at(outer, 0);  // the first dim runs fastest, as in libtorch
  for (int64_t i = 0; i < flat.size(0); ++i) {
    if (i > 0) out += '\n';
    std::string place;
    int64_t index = 0;
    for (int d = 0; d < outer; ++d) {
      place += std::to_string(at[d] + 1) + ",";
      index = index * t.sizes()[d] + at[d];
    }
    out += "(" + place + ".,.) = \n";
    append_matrix(out, flat.select(0, index), line_size, 1);
    for (int d = 0; d < outer && ++at[d] == t.sizes()[d]; ++d) at[d] = 0;
  }
}

// The fewest digits that give the number back, in scientific form from 1e16 and below 1e-4.
std::string shortest(double value) {
  char text[40];
  double magnitude = std::abs(value);
  bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  return {text, std::to_chars(text, text + sizeof text, value, format).ptr};
}

void append_vector(std::string& out, const Tensor& v) {
  Format f = choose_format(v);
  if (f.scale != 1) out += scale_line(f);
  for (int64_t i = 0; i < v.numel(); ++i)
    out += number(f, static_cast<const double*>(v.data_ptr())[i]) + '\n';
}

}  // namespace

std::string to_string(const Tensor& t, int line_size) {
  if (!t.defined()) return "[ Tensor (undefined) ]";
  NoGradGuard no_grad;
  std::string out;
  Tensor values = contiguous(detail::cast(t.detach().cpu(), kDouble));
  if (t.dim() == 0) {
    out = shortest(*static_cast<const double*>(values.data_ptr())) + '\n';
  } else if (t.numel() > 0) {
    if (t.dim() == 1)
      append_vector(out, values);
    else if (t.dim() == 2)
      append_matrix(out, values, line_size, 0);
    else
      append_matrices(out, values, line_size);
  }
  out += "[ " + t.toString() + "{";
  for (int d = 0; d < t.dim(); ++d) out += (d ? "," : "") + std::to_string(t.sizes()[d]);
  return out + "} ]";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }
std::ostream& operator<<(std::ostream& out, ScalarType dtype) { return out << to_string(dtype); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
std::ostream& operator<<(std::ostream& out, IntArrayRef values) { return out << str(values); }
std::ostream& operator<<(std::ostream& out, const Scalar& value) { return out << str(value); }

}  // namespace tarn::inline v1
