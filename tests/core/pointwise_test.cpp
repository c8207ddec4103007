// How pointwise ops treat shapes, layouts, dtypes and memory; and that their kernels agree on every
// instruction set.
#include <cmath>
#include <cstring>
#include <random>

#include <tarn/autograd/autograd.h>
#include <tarn/core/cpu/features.h>
#include <tarn/core/cpu/pointwise_kernels.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/core/parallel.h>
#include <tarn/tests/support.h>
#include <tarn_config.h>

using namespace tarn;
using namespace tarn::testing;
using generic::kPointwiseRows;
using generic::PointwiseRow;
using generic::RowKind;

namespace {

Tensor counted(IntArrayRef sizes, ScalarType dtype = kFloat) {
  Tensor t = empty(sizes, dtype);
  fill_with(t, [](int64_t i) { return double(i % 23) * 0.5 - 3; });
  return t;
}
std::vector<double> list(std::initializer_list<double> values) { return values; }

}  // namespace

TEST_CASE("operands are broadcast") {
  Tensor a = empty({2, 3}), b = empty({3});
  fill_with(a, [](int64_t i) { return i; });
  fill_with(b, [](int64_t i) { return 10 * i; });
  CHECK(values_of(a + b) == list({0, 11, 22, 3, 14, 25}));
  CHECK(values_of(a.t() + a.t().select(1, 0).unsqueeze(1)) == list({0, 3, 2, 5, 4, 7}));
  CHECK((ones({2, 1, 3}) * ones({4, 1})).sizes() == IntArrayRef({2, 4, 3}));
  CHECK((ones({0, 3}) + ones({3})).sizes() == IntArrayRef({0, 3}));
  CHECK((ones({}) + ones({})).dim() == 0);
  CHECK_ERROR(ones({2, 3}) + ones({2}), "add: shapes [2, 3] and [2] do not broadcast: dim 1 is 3 and 2");
}

