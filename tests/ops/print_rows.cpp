// Printed tensors against libtorch's text.
#include <tarn/tests/ops/print_rows.h>

#include <sstream>

#include <tarn/core/print.h>

#include <tarn/tests/ops/golden.h>

namespace tarn::testing {

const std::vector<PrintRow>& print_rows() {
  static const auto* rows = new std::vector<PrintRow>{
      {"print/scalar", kFloat, listed({3.5}, {})},
      {"print/scalar_integer", kLong, listed({-12}, {})},
      {"print/scalar_large", kDouble, listed({123456789.125}, {})},
      {"print/scalar_small", kFloat, listed({1.5e-7}, {})},
      {"print/vector", kFloat, listed({0.1, 2.5, -3.25})},
      {"print/vector_whole", kFloat, listed({1, 2, 30, -400})},
      {"print/vector_large_whole", kFloat, listed({1, 2000000, 30})},
      {"print/vector_wide_range", kFloat, listed({1e-8, 1, 1e6})},
      {"print/vector_small", kFloat, listed({0.00123, 0.0045, 0.003, 0.001})},
      {"print/vector_large", kFloat, listed({12345.678, 23456.789, -34567.25})},
      {"print/vector_special", kFloat, listed({INFINITY, -INFINITY, NAN, 1.5})},
      {"print/vector_nan", kDouble, listed({NAN, NAN})},
      {"print/vector_zeros", kFloat, listed({0, 0, -0.0})},
      {"print/vector_empty", kFloat, listed({1}, {0})},
      {"print/matrix_empty", kLong, listed({1}, {0, 3})},
      {"print/matrix_no_columns", kFloat, listed({1}, {3, 0})},
      {"print/matrix", kFloat, Input{3, 4}},
      {"print/matrix_double", kDouble, Input{3, 4}},
      {"print/matrix_half", kHalf, Input{2, 3}},
      {"print/matrix_bfloat16", kBFloat16, Input{2, 3}},
      {"print/matrix_long", kLong, many({3, 5})},
      {"print/matrix_int", kInt, many({2, 2})},
      {"print/matrix_byte", kByte, many({2, 3})},
      {"print/matrix_bool", kBool, Input{2, 3}},
      {"print/matrix_wide", kFloat, Input{3, 20}},
      {"print/matrix_wide_long", kLong, many({2, 40})},
      {"print/matrix_scaled", kFloat, listed({10000.5, 2, 3, 4}, {2, 2})},
      {"print/matrix_scientific", kFloat, listed({1e10, 1e-10, 3, 4}, {2, 2})},
      {"print/matrix_tall", kFloat, Input{12, 1}},
      {"print/cube", kFloat, Input{2, 3, 4}},
      {"print/four_dims", kFloat, Input{2, 2, 2, 3}},
      {"print/five_dims", kLong, many({1, 2, 1, 2, 2})},
      {"print/cube_empty", kFloat, listed({1}, {2, 0, 3})},
      {"print/one_row", kDouble, Input{1, 7}},
  };
  return *rows;
}

TEST_CASE("tensors print as libtorch prints them") {
  for (const PrintRow& row : print_rows()) {
    INFO(row.name);
    std::ostringstream out;
    out << make(row.input, 0, row.dtype);
    CHECK(out.str() == golden_text(row.name));
  }
}

TEST_CASE("a tensor's text does not depend on its strides") {
  for (const PrintRow& row : print_rows()) {
    INFO(row.name);
    CHECK(to_string(make(row.input, 0, row.dtype, Layout::Transposed)) == golden_text(row.name));
  }
}

}  // namespace tarn::testing
