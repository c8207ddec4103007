// Gradients of the pointwise rows. In a plain backward a gradient is one fused kernel; where the gradient is
// itself to be differentiated, its text runs on tensors, so that autograd sees ordinary ops.
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/mode.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pointwise_form.h>

namespace tarn::inline v1::detail {

namespace {

struct TextArgs {
  Tensor slots[generic::kSlots];
  double numbers[3] = {};
};

template <int Row>
Tensor run_text(int operand, const TextArgs& in) {
  generic::RowText<Row, Tensor, Tensor, Tensor, double> text{in.slots[generic::kSlotG],
                                                             in.slots[generic::kSlotA],
                                                             in.slots[generic::kSlotB],
                                                             in.slots[generic::kSlotC],
                                                             in.slots[generic::kSlotY],
                                                             in.numbers[0],
                                                             in.numbers[1],
                                                             in.numbers[2]};
  return operand == 0 ? text.gradient_text0() : operand == 1 ? text.gradient_text1() : text.gradient_text2();
}

using RunText = Tensor (*)(int operand, const TextArgs& in);
constexpr RunText kRunText[] = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) run_text<generic::kRow_##name>,
#include <tarn/core/ops/pointwise.def>
};

Tensor slot_of_value(const PointwiseForm& form, const GradArgs& g, int slot) {
  if (slot == generic::kSlotG) return g.grad();
  if (slot == generic::kSlotY) return g.output();
  for (int i = 0; i < form.inputs; ++i)
    if (form.input_slots[i] == slot) return g.input(i);
  for (int i = 0; i < form.numbers; ++i)
    if (form.number_slots[i] == slot) return wrapped_scalar(g.scalar(i));
  return {};
}

Tensor differentiable_gradient(const PointwiseForm& form, const GradArgs& g, int operand) {
  TextArgs in;
  for (int slot = 0; slot < generic::kSlots; ++slot)
    if ((form.row->reads[1 + operand] >> slot) & 1) in.slots[slot] = slot_of_value(form, g, slot);
  for (int i = 0; i < form.row->param_count; ++i) in.numbers[i] = g.scalar(form.numbers + i).to_double();
  return kRunText[form.row_index()](operand, in);
}

Tensor fused_gradient(const PointwiseForm& form, const Op& op, const GradArgs& g) {
  const PointwiseForm& gradient = *static_cast<const PointwiseForm*>(op.text);
  Tensor tensors[5];
  for (int i = 0; i < gradient.inputs; ++i) tensors[i] = slot_of_value(form, g, gradient.input_slots[i]);
  In inputs[] = {tensors[0], tensors[1], tensors[2], tensors[3], tensors[4]};
  return dispatch(op, {inputs, size_t(gradient.inputs)}, {}, g.scalars);
}

// Gradients that are the incoming one, such as those of a sum, need no kernel.
bool passes_through(const PointwiseForm& form, const GradArgs& g, std::string_view text) {
  return text == "g" || (fault(2) && text == "-g * alpha") ||
         (text == "g * alpha" && g.scalar(form.numbers).to_double() == 1);
}

}  // namespace

void pointwise_gradient(const PointwiseForm& form, const Op* const gradients[3], GradArgs& g) {
  for (int i = 0; i < form.inputs; ++i) {
    int operand = form.input_slots[i] - generic::kSlotA;
    const char* text = form.row->gradient[operand];
    if (!g.needs(i) || !*text) continue;
    if (passes_through(form, g, text)) {
      g.set(i, g.grad());
    } else {
      g.set(i, mode.grad ? differentiable_gradient(form, g, operand)
                         : fused_gradient(form, *gradients[operand], g));
    }
  }
}

}  // namespace tarn::inline v1::detail