TEST_CASE("the result keeps the layout of its operands") {
  Tensor x = counted({2, 3, 4, 5});
  Tensor last = x.contiguous(MemoryFormat::ChannelsLast);
  CHECK((last + last).is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(relu(last).strides() == last.strides());
  CHECK((last + x.select(0, 0).select(1, 0).select(1, 0).view({3, 1, 1})).strides() == last.strides());
  CHECK(relu(x.permute({3, 1, 0, 2})).strides() == x.permute({3, 1, 0, 2}).strides());
  CHECK((x.transpose(0, 3) > 0).strides() == x.transpose(0, 3).strides());
  CHECK_SAME(relu(last), relu(x));
}

TEST_CASE("dtypes are promoted as PyTorch promotes them") {
  auto dtype = [](const Tensor& t) { return t.dtype(); };
  Tensor i32 = ones({2}, kInt), u8 = ones({2}, kByte), i8 = ones({2}, kChar), flag = ones({2}, kBool);
  Tensor f16 = ones({2}, kHalf), bf16 = ones({2}, kBFloat16), f64 = ones({2}, kDouble), f32 = ones({2});
  CHECK(dtype(i32 + 1) == kInt);
  CHECK(dtype(i32 + 1.5) == kFloat);
  CHECK(dtype(u8 + i8) == kShort);
  CHECK(dtype(flag + flag) == kBool);
  CHECK(dtype(flag + 1) == kLong);
  CHECK(dtype(flag * true) == kBool);
  CHECK(dtype(f16 + bf16) == kFloat);
  CHECK(dtype(f16 + i32) == kHalf);
  CHECK(dtype(f16 * 2.5) == kHalf);
  CHECK(dtype(f32 + f64) == kDouble);
  CHECK(dtype(f32 + f64.select(0, 0)) == kFloat);
  CHECK(dtype(i32 + f64.select(0, 0)) == kDouble);
  CHECK(dtype(i32 / i32) == kFloat);
  CHECK(dtype(exp(i32)) == kFloat);
  CHECK(dtype(i32 == 1) == kBool);
  CHECK(dtype(where(flag, 1, 2)) == kLong);
  CHECK(dtype(where(flag, f16, 2.5)) == kHalf);
  CHECK(dtype(f16.masked_fill(flag, 2.5)) == kHalf);
  CHECK(values_of(flag + flag) == list({1, 1}));
}

TEST_CASE("integers wrap and division by zero gives a value") {
  Tensor low = full({1}, INT64_MIN, kLong), high = full({1}, INT64_MAX, kLong), zero = zeros({1}, kLong);
  CHECK(values_of<int64_t>(high + 1)[0] == INT64_MIN);
  CHECK(values_of<int64_t>(floor_divide(low, -1))[0] == INT64_MIN);
  CHECK(values_of<int64_t>(remainder(low, -1))[0] == 0);
  CHECK(values_of<int64_t>(floor_divide(high, zero))[0] == 0);
  CHECK(values_of<int64_t>(remainder(high, zero))[0] == 0);
  CHECK(values_of(full({1}, 250, kByte) + 10) == list({4}));
  CHECK(values_of(-full({1}, -128, kChar)) == list({-128}));
  CHECK(values_of<int64_t>(pow(full({1}, 3, kLong), 40))[0] == int64_t(12157665459056928801u));
  Tensor x = empty({4}, kInt);
  fill_with(x, [](int64_t i) { return i < 2 ? 7 : -7; });
  Tensor by = empty({4}, kInt);
  fill_with(by, [](int64_t i) { return i % 2 ? -2 : 2; });
  CHECK(values_of(floor_divide(x, by)) == list({3, -4, -4, 3}));
  CHECK(values_of(div(x, by, "trunc")) == list({3, -3, -3, 3}));
  CHECK(values_of(remainder(x, by)) == list({1, -1, 1, -1}));
  CHECK(values_of(fmod(x, by)) == list({1, 1, -1, -1}));
}

TEST_CASE("in-place ops write into their tensor and only there") {
  Tensor base = counted({4, 6});
  Tensor before = base.clone(), view = base.slice(1, 1, 6, 2);
  Tensor want = view + 1;
  uint32_t version = base._version();
  CHECK(view.add_(1).is_same(view));
  CHECK(base._version() == version + 1);
  CHECK_SAME(view, want);
  CHECK_SAME(base.slice(1, 0, 6, 2), before.slice(1, 0, 6, 2));
  Tensor x = counted({5});
  Tensor twice = x + x;
  CHECK_SAME(x.add_(x), twice);
  CHECK_SAME(counted({2, 3}).eq_(0.5), (counted({2, 3}) == 0.5).to(kFloat));
  CHECK_SAME(counted({3}, kHalf).add_(ones({3}, kDouble)), counted({3}, kHalf) + 1);
  CHECK_ERROR(ones({2}, kInt).div_(2),
              "div_: the result is Float, which cannot be written to a tensor of Int");
  CHECK_ERROR(ones({2}).add_(ones({2, 2})),
              "add_: the result has sizes [2, 2], the tensor written in place [2]");
  Tensor y = counted({6});
  CHECK_ERROR(y.slice(0, 0, 5).add_(y.slice(0, 1, 6)),
              "add: the tensor written in place shares a part of its memory with input 1; "
              "call clone() on one of them first");
}

TEST_CASE("kinks and ties have PyTorch's gradients") {
  auto gradient = [](auto f, std::initializer_list<double> at) {
    Tensor x = empty({int64_t(at.size())}, kDouble);
    fill_with(x, [&](int64_t i) { return at.begin()[i]; });
    x.requires_grad_();
    return values_of(autograd::grad({f(x)}, {x}, {ones_like(x)})[0]);
  };
  CHECK(gradient([](Tensor x) { return relu(x); }, {-1, 0, 1}) == list({0, 0, 1}));
  CHECK(gradient([](Tensor x) { return abs(x); }, {-1, 0, 1}) == list({-1, 0, 1}));
  CHECK(gradient([](Tensor x) { return clamp(x, -1, 1); }, {-2, -1, 0, 1, 2}) == list({0, 0, 1, 0, 0}));
  CHECK(gradient([](Tensor x) { return hardtanh(x); }, {-1, 0, 1}) == list({0, 1, 0}));
  CHECK(gradient([](Tensor x) { return relu6(x); }, {0, 3, 6}) == list({0, 1, 0}));
  CHECK(gradient([](Tensor x) { return maximum(x, zeros_like(x)); }, {-1, 0, 1}) == list({0, 0.5, 1}));
  CHECK(gradient([](Tensor x) { return leaky_relu(x, 0.25); }, {-1, 0, 1}) == list({0.25, 0.25, 1}));
  CHECK(gradient([](Tensor x) { return hardshrink(x); }, {-0.5, 0.25, 1}) == list({0, 0, 1}));
  CHECK(gradient([](Tensor x) { return threshold(x, 0.5, 9); }, {0.5, 0.75}) == list({0, 1}));
  CHECK(gradient([](Tensor x) { return pow(x, 0.0); }, {0, 2}) == list({0, 0}));
  CHECK(gradient([](Tensor x) { return pow(2, x); }, {0}) == list({std::log(2.0)}));
  CHECK(gradient([](Tensor x) { return floor(x); }, {0.5}) == list({0}));
}

TEST_CASE("gradients of broadcast operands and of numbers beside tensors") {
  Tensor a = counted({2, 3}, kDouble).requires_grad_(), b = counted({3}, kDouble).requires_grad_();
  std::vector<Tensor> g = autograd::grad({(a * b).sum()}, {a, b});
  CHECK_SAME(g[0], b.detach().expand({2, 3}).contiguous());
  CHECK_SAME(g[1], a.detach().sum(0));
  CHECK_SAME(autograd::grad({(3 - a * 2).sum()}, {a})[0], full({2, 3}, -2.0, kDouble));
  CHECK_SAME(autograd::grad({a.add(b, 2).sum()}, {b})[0], full({3}, 4.0, kDouble));
  CHECK_SAME(autograd::grad({(1 / b).sum()}, {b})[0], -1 / (b.detach() * b.detach()));
  Tensor half = counted({3}, kHalf).requires_grad_();
  CHECK(autograd::grad({(half * a).sum()}, {half})[0].dtype() == kHalf);
}

TEST_CASE("bad operands are named") {
  CHECK_ERROR(-ones({2}, kBool), "neg: not defined for Bool; use logical_not()");
  CHECK_ERROR(ones({2}, kBool) - ones({2}, kBool), "sub: not defined for Bool; use logical_xor()");
  CHECK_ERROR(ones({2}) & ones({2}), "bitwise_and: needs integers or Bool, got Float");
  CHECK_ERROR(where(ones({2}), 1, 2),
              "where: the condition must be Bool, got Float; compare first, for example x != 0");
  CHECK_ERROR(add(ones({2}, kInt), ones({2}, kInt), 0.5),
              "add: alpha = 0.5 must be an integer where the tensors are Int");
  CHECK_ERROR(clamp(ones({2}), std::optional<Scalar>()), "clamp: at least one of min and max must be given");
  CHECK_ERROR(div(ones({2}), 2, "down"), "div: rounding_mode must be \"floor\" or \"trunc\", got \"down\"");
  CHECK_ERROR(gelu(ones({2}), "erf"), "gelu: approximate must be \"none\" or \"tanh\", got \"erf\"");
  CHECK_ERROR(ones({2}) + Tensor(), "add: input 1 is undefined");
  CHECK_ERROR(pow(ones({2}, kInt), -1),
              "pow: integers cannot be raised to the negative power -1; convert the tensor to a floating "
              "dtype first");
  CHECK_ERROR(ones({2}, kInt).masked_fill(ones({2}, kBool), 1.5),
              "masked_fill: a value of Double cannot be written to a tensor of Int");
}

// --- every row ---

namespace {

template <int Row>
const detail::Op& op_of() {
  return detail::PointwiseOp<Row, 0, 0>::op;
}
constexpr const detail::Op& (*kOps[])() = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) op_of<generic::kRow_##name>,
#include <tarn/core/ops/pointwise.def>
};

