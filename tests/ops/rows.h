// The table of ops. A row says how an op is called, on which inputs, and which calls are errors; runner.cpp
// turns it into tests of values, dtypes, layouts, gradients, in-place forms and errors.
//
//   {.name = "softmax", .grad = true, .samples = {S(softmax(x, 1), {2, 5})},
//    .errors = {E("softmax: dim 7 is outside a tensor of shape [2, 4]", softmax(x, 7), {2, 4})}}
//
// The expression is C++ here and, but for braces, the same text is Python in golden/make.py: PyTorch
// evaluates it on the same inputs, made from integer formulas, and its results are kept in golden/values.txt.
// x, y, z, w and v are the inputs in order; {2, 5} is an input of that shape with values around 0, other
// values are written positive({2, 5}).
#pragma once

#include <functional>
#include <optional>
#include <tuple>

#include <tarn/tests/support.h>

namespace tarn::testing {

using std::nullopt;
using Tensors = std::vector<Tensor>;

inline const std::vector<ScalarType> kFloats{kFloat, kDouble, kHalf, kBFloat16};
inline const std::vector<ScalarType> kSingleDouble{kFloat, kDouble};
inline const std::vector<ScalarType> kIntegers{kLong, kInt, kShort, kChar, kByte};
inline const std::vector<ScalarType> kIntegersAndBool{kLong, kInt, kShort, kChar, kByte, kBool};
inline const std::vector<ScalarType> kNumbers{kFloat, kDouble, kHalf, kBFloat16, kLong,
                                              kInt,   kShort,  kChar, kByte};
inline const std::vector<ScalarType> kEveryDtype{kFloat, kDouble, kHalf, kBFloat16, kLong,
                                                 kInt,   kShort,  kChar, kByte,     kBool};

// Values for the floating dtypes, and for the signed integers; unsigned ones and bool follow from these.
struct Range {
  Formula real, whole;
};
inline constexpr Range kAny{kAround0, kAround0};                                       // integers -4 .. 3
inline constexpr Range kMany{kAround0, {.d = 4}};                                      // integers -63 .. 62
inline constexpr Range kAboveZero{kPositive, {.a = 37, .m = 125, .c = -32, .d = 32}};  // integers 1 .. 4
inline constexpr Range kInsideOne{kUnit, kAround0};
inline constexpr Range kInsideZeroOne{kProbability, kAround0};
inline constexpr Range kAboveOne{{.a = 74, .b = 60, .m = 220, .c = -33, .d = 32},
                                 {.a = 37, .m = 125, .c = -32, .d = 32}};
// Few distinct values; two such inputs agree at every fifth place.
inline constexpr Formula kFew{.a = 3, .b = 1, .m = 5, .c = 2, .d = 2};
inline constexpr Range kTied{kFew, kFew};

struct Input {
  std::vector<int64_t> sizes;
  Range range = kAny;
  std::vector<double> list;              // if given, these values instead of a formula, repeated as needed
  std::optional<ScalarType> dtype = {};  // if given, whatever dtype the others are swept over
  bool grad = true;                      // takes part in gradients if floating
  bool smooth = true;                    // finite differences work here
  bool given = true;                     // false: an undefined tensor stands here

