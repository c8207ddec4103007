// A form is what one Op of the pointwise family computes: a row's value or one of its gradients, with some
// operands given as numbers. Op::text points to it. Private to core/ops/pointwise_*.cpp and
// core/cpu/pointwise.cpp, and to compile.
#pragma once

#include <tarn/core/op.h>
#include <tarn/core/ops/pointwise_rows.h>

namespace tarn::inline v1::detail {

using generic::kPointwiseRows;
using generic::PointwiseRow;
using generic::RowKind;

struct PointwiseForm {
  const PointwiseRow* row;
  int text;                // 0: value; 1 + i: gradient of operand i
  int inputs;              // tensors, in the order of slots
  int numbers;             // operands given as Scalars; they stand before the row's own numbers
  uint8_t input_slots[5];  // PointwiseSlot of each
  uint8_t number_slots[3];
  int condition;  // the input that is a bool and takes no part in type promotion, or -1

  int row_index() const { return int(row - kPointwiseRows); }
};

// `mask`: bit i is set where operand i is a number.
constexpr PointwiseForm make_form(int row_index, int text, unsigned mask) {
  const PointwiseRow& row = kPointwiseRows[row_index];
  PointwiseForm form{&row, text, 0, 0, {}, {}, -1};
  // A value takes all its operands; a gradient only what its text reads.
  unsigned reads = text == 0 ? ((1u << row.operands) - 1) << generic::kSlotA : row.reads[text];
  for (int slot = 0; slot < generic::kSlots; slot++) {
    bool is_number =
        slot >= generic::kSlotA && slot <= generic::kSlotC && ((mask >> (slot - generic::kSlotA)) & 1);
    if (is_number) {
      form.number_slots[form.numbers++] = uint8_t(slot);
    } else if ((reads >> slot) & 1) {
      if (slot == generic::condition_slot(row.kind)) form.condition = form.inputs;
      form.input_slots[form.inputs++] = uint8_t(slot);
    }
  }
  return form;
}

// What the gradient of operand i (bit i of `operands`) reads, as Op::saves of the value's form.
constexpr Saves form_saves(const PointwiseForm& value, unsigned operands) {
  unsigned slots = 0;
  for (int i = 0; i < value.row->operands; i++)
    if ((operands >> i) & 1) slots |= value.row->reads[1 + i];
  Saves saves = (slots >> generic::kSlotY) & 1 ? save_output() : 0;
  for (int i = 0; i < value.inputs; i++)
    if ((slots >> value.input_slots[i]) & 1) saves |= save_input(i);
  return saves;
}

// The same for the inputs of `needs`, the inputs being the operands that are tensors.
constexpr Saves form_saves_for(const PointwiseForm& value, uint32_t needs) {
  unsigned operands = 0;
  for (int i = 0; i < value.inputs; i++)
    if ((needs >> i) & 1) operands |= 1u << (value.input_slots[i] - generic::kSlotA);
  return form_saves(value, operands);
}

constexpr bool has_gradient(const PointwiseRow& row) {
  return row.gradient[0][0] || row.gradient[1][0] || row.gradient[2][0];
}

// The dtype that the operands are brought to: the common dtype, made floating where the row wants that.
ScalarType pointwise_dtype(const PointwiseForm& form, const Args& a);

void pointwise_infer(const Args& a, Spec* out);
void pointwise_cpu(const Args& a, Tensor* out);
void pointwise_cuda(const Args& a, Tensor* out);

// A number as the kernels that compute in `compute` take it. Integers are first brought to the common dtype,
// where they may wrap; where the row's numbers are bounds they are cut to the dtype's range instead.
void put_pointwise_number(void* to, const PointwiseForm& form, ScalarType compute, ScalarType common,
                          const Scalar& value);
// `gradients`: the ops of the row's gradients.
void pointwise_gradient(const PointwiseForm& form, const Op* const gradients[3], GradArgs& g);

template <int Row, int Text, unsigned Mask>
struct PointwiseOp {
  static constexpr PointwiseForm form = make_form(Row, Text, Mask);
  static Saves saves_for(uint32_t needs) { return form_saves_for(form, needs); }
  static void grad(GradArgs& g) {
    static constexpr const Op* gradients[3] = {&PointwiseOp<Row, 1, Mask>::op, &PointwiseOp<Row, 2, Mask>::op,
                                               &PointwiseOp<Row, 3, Mask>::op};
    pointwise_gradient(form, gradients, g);
  }
  static constexpr bool differentiable = Text == 0 && has_gradient(kPointwiseRows[Row]);
  static constexpr Op make() {
    Op op{.name = Text == 0 ? form.row->name : form.row->backward_name, .infer = pointwise_infer};
    op.kind = Kind::Pointwise;
    op.cpu = pointwise_cpu;
    op.cuda = pointwise_cuda;
    if constexpr (differentiable) {
      op.grad = grad;
      op.saves = form_saves(form, 7);
      op.saves_for = saves_for;
    }
    op.inplace = Text == 0;
    op.text = &form;
    return op;
  }
  static constexpr Op op = make();
};

}  // namespace tarn::inline v1::detail