Tensor run_row(int row, const std::vector<Tensor>& tensors) {
  std::vector<detail::In> in(tensors.begin(), tensors.end());
  Scalar numbers[3] = {1, 2, 3};
  return detail::dispatch(kOps[row](), {in.data(), in.size()}, {},
                          {numbers, size_t(kPointwiseRows[row].param_count)});
}

std::vector<Tensor> operands(int row, IntArrayRef sizes, ScalarType dtype) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < kPointwiseRows[row].operands; ++i) {
    bool condition = generic::kSlotA + i == generic::condition_slot(kPointwiseRows[row].kind);
    Tensor t = empty(sizes, condition ? kBool : dtype);
    fill_with(t, [&](int64_t k) {
      int64_t v = (k * (7 + 2 * i) + 3 * i) % 29;
      return condition ? double(v % 2) : is_floating(dtype) ? double(v) * 0.25 - 2 : double(v) - 9;
    });
    tensors.push_back(t);
  }
  return tensors;
}

bool takes(int row, ScalarType dtype) {
  RowKind kind = kPointwiseRows[row].kind;
  return kind != RowKind::INT || !is_floating(dtype);
}

// The same values, elsewhere in memory: transposed, with a gap between rows, and with a step between
// elements.
Tensor laid_out(const Tensor& t, int how) {
  int64_t rows = t.size(0), columns = t.size(1);
  Tensor home = how == 0   ? empty({columns, rows}, t.dtype()).t()
                : how == 1 ? empty({rows, columns + 3}, t.dtype()).slice(1, 2, columns + 2)
                           : empty({rows, columns * 2}, t.dtype()).slice(1, 0, columns * 2, 2);
  home.copy_(t);
  return home;
}

}  // namespace