  Input() = default;
  Input(std::initializer_list<int64_t> s) : sizes(s) {}
  Input(std::vector<int64_t> s, Range r) : sizes(std::move(s)), range(r) {}
  Input no_grad() const {
    Input i = *this;
    i.grad = false;
    return i;
  }
  Input as(ScalarType t) const {
    Input i = *this;
    i.dtype = t;
    return i;
  }
};

inline Input many(std::vector<int64_t> sizes) { return {std::move(sizes), kMany}; }
inline Input positive(std::vector<int64_t> sizes) { return {std::move(sizes), kAboveZero}; }
inline Input unit(std::vector<int64_t> sizes) { return {std::move(sizes), kInsideOne}; }
inline Input probability(std::vector<int64_t> sizes) { return {std::move(sizes), kInsideZeroOne}; }
inline Input above_one(std::vector<int64_t> sizes) { return {std::move(sizes), kAboveOne}; }
// Values near a jump of the op, or an op whose gradient is not its slope: no finite differences here.
inline Input rough(Input input) {
  input.smooth = false;
  return input;
}
// Few distinct values, so that maxima and the like are tied.
inline Input tied(std::vector<int64_t> sizes) {
  Input i{std::move(sizes), kTied};
  i.smooth = false;
  return i;
}
inline Input typed(ScalarType dtype, std::vector<int64_t> sizes) {
  return Input(std::move(sizes), kAny).as(dtype);
}
inline Input mask(std::vector<int64_t> sizes) { return typed(kBool, std::move(sizes)); }
// Integers in [0, n).
inline Input index_below(int64_t n, std::vector<int64_t> sizes, ScalarType dtype = kLong) {
  Formula f{.a = 7, .b = 3, .m = n, .c = 0, .d = 1};
  return Input(std::move(sizes), {f, f}).as(dtype);
}
// These values, in order.
inline Input listed(std::vector<double> values, std::vector<int64_t> sizes = {-1}) {
  Input i;
  if (sizes == std::vector<int64_t>{-1}) sizes[0] = int64_t(values.size());
  i.sizes = std::move(sizes);
  i.list = std::move(values);
  i.smooth = false;
  return i;
}
inline Input index_list(std::vector<double> values, std::vector<int64_t> sizes = {-1}) {
  return listed(std::move(values), std::move(sizes)).as(kLong);
}
// Zeros of both signs, kinks, extremes, without infinities and NaN.
inline Input finite() {
  return listed({0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, -3.0, 6.0, 1e-6, -1e-6, 100.0, -100.0,
                 30000.0, 1e-3});
}
// Zeros of both signs, kinks, infinities, NaN, extremes: 19 values, so that no vector width divides their
// number.
inline Input special() {
  return listed({0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, -3.0, 6.0, INFINITY, -INFINITY, NAN, 1e-6,
                 -1e-6, 100.0, -100.0, 30000.0});
}
inline Input undefined() {
  Input i;
  i.given = false;
  return i;
}

using Call = std::function<Tensors(const Tensors&)>;

struct Sample {
  std::string text;  // the expression, as C++ and, unless python is given, as Python
  Call call;
  std::vector<Input> inputs;
  std::string python = {};
};

struct InPlace {
  std::string text;
  Call write;  // writes x
  Call value;  // what x must hold after it
  std::vector<Input> inputs;
};

struct ErrorRow {
  std::string message;
  std::string text;
  Call call;
  std::vector<Input> inputs;
};

struct Row {
  std::string name;
  std::vector<ScalarType> dtypes =
      kFloats;                 // what the first sample is swept over; of others, f32 and f64 are run
  bool grad = false;           // differentiable: gradients are compared and checked
  bool second = true;          // so is its gradient
  bool view = false;           // results share x's memory
  bool channels_last = false;  // an output of four dims keeps the memory format of the input
  std::vector<Sample> samples = {};
  std::vector<InPlace> inplace = {};
  std::vector<ErrorRow> errors = {};
  Tolerance f32 = {}, f64 = {}, f16 = {}, bf16 = {};  // support.h's unless given
  // What has no PyTorch value (random numbers, empty()): a test of its own, run beside the others.
  std::function<void()> property = nullptr;
  // Dtypes that work but differ from PyTorch's, and why.
  std::vector<ScalarType> uncompared = {};
  const char* why_uncompared = nullptr;
  const char* no_empty = nullptr;    // why there is no sample with an empty input
  const char* no_layouts = nullptr;  // why the result depends on how the input lies in memory
  const char* no_scalar = nullptr;   // why there is no sample with a 0-dim input
  const char* few_errors = nullptr;  // why there are fewer than three error rows
};

const std::vector<Row>& all_rows();

// The tables, one for each file of rows.
std::vector<Row> unary_rows();
std::vector<Row> binary_rows();
std::vector<Row> activation_rows();
std::vector<Row> reduction_rows();
std::vector<Row> contraction_rows();
std::vector<Row> convolution_rows();
std::vector<Row> pool_rows();
std::vector<Row> normalisation_rows();
std::vector<Row> loss_rows();
std::vector<Row> view_rows();
std::vector<Row> rearrange_rows();
std::vector<Row> view_form_rows();
std::vector<Row> padding_rows();
std::vector<Row> indexing_rows();
std::vector<Row> index_along_rows();
std::vector<Row> creation_rows();
std::vector<Row> random_rows();
std::vector<Row> order_rows();
std::vector<Row> scan_rows();
std::vector<Row> distinct_rows();
std::vector<Row> draw_rows();
std::vector<Row> new_rows();

// How a test tensor lies in memory; its values are the same in each.
enum class Layout { Contiguous, Transposed, Strided, Offset, ChannelsLast, Expanded };
inline constexpr Layout kTwins[] = {Layout::Transposed, Layout::Strided, Layout::Offset,
                                    Layout::ChannelsLast};
const char* to_string(Layout layout);
// What an input holds when the others are of `dtype`; `number` is its place among the inputs.
Tensor make(const Input& input, int number, ScalarType dtype, Layout layout = Layout::Contiguous);
Tensors make_all(const std::vector<Input>& inputs, ScalarType dtype, Layout layout = Layout::Contiguous);
// The formula that make() uses for a dtype.
Formula formula_of(const Input& input, int number, ScalarType dtype);

// The tables one after another.
std::vector<Row> join(const std::vector<std::vector<Row>>& tables);

namespace rows {

inline const Tensor& pick(const Tensors& in, size_t i) {
  static const Tensor none;
  return i < in.size() ? in[i] : none;
}
inline Tensors collect(Tensor t) { return {std::move(t)}; }
inline Tensors collect(Tensors list) { return list; }
template <class... T>
Tensors collect(const std::tuple<T...>& results) {
  return std::apply([](const auto&... t) { return Tensors{t...}; }, results);
}
// Functions that return a bool or a number are compared as tensors of it.
template <class T>
requires std::is_arithmetic_v<T> Tensors collect(T value) {
  return {tensor_of({double(value)},
                    std::is_same_v<T, bool> ? kBool
                    : std::is_integral_v<T> ? kLong
                                            : kDouble,
                    {})};
}

}  // namespace rows

}  // namespace tarn::testing

