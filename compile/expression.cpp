#include <tarn/compile/expression.h>

#include <algorithm>
#include <cstring>

#include <tarn/core/ops/pointwise_form.h>

namespace tarn::inline v1::detail {

namespace {

constexpr Held compute_of(ScalarType dtype) { return dtype == kBool ? Held::I64 : held_of(dtype); }

constexpr const char* kHeldNames[] = {"f32", "f64", "i64", "flag"};

// As core/cpu/pointwise.cpp has it: rows whose numbers are cut to an integer dtype's range.
bool takes_bounds(const PointwiseForm& form) {
  int row = form.row_index();
  return row == generic::kRow_clamp || row == generic::kRow_clamp_min || row == generic::kRow_clamp_max ||
         row == generic::kRow_hardtanh;
}

void append_row(std::string& out, const Step& s) {
  const PointwiseRow& row = kPointwiseRows[s.index];
  out += s.text == 0 ? row.name : row.backward_name;
  if (s.text > 0) out += str(s.text - 1);
  out += "(";
  const char* separator = "";
  const char* slot_names[] = {"g", row.operand_names[0], row.operand_names[1], row.operand_names[2], "y"};
  for (int slot = 0; slot < generic::kSlots; ++slot) {
    if (s.in[slot] < 0) continue;
    out += str(separator, slot_names[slot], "=%", s.in[slot]);
    separator = ", ";
  }
  for (int i = 0; i < row.param_count; ++i)
    out += str(separator, row.params[i], "=#", s.params[i]), separator = ", ";
  out += ")";
  if (s.computes != s.held) out += str(" in ", kHeldNames[int(s.computes)]);
}

}  // namespace

std::string to_text(const Expression& e) {
  std::string out;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    if (s.kind == StepKind::Store) {
      out += str("store %", s.in[0], " -> @", s.index, " ", s.dtype, "\n");
      continue;
    }
    out += str("%", i, " = ");
    if (s.kind == StepKind::Load) out += str("load @", s.index, " ", s.dtype);
    if (s.kind == StepKind::Number) out += str("number #", s.index);
    if (s.kind == StepKind::Round) out += str("round %", s.in[0], " to ", s.dtype);
    if (s.kind == StepKind::Convert) out += str("convert %", s.in[0]);
    if (s.kind == StepKind::Row) append_row(out, s);
    out += str(" : ", kHeldNames[int(s.held)], "\n");
  }
  for (size_t i = 0; i < e.numbers.size(); ++i) {
    const Number& n = e.numbers[i];
    out += n.scalar < 0 ? str("#", i, " = ", n.value) : str("#", i, " = scalar ", n.scalar);
    out += str(" as ", n.common, n.bound ? ", cut to its range" : "", "\n");
  }
  return out;
}

void put_numbers(const Expression& e, const Scalar* scalars, int64_t* to) {
  const PointwiseForm &plain = PointwiseOp<generic::kRow_add, 0, 0>::form,
                      &bounded = PointwiseOp<generic::kRow_clamp, 0, 6>::form;
  for (size_t i = 0; i < e.numbers.size(); ++i) {
    const Number& n = e.numbers[i];
    to[i] = 0;
    put_pointwise_number(to + i, n.bound ? bounded : plain, dtype_of_held(n.held), n.common,
                         n.scalar < 0 ? Scalar(n.value) : scalars[n.scalar]);
  }
}

int ExpressionBuilder::add_operand(ScalarType dtype) {
  e_.operands.push_back({dtype, false, false});
  return int(e_.operands.size()) - 1;
}

int ExpressionBuilder::add(Step step) {
  // A load may not move over a store: it could then see what was written.
  for (size_t i = e_.steps.size(); i-- > 0 && e_.steps[i].kind != StepKind::Store;)
    if (e_.steps[i] == step) return int(i);
  e_.steps.push_back(step);
  return int(e_.steps.size()) - 1;
}

int ExpressionBuilder::add_number(Number number) {
  auto found = std::find(e_.numbers.begin(), e_.numbers.end(), number);
  if (found == e_.numbers.end()) found = e_.numbers.insert(found, number);
  return int(found - e_.numbers.begin());
}

ExpressionBuilder::Value ExpressionBuilder::load(int operand, bool zero_dim) {
  ExpressionOperand& o = e_.operands[size_t(operand)];
  o.read = true;
  return {add({.kind = StepKind::Load, .held = held_of(o.dtype), .dtype = o.dtype, .index = operand}),
          o.dtype, zero_dim};
}

int ExpressionBuilder::convert(int step, Held held) {
  if (e_.steps[size_t(step)].held == held) return step;
  return add({.kind = StepKind::Convert, .held = held, .in = {step, -1, -1, -1, -1}});
}