TEST_CASE("every row gives the same bits whatever the layout of its operands") {
  for (int row = 0; row < generic::kRows; ++row)
    for (ScalarType dtype : {kFloat, kDouble, kLong, kHalf, kInt})
      for (Dims sizes : {Dims{5, 7}, Dims{3, 1100}}) {
        if (!takes(row, dtype)) continue;
        INFO(kPointwiseRows[row].name << " " << str(dtype));
        std::vector<Tensor> in = operands(row, sizes, dtype);
        Tensor want = run_row(row, in);
        for (int how = 0; how < 3; ++how) {
          std::vector<Tensor> other = in;
          for (size_t i = 0; i < in.size(); ++i) other[i] = laid_out(in[i], (how + int(i)) % 3);
          CHECK(bit_difference(run_row(row, other), want) == "");
        }
      }
}

TEST_CASE("every row rounds 16-bit floats once, from float arithmetic") {
  for (int row = 0; row < generic::kRows; ++row)
    for (ScalarType dtype : {kHalf, kBFloat16}) {
      if (!takes(row, dtype)) continue;
      INFO(kPointwiseRows[row].name);
      std::vector<Tensor> in = operands(row, {4, 33}, dtype), wide = in;
      for (Tensor& t : wide)
        if (t.dtype() == dtype) t = t.to(kFloat);
      Tensor got = run_row(row, in), want = run_row(row, wide);
      CHECK(bit_difference(got, want.dtype() == kBool ? want : want.to(dtype)) == "");
    }
}

