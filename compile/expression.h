// Expression: what a fused group does to one element, as a list of steps in the order of evaluation. It knows
// dtypes but no sizes or strides, so that one expression, and one compiled kernel, serves every shape. The
// plain interpreter in reference.h is the definition of its meaning; tile.h and emit.h run it fast.
//
// A step gives one value. Between steps a value is held as float, double, int64 or a flag; Round steps stand
// wherever memory of a smaller dtype would have cut it, so that a fused group gives the bits of its ops run
// one after the other.
#pragma once

#include <string>
#include <vector>

#include <tarn/core/scalar.h>

namespace tarn::inline v1::detail {

struct PointwiseForm;

// Flag: a truth value as a byte 0 or 1.
enum class Held : uint8_t { F32, F64, I64, Flag };

constexpr Held held_of(ScalarType dtype) {
  return dtype == kBool       ? Held::Flag
         : dtype == kDouble   ? Held::F64
         : is_floating(dtype) ? Held::F32
                              : Held::I64;
}
constexpr ScalarType dtype_of_held(Held held) {
  return held == Held::F32 ? kFloat : held == Held::F64 ? kDouble : held == Held::I64 ? kLong : kBool;
}
constexpr int held_size(Held held) { return held == Held::F32 ? 4 : held == Held::Flag ? 1 : 8; }

enum class StepKind : uint8_t {
  Load,     // operand `index`
  Number,   // number `index`
  Row,      // row `index` of pointwise.def, its value or a gradient, computed in `computes`
  Round,    // what memory of `dtype` would have kept of in[0]; also the conversion to a smaller dtype
  Convert,  // in[0] held in another, wider way
  Store,    // in[0] into operand `index`
};

struct Step {
  StepKind kind = StepKind::Load;
  Held held = Held::F32;      // of the result
  Held computes = Held::F32;  // Row
  ScalarType dtype = kFloat;  // Round: to; Load and Store: of the memory
  int index = -1;
  int text = 0;                      // Row: 0 is the value, 1 + i the gradient of operand i
  int in[5] = {-1, -1, -1, -1, -1};  // steps; a Row's by slot
  int params[3] = {-1, -1, -1};      // numbers
  friend bool operator==(const Step&, const Step&) = default;
};

// A run-time number as the texts take it: held so, after it was brought to the dtype `common`.
struct Number {
  int scalar = -1;  // of the segment; -1: the constant `value`
  Held held = Held::F32;
  ScalarType common = kFloat;
  bool bound = false;  // cut to the dtype's range instead of wrapped
  int64_t value = 0;
  friend bool operator==(const Number&, const Number&) = default;
};

struct ExpressionOperand {
  ScalarType dtype = kFloat;
  bool read = false, written = false;
  friend bool operator==(const ExpressionOperand&, const ExpressionOperand&) = default;
};

struct Expression {
  std::vector<Step> steps;
  std::vector<ExpressionOperand> operands;
  std::vector<Number> numbers;
  friend bool operator==(const Expression&, const Expression&) = default;
};

// For people: one line per step.
TARN_API std::string to_text(const Expression& e);

// All numbers of `e` for one run, 8 bytes apart.
TARN_API void put_numbers(const Expression& e, const Scalar* scalars, int64_t* to);

// Makes expressions from ops. The same step asked for twice is made once.
class TARN_API ExpressionBuilder {
 public:
  // A value as memory of `dtype` would keep it.
  struct Value {
    int step = -1;
    ScalarType dtype = kFloat;
    bool zero_dim = false;  // its tensor has no dims: PyTorch's rules for numbers hold
  };

  int add_operand(ScalarType dtype);
  Value load(int operand, bool zero_dim = false);
  // `inputs`: the form's tensors. `first_scalar`: where its run-time numbers begin. `common`: the dtype that
  // operands are brought to; `result`: that of the tensor which takes the result.
  Value apply(const PointwiseForm& form, const std::vector<Value>& inputs, int first_scalar,
              ScalarType common, ScalarType result);
  // (x - high - low) * scale + shift, as batch_norm has it; all of x's dtype or wider.
  Value normalise(Value x, Value high, Value low, Value scale, Value shift);
  Value cast(Value x, ScalarType dtype);
  // The number `scalar` as a tensor of `dtype` would hold it.
  Value number(int scalar, ScalarType dtype);
  void store(Value x, int operand);
  // Without steps whose result nothing uses.
  Expression take();

 private:
  int add(Step step);
  int add_number(Number number);
  int convert(int step, Held held);
  int round(int step, ScalarType dtype);
  int row(int index, Held held, int a, int b, int param);

  Expression e_;
};

}  // namespace tarn::inline v1::detail