#define TARN_ROW_CALL(expression)                                                   \
  [](const ::tarn::testing::Tensors& in_) -> ::tarn::testing::Tensors {             \
    [[maybe_unused]] const ::tarn::Tensor &x = ::tarn::testing::rows::pick(in_, 0), \
                                          &y = ::tarn::testing::rows::pick(in_, 1), \
                                          &z = ::tarn::testing::rows::pick(in_, 2), \
                                          &w = ::tarn::testing::rows::pick(in_, 3), \
                                          &v = ::tarn::testing::rows::pick(in_, 4); \
    return ::tarn::testing::rows::collect(expression);                              \
  }

// S(expression, inputs...): a sample. S_PY(python, expression, inputs...): PyTorch spells it differently.
#define S(expression, ...)                                  \
  ::tarn::testing::Sample {                                 \
#expression, TARN_ROW_CALL(expression), { __VA_ARGS__ } \
  }
#define S_PY(python, expression, ...) \
  ::tarn::testing::Sample { #expression, TARN_ROW_CALL(expression), {__VA_ARGS__ }, python }
// I(x.relu_(), relu(x), inputs...): the in-place form, and what x must hold after it.
#define I(write, value, ...)                                            \
  ::tarn::testing::InPlace {                                            \
#write, TARN_ROW_CALL(write), TARN_ROW_CALL(value), { __VA_ARGS__ } \
  }
// E(message, expression, inputs...): a mistake and the whole text of its error.
#define E(message, expression, ...)                                  \
  ::tarn::testing::ErrorRow {                                        \
    message, #expression, TARN_ROW_CALL(expression), { __VA_ARGS__ } \
  }
