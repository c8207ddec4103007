// Rows of pointwise ops: the name alone gives samples, in-place forms and errors.
//
//   ROW1(sqrt, .range = kAboveZero, .more = {S(sqrt(x), {2, 2})})    of one tensor
//   ROW2(add)                                                        of two tensors, or a tensor and a number
#pragma once

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

struct UnaryRow {
  const char* name;
  Call call, write;
  Call write_expanded = nullptr;  // writes to a tensor whose elements share memory: an error
  Range range = kAny;
  std::vector<ScalarType> dtypes = kEveryDtype;
  bool grad = true;
  bool floating = true;  // the result of integers is floating, so they cannot be written in place
  bool special = true;   // compare at zeros, kinks, infinities and NaN too
  // PyTorch's gradient at infinities and NaN depends on the dtype or the vector width, so ours is not
  // compared there.
  bool special_grad = true;
  Tolerance f32 = {}, f64 = {};
  std::vector<ScalarType> uncompared = {};
  const char* why_uncompared = nullptr;
  const char* error_name = nullptr;  // what its errors begin with, if not the name
  const char* python = nullptr;      // the function's name in PyTorch, if it is another
  std::vector<Sample> more = {};
  std::vector<InPlace> inplace = {};
  std::vector<ErrorRow> errors = {};
};

struct BinaryRow {
  const char* name;
  Call call, call_scalar;
  Call call_left = nullptr;  // number op tensor, if there is such a form
  Call write, write_scalar, write_small;
  Range range = kAny;
  double number = 1.5;  // of the calls with a number
  std::vector<ScalarType> dtypes = kEveryDtype;
  bool grad = true;
  bool special = true;
  bool special_grad = true;
  bool smooth = true;   // finite differences work
  bool mixed = true;    // dtypes of the operands may differ
  bool numbers = true;  // PyTorch's function takes a number on the right
  Tolerance f32 = {}, f64 = {};
  std::vector<ScalarType> uncompared = {};
  const char* why_uncompared = nullptr;
  const char* error_name = nullptr;
  std::vector<Sample> more = {};
  std::vector<InPlace> inplace = {};
  std::vector<ErrorRow> errors = {};
};

Row unary_row(UnaryRow row);
Row binary_row(BinaryRow row);

}  // namespace tarn::testing

#define ROW1(op, ...)                     \
  ::tarn::testing::unary_row(             \
      {.name = #op,                       \
       .call = TARN_ROW_CALL(op(x)),      \
       .write = TARN_ROW_CALL(x.op##_()), \
       .write_expanded = TARN_ROW_CALL(x.expand({3, 2}).op##_()) __VA_OPT__(, ) __VA_ARGS__})
// The number of the scalar forms is y.item(), so that its dtype can vary.
#define ROW2(op, ...)                                                            \
  ::tarn::testing::binary_row({.name = #op,                                      \
                               .call = TARN_ROW_CALL(op(x, y)),                  \
                               .call_scalar = TARN_ROW_CALL(op(x, y.item())),    \
                               .call_left = TARN_ROW_CALL(op(y.item(), x)),      \
                               .write = TARN_ROW_CALL(x.op##_(y)),               \
                               .write_scalar = TARN_ROW_CALL(x.op##_(y.item())), \
                               .write_small = TARN_ROW_CALL(y.op##_(x)) __VA_OPT__(, ) __VA_ARGS__})