int ExpressionBuilder::round(int step, ScalarType dtype) {
  Held from = e_.steps[size_t(step)].held;
  if (from == held_of(dtype) && dtype == dtype_of_held(from)) return step;
  if (from == Held::Flag) return round(convert(step, Held::I64), dtype);
  return add({.kind = StepKind::Round, .held = held_of(dtype), .dtype = dtype, .in = {step, -1, -1, -1, -1}});
}

ExpressionBuilder::Value ExpressionBuilder::apply(const PointwiseForm& form, const std::vector<Value>& inputs,
                                                  int first_scalar, ScalarType common, ScalarType result) {
  Held computes = compute_of(common);
  Step row{.kind = StepKind::Row,
           .held = form.row->kind == RowKind::COMPARE && form.text == 0 ? Held::Flag : computes,
           .computes = computes,
           .index = form.row_index(),
           .text = form.text};
  for (int i = 0; i < form.inputs; ++i) {
    const Value& v = inputs[size_t(i)];
    int step = v.step;
    if (i != form.condition) {
      bool narrow = common == kHalf || common == kBFloat16 || (computes == Held::I64 && v.zero_dim);
      step = convert(step, computes);
      if (narrow && v.dtype != common) step = convert(round(step, common), computes);
    }
    row.in[form.input_slots[i]] = step;
  }
  for (int i = 0; i < form.numbers; ++i) {
    int number = add_number({first_scalar + i, computes, common, takes_bounds(form)});
    row.in[form.number_slots[i]] = add({.kind = StepKind::Number, .held = computes, .index = number});
  }
  for (int i = 0; i < form.row->param_count; ++i)
    row.params[i] = add_number({first_scalar + form.numbers + i, computes, common, takes_bounds(form)});
  // What the text does not read need not be there.
  for (int slot = 0; slot < generic::kSlots; ++slot)
    if (!(form.row->reads[form.text] >> slot & 1)) row.in[slot] = -1;
  return {round(add(row), result), result, false};
}

int ExpressionBuilder::row(int index, Held held, int a, int b, int param) {
  return add({.kind = StepKind::Row,
              .held = held,
              .computes = held,
              .index = index,
              .in = {-1, a, b, -1, -1},
              .params = {param, -1, -1}});
}

ExpressionBuilder::Value ExpressionBuilder::normalise(Value x, Value high, Value low, Value scale,
                                                      Value shift) {
  Held held = held_of(x.dtype);
  int one = add_number({-1, held, dtype_of_held(held), false, 1});
  int centred = row(generic::kRow_sub, held, x.step, convert(high.step, held), one);
  centred = row(generic::kRow_sub, held, centred, convert(low.step, held), one);
  int scaled = row(generic::kRow_mul, held, centred, convert(scale.step, held), -1);
  int shifted = row(generic::kRow_add, held, scaled, convert(shift.step, held), one);
  return {round(shifted, x.dtype), x.dtype, false};
}

ExpressionBuilder::Value ExpressionBuilder::cast(Value x, ScalarType dtype) {
  // To a wider way of holding nothing is lost.
  int step = x.step;
  if (dtype == kDouble || (dtype == kLong && held_of(x.dtype) != Held::F32 && held_of(x.dtype) != Held::F64))
    step = convert(step, held_of(dtype));
  return {round(step, dtype), dtype, x.zero_dim};
}

ExpressionBuilder::Value ExpressionBuilder::number(int scalar, ScalarType dtype) {
  Held held = compute_of(dtype);
  int number = add_number({scalar, held, dtype, false});
  return {round(add({.kind = StepKind::Number, .held = held, .index = number}), dtype), dtype, false};
}

void ExpressionBuilder::store(Value x, int operand) {
  ExpressionOperand& o = e_.operands[size_t(operand)];
  ensure(o.dtype == x.dtype, "compile: a value of ", x.dtype, " is stored as ", o.dtype);
  o.written = true;
  e_.steps.push_back({.kind = StepKind::Store,
                      .held = held_of(o.dtype),
                      .dtype = o.dtype,
                      .index = operand,
                      .in = {x.step, -1, -1, -1, -1}});
}

Expression ExpressionBuilder::take() {
  std::vector<Step>& steps = e_.steps;
  std::vector<int> place(steps.size(), -1);
  std::vector<bool> used(steps.size());
  for (size_t i = steps.size(); i-- > 0;) {
    used[i] = used[i] || steps[i].kind == StepKind::Store;
    for (int from : steps[i].in)
      if (used[i] && from >= 0) used[size_t(from)] = true;
  }
  Expression result{{}, e_.operands, e_.numbers};
  for (ExpressionOperand& o : result.operands) o.read = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!used[i]) continue;
    Step step = steps[i];
    for (int& from : step.in)
      if (from >= 0) from = place[size_t(from)];
    if (step.kind == StepKind::Load) result.operands[size_t(step.index)].read = true;
    place[i] = int(result.steps.size());
    result.steps.push_back(step);
  }
  e_ = {};
  return result;
}

}  // namespace tarn::inline v1::detail
