// The texts of pointwise.def: each is run on a recording symbol, whose record must mean what the kernel
// computes; on tensors; and is compiled by NVRTC where that is installed.
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tarn/autograd/autograd.h>
#include <tarn/core/cpu/math.h>
#include <tarn/core/cpu/pointwise_kernels.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/tests/nvrtc.h>
#include <tarn/tests/support.h>

namespace {

using namespace tarn;
using namespace tarn::testing;
using generic::kPointwiseRows;
using generic::PointwiseRow;
using generic::RowKind;

// --- a type that records what a text does to it ---

struct Symbol {
  std::string op;  // a slot's or number's name, a literal's digits, or an operation
  std::vector<std::shared_ptr<Symbol>> in;
  double literal = 0;

  Symbol() : op("none") {}
  explicit Symbol(std::string name) : op(std::move(name)) {}
  Symbol(int value) : op("literal"), literal(value) {}
  Symbol(double value) : op("literal"), literal(value) {}
  template <class... S>
  static Symbol apply(const char* op, const S&... in) {
    Symbol s{std::string(op)};
    (s.in.push_back(std::make_shared<Symbol>(in)), ...);
    return s;
  }

#define OPERATOR(op) \
  friend Symbol operator op(const Symbol& a, const Symbol& b) { return apply(#op, a, b); }
  OPERATOR(+)
  OPERATOR(-)
  OPERATOR(*)
  OPERATOR(/)
  OPERATOR(&)
  OPERATOR(|)
  OPERATOR(^)
  OPERATOR(==)
  OPERATOR(!=)
  OPERATOR(<)
  OPERATOR(<=)
  OPERATOR(>)
  OPERATOR(>=)
#undef OPERATOR
  Symbol operator-() const { return apply("neg", *this); }
  Symbol operator~() const { return apply("~", *this); }
#define FUNCTION1(f) \
  friend Symbol f(const Symbol& x) { return apply(#f, x); }
#define FUNCTION2(f) \
  friend Symbol f(const Symbol& a, const Symbol& b) { return apply(#f, a, b); }
// clang-format off
#define FUNCTIONS1(F)                                                                        \
  F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) F(asin)      \
  F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(sqrt)  \
  F(rsqrt) F(sigmoid) F(abs) F(sign) F(floor) F(ceil) F(round) F(trunc) F(zeros_like)        \
  F(isnan) F(isinf) F(isfinite)
// clang-format on
#define FUNCTIONS2(F) F(max) F(min) F(pow) F(atan2) F(fmod) F(remainder) F(floor_divide)
  FUNCTIONS1(FUNCTION1)
  FUNCTIONS2(FUNCTION2)
  friend Symbol where(const Symbol& c, const Symbol& a, const Symbol& b) { return apply("where", c, a, b); }
};

// Evaluates a record with scalars of the kernels' own arithmetic; truth values are 0 and 1.
using D = generic::V<double, 1>;
using Names = std::map<std::string, double>;

double evaluate(const Symbol& s, const Names& names) {
  if (s.op == "literal") return s.literal;
  if (s.in.empty()) return names.at(s.op);
  std::vector<D> v;
  for (const auto& child : s.in) v.push_back(D(evaluate(*child, names)));
  auto truth = [](auto mask) { return mask.m ? 1.0 : 0.0; };
  auto number = [&]<class Y>(Y y) {
    if constexpr (std::is_same_v<Y, D>) {
      return y.v;
    } else {
      return truth(y);
    }
  };
  const std::string& op = s.op;
#define CASE1(f) \
  if (op == #f) return number(f(v[0]));
#define CASE2(f) \
  if (op == #f) return f(v[0], v[1]).v;
  FUNCTIONS1(CASE1)
  FUNCTIONS2(CASE2)
  if (op == "+") return (v[0] + v[1]).v;
  if (op == "-") return (v[0] - v[1]).v;
  if (op == "*") return (v[0] * v[1]).v;
  if (op == "/") return (v[0] / v[1]).v;
  if (op == "neg") return (-v[0]).v;
  if (op == "==") return truth(v[0] == v[1]);
  if (op == "!=") return truth(v[0] != v[1]);
  if (op == "<") return truth(v[0] < v[1]);
  if (op == "<=") return truth(v[0] <= v[1]);
  if (op == ">") return truth(v[0] > v[1]);
  if (op == ">=") return truth(v[0] >= v[1]);
  if (op == "&") return truth((v[0] != 0) & (v[1] != 0));
  if (op == "|") return truth((v[0] != 0) | (v[1] != 0));
  if (op == "^") return truth((v[0] != 0) ^ (v[1] != 0));
  if (op == "where") return v[0].v != 0 ? v[1].v : v[2].v;
  FAIL("a text uses " << op << ", which the recorder does not know");
  return 0;
}

// The four texts of a row on symbols named after its slots and numbers.
template <int Row>
Symbol record(int text) {
  auto name = [](const char* s) { return Symbol(std::string(s)); };
  const PointwiseRow& row = kPointwiseRows[Row];
  generic::RowText<Row, Symbol, Symbol, Symbol, Symbol> t{
      name("g"), name(row.operand_names[0]), name(row.operand_names[1]), name(row.operand_names[2]),
      name("y"), name(row.params[0]),        name(row.params[1]),        name(row.params[2])};
  return text == 0   ? t.value_text()
         : text == 1 ? t.gradient_text0()
         : text == 2 ? t.gradient_text1()
                     : t.gradient_text2();
}
constexpr Symbol (*kRecord[])(int) = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) record<generic::kRow_##name>,
#include <tarn/core/ops/pointwise.def>
};

const char* text_of(const PointwiseRow& row, int text) {
  return text == 0 ? row.value : row.gradient[text - 1];
}

const double kPoints[] = {0.0, -0.0, 0.25, -0.25, 0.5,  -0.5, 1,      -1,    2,        -2,        3,
                          -3,  6,    0.7,  -0.7,  20.5, -30,  1e-310, 1e300, INFINITY, -INFINITY, NAN};

}  // namespace

TEST_CASE("a symbol that records a text means what the kernel computes") {
  std::mt19937_64 random(3);
  auto pick = [&] { return kPoints[random() % std::size(kPoints)]; };
  for (int r = 0; r < generic::kRows; ++r) {
    const PointwiseRow& row = kPointwiseRows[r];
    int condition = generic::condition_slot(row.kind);
    for (int text = 0; text < 4; ++text) {
      auto kernel = generic::pointwise_f64.kernels[r][text];
      if (!*text_of(row, text) || !kernel) continue;
      INFO(row.name << ": " << text_of(row, text));
      Symbol recorded = kRecord[r](text);
      int wrong = 0;
      for (int trial = 0; trial < 200; ++trial) {
        double in[generic::kSlots], numbers[3], out[8];
        for (double& x : in) x = pick();
        for (double& x : numbers) x = pick();
        uint8_t truth = uint8_t(random() & 1);
        const void* slots[generic::kSlots];
        for (int s = 0; s < generic::kSlots; ++s) slots[s] = s == condition ? (void*)&truth : &in[s];
        kernel(out, slots, numbers, 1);
        Names names = {{"g", in[0]}, {"y", in[4]}};
        for (int i = 0; i < row.operands; ++i)
          names[row.operand_names[i]] = generic::kSlotA + i == condition ? double(truth) : in[1 + i];
        for (int i = 0; i < row.param_count; ++i) names[row.params[i]] = numbers[i];
        double want = evaluate(recorded, names);
        double got = row.kind == RowKind::COMPARE ? double(*(uint8_t*)out) : out[0];
        wrong += !(std::isnan(got) && std::isnan(want)) && std::memcmp(&got, &want, 8) != 0;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("no text of pointwise.def branches or names the standard library") {
  for (const PointwiseRow& row : kPointwiseRows)
    for (int text = 0; text < 4; ++text)
      for (const char* forbidden : {"&&", "||", "?", "std::", "if"}) {
        INFO(row.name << ": " << text_of(row, text));
        CHECK(std::strstr(text_of(row, text), forbidden) == nullptr);
      }
}

// --- gradients: fused kernels against texts on tensors, and both against differences ---

namespace {

template <int Row>
const detail::Op& op_of() {
  return detail::PointwiseOp<Row, 0, 0>::op;
}
constexpr const detail::Op& (*kOps[])() = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) op_of<generic::kRow_##name>,
#include <tarn/core/ops/pointwise.def>
};

struct Call {
  std::vector<Tensor> in;
  std::vector<Scalar> numbers;
};

// Operands where every row is smooth and in its domain.
Call smooth_call(const PointwiseRow& row) {
  Call call;
  bool above_one = std::strcmp(row.name, "acosh") == 0;
  for (int i = 0; i < row.operands; ++i) {
    if (generic::kSlotA + i == generic::condition_slot(row.kind)) {
      Tensor c = empty({7}, kBool);
      fill_with(c, [](int64_t k) { return k % 3 == 0; });
      call.in.push_back(c);
      continue;
    }
    Tensor t = empty({7}, kDouble);
    fill_with(t, [&](int64_t k) {
      return 0.11 + 0.113 * double((k * 3 + i * 2) % 7) + 0.017 * i + (above_one ? 1.5 : 0);
    });
    call.in.push_back(t.requires_grad_());
  }
  for (int i = 0; i < row.param_count; ++i) call.numbers.push_back(0.3 + 0.45 * i);
  return call;
}

Tensor run(int row, const Call& call) {
  std::vector<detail::In> in(call.in.begin(), call.in.end());
  return detail::dispatch(kOps[row](), {in.data(), in.size()}, {},
                          {call.numbers.data(), call.numbers.size()});
}

}  // namespace

TEST_CASE("fused gradients are the texts on tensors to the bit, and agree with differences") {
  for (int r = 0; r < generic::kRows; ++r) {
    const PointwiseRow& row = kPointwiseRows[r];
    if (!detail::has_gradient(row)) continue;
    INFO(row.name);
    Call call = smooth_call(row);
    Tensor y = run(r, call), g = full({7}, 1.25, kDouble);
    for (int i = 0; i < row.operands; ++i) {
      if (!*row.gradient[i]) continue;
      Tensor fused = autograd::grad({y}, {call.in[i]}, {g}, true)[0];
      Tensor by_text = autograd::grad({y}, {call.in[i]}, {g}, true, true)[0];
      CHECK(bit_difference(fused, by_text) == "");
      NoGradGuard guard;
      constexpr double h = 1e-6;
      Call up = call, down = call;
      up.in[i] = call.in[i] + h, down.in[i] = call.in[i] - h;
      CHECK(difference(fused, (run(r, up) - run(r, down)) * (1.25 / (2 * h)), {1e-7, 1e-8}) == "");
    }
  }
}

// --- NVRTC ---

namespace {

// A scalar with the rules of V<T, 1>, as device code will have it: just enough to compile every text.
const char kDevicePrelude[] = R"(
typedef long long int64_t; typedef unsigned long long uint64_t;
template <class T> struct S { T v;
  __device__ S() {} __device__ S(int x) : v(T(x)) {} __device__ S(double x) : v(T(x)) {} __device__ S(float x) : v(T(x)) {}
  __device__ S(int64_t x) : v(T(x)) {} };
#define BINARY(op) template <class T> __device__ S<T> operator op(S<T> a, S<T> b) { return S<T>(T(a.v op b.v)); } \
  template <class T, class U> __device__ S<T> operator op(S<T> a, U b) { return a op S<T>(b); } \
  template <class T, class U> __device__ S<T> operator op(U a, S<T> b) { return S<T>(a) op b; }
BINARY(+) BINARY(-) BINARY(*) BINARY(/)
#define COMPARE(op) template <class T> __device__ bool operator op(S<T> a, S<T> b) { return a.v op b.v; } \
  template <class T, class U> __device__ bool operator op(S<T> a, U b) { return a.v op T(b); }
COMPARE(==) COMPARE(!=) COMPARE(<) COMPARE(<=) COMPARE(>) COMPARE(>=)
#define BITS(op) __device__ inline S<int64_t> operator op(S<int64_t> a, S<int64_t> b) { return S<int64_t>(a.v op b.v); }
BITS(&) BITS(|) BITS(^) __device__ inline S<int64_t> operator~(S<int64_t> a) { return S<int64_t>(~a.v); }
template <class T> __device__ S<T> operator-(S<T> a) { return S<T>(T(-a.v)); }
template <class T> struct Same { typedef T type; };
template <class T> __device__ S<T> where(bool c, S<T> a, S<T> b) { return c ? a : b; }
template <class T> __device__ S<T> where(bool c, S<T> a, typename Same<S<T>>::type b) { return c ? a : b; }
template <class T> __device__ S<T> where(bool c, typename Same<S<T>>::type a, S<T> b) { return c ? a : b; }
#define M1(f) template <class T> __device__ S<T> f(S<T> x) { return S<T>(T(::f(x.v))); }
M1(exp) M1(exp2) M1(expm1) M1(log) M1(log2) M1(log10) M1(log1p) M1(sin) M1(cos) M1(tan) M1(asin) M1(acos) M1(atan) M1(sinh)
M1(cosh) M1(tanh) M1(asinh) M1(acosh) M1(atanh) M1(erf) M1(erfc) M1(sqrt) M1(rsqrt) M1(floor) M1(ceil) M1(trunc) M1(abs)
template <class T> __device__ S<T> round(S<T> x) { return S<T>(T(::rint(x.v))); }
#define WHOLE(f) __device__ inline S<int64_t> f(S<int64_t> x) { return x; }
WHOLE(floor) WHOLE(ceil) WHOLE(trunc) WHOLE(round)
template <class T> __device__ S<T> sigmoid(S<T> x) { return 1 / (1 + exp(-x)); }
template <class T> __device__ S<T> sign(S<T> x) { return S<T>(int(x.v > 0) - int(x.v < 0)); }
template <class T> __device__ S<T> zeros_like(S<T>) { return S<T>(0); }
template <class T> __device__ bool isnan(S<T> x) { return x.v != x.v; }
template <class T> __device__ bool isinf(S<T> x) { return ::isinf(double(x.v)); }
template <class T> __device__ bool isfinite(S<T> x) { return ::isfinite(double(x.v)); }
#define M2(f, value) template <class T> __device__ S<T> f(S<T> a, S<T> b) { return value; } \
  template <class T, class U> __device__ S<T> f(S<T> a, U b) { return f(a, S<T>(b)); }
M2(max, where(isnan(a) | (a > b), a, b)) M2(min, where(isnan(a) | (a < b), a, b)) M2(pow, S<T>(T(::pow(double(a.v), double(b.v)))))
M2(atan2, S<T>(T(::atan2(a.v, b.v)))) M2(fmod, S<T>(T(::fmod(double(a.v), double(b.v))))) M2(remainder, fmod(a, b)) M2(floor_divide, floor(a / b))
)";

// One device function per text and compute type.
std::string device_source() {
  std::string source = kDevicePrelude;
  for (const PointwiseRow& row : kPointwiseRows)
    for (const char* type : {"float", "double", "int64_t"}) {
      bool integer = type[0] == 'i';
      if (integer ? row.kind == RowKind::FLOAT : row.kind == RowKind::INT) continue;
      for (int text = 0; text < (integer ? 1 : 4); ++text) {
        if (!*text_of(row, text)) continue;
        std::string value = str("S<", type, ">"), parameters = str(value, " g, ", value, " y");
        for (int i = 0; i < row.operands; ++i)
          parameters += str(", ", generic::kSlotA + i == generic::condition_slot(row.kind) ? "bool" : value,
                            " ", row.operand_names[i]);
        for (int i = 0; i < row.param_count; ++i) parameters += str(", ", value, " ", row.params[i]);
        source += str("__device__ ", row.kind == RowKind::COMPARE ? "bool" : value, " ", row.name, "_", text,
                      "_", type, "(", parameters, ") { return ", text_of(row, text), "; }\n");
      }
    }
  return source;
}

}  // namespace

TEST_CASE("NVRTC compiles every text of pointwise.def", "[slow]") {
  auto nvrtc = Nvrtc::find();
  if (!nvrtc) return;
  CHECK(nvrtc->complaints(device_source()) == "");
  CHECK(nvrtc->complaints(device_source() +
                          "__device__ float bad(float x) { return no_such_function(x); }") != "");
}