TEST_CASE("every row gives the same bits on one thread and on several") {
  int before = get_num_threads();
  for (int row = 0; row < generic::kRows; ++row) {
    ScalarType dtype = takes(row, kFloat) ? kFloat : kLong;
    std::vector<Tensor> in = operands(row, {100001}, dtype);
    set_num_threads(1);
    Tensor one = run_row(row, in);
    set_num_threads(3);
    CHECK(bit_difference(run_row(row, in), one) == "");
  }
  set_num_threads(before);
}

TEST_CASE("kernels of every row agree on every instruction set and at every length") {
  std::mt19937_64 random(5);
  const double specials[] = {0.0,       -0.0, 1,      -1,   0.5, 3,   -3, INFINITY,
                             -INFINITY, NAN,  1e-310, 1e30, 7,   -20, 0.1};
  auto check_type = [&]<class T>(std::vector<const detail::PointwiseTable*> tables, T) {
    constexpr int64_t n = 61;
    std::vector<T> in[generic::kSlots];
    for (auto& values : in)
      for (int64_t i = 0; i < n; ++i) {
        double v = specials[random() % std::size(specials)];
        values.push_back(std::is_integral_v<T> ? T(int64_t(random()) >> (random() % 64)) : T(v));
      }
    std::vector<uint8_t> truth;
    for (int64_t i = 0; i < n; ++i) truth.push_back(random() & 1);
    T numbers[3] = {T(2), T(3), T(4)};
    for (int row = 0; row < generic::kRows; ++row)
      for (int text = 0; text < 4; ++text) {
        if (!tables[0]->kernels[row][text]) continue;
        INFO(kPointwiseRows[row].name << " text " << text);
        const void* slots[generic::kSlots];
        for (int s = 0; s < generic::kSlots; ++s) slots[s] = in[s].data();
        int condition = generic::condition_slot(kPointwiseRows[row].kind);
        if (condition != generic::kSlots) slots[condition] = truth.data();
        bool flags = kPointwiseRows[row].kind == RowKind::COMPARE;
        size_t width = flags ? 1 : sizeof(T);
        std::vector<unsigned char> want(n * sizeof(T), 0xee);
        tables[0]->kernels[row][text](want.data(), slots, numbers, n);
        int wrong = 0;
        for (const detail::PointwiseTable* table : tables)
          for (int64_t length = 1; length <= n; ++length) {
            std::vector<unsigned char> got(n * sizeof(T), 0xee);
            table->kernels[row][text](got.data(), slots, numbers, length);
            for (int64_t i = 0; i < n; ++i) {
              if (i >= length) {  // nothing is written past the end
                for (size_t b = 0; b < width; ++b) wrong += got[i * width + b] != 0xee;
                continue;
              }
              bool same = std::memcmp(&got[i * width], &want[i * width], width) == 0;
              if (!same && !flags && !std::is_integral_v<T>) {
                T x, y;
                std::memcpy(&x, &got[i * width], sizeof x), std::memcpy(&y, &want[i * width], sizeof y);
                same = x != x && y != y;
              }
              wrong += !same;
            }
          }
        CHECK(wrong == 0);
      }
  };
  [[maybe_unused]] detail::CpuIsa best = detail::choose_isa(nullptr, detail::cpu_best_isa());
  std::vector<const detail::PointwiseTable*> f32 = {&generic::pointwise_f32}, f64 = {&generic::pointwise_f64},
                                             i64 = {&generic::pointwise_i64};
#if TARN_HAS_V3
  if (best >= detail::CpuIsa::V3)
    f32.push_back(&v3::pointwise_f32), f64.push_back(&v3::pointwise_f64), i64.push_back(&v3::pointwise_i64);
#endif
#if TARN_HAS_V4
  if (best >= detail::CpuIsa::V4)
    f32.push_back(&v4::pointwise_f32), f64.push_back(&v4::pointwise_f64), i64.push_back(&v4::pointwise_i64);
#endif
  check_type(f32, float());
  check_type(f64, double());
  check_type(i64, int64_t());
}
