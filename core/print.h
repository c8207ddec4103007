// Printing, in the form of libtorch's `std::cout << tensor`.
#pragma once

#include <iosfwd>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

TARN_API std::ostream& operator<<(std::ostream& out, const Tensor& t);
TARN_API std::ostream& operator<<(std::ostream& out, ScalarType dtype);
TARN_API std::ostream& operator<<(std::ostream& out, const Device& device);
TARN_API std::ostream& operator<<(std::ostream& out, IntArrayRef values);
TARN_API std::ostream& operator<<(std::ostream& out, const Scalar& value);

// What operator<< prints, with lines of at most `line_size` columns where one column of a matrix fits.
TARN_API std::string to_string(const Tensor& t, int line_size = 80);

}  // namespace tarn::inline v1
