// Pointwise kernels against the CPU: every row of pointwise.def by its value and gradients, and the ways
// operands lie.
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

using namespace tarn::detail;

// All rows' values and gradients as ops.
template <int... Row>
std::vector<std::array<const Op*, 4>> all_forms(std::integer_sequence<int, Row...>) {
  return {{&PointwiseOp<Row, 0, 0>::op, &PointwiseOp<Row, 1, 0>::op, &PointwiseOp<Row, 2, 0>::op,
           &PointwiseOp<Row, 3, 0>::op}...};
}

// Operands of a form, in (0, 1), where all functions but acosh are defined.
std::vector<Tensor> operands_of(const PointwiseForm& form, ScalarType dtype) {
  std::vector<Tensor> operands;
  for (int i = 0; i < form.inputs; ++i) {
    Formula formula = kProbability;
    formula.b += 40 * i;
    if (form.row_index() == generic::kRow_acosh) formula.c = -257;
    Tensor t = formula_tensor({4, 50}, dtype, is_integral(dtype) ? kAround0 : formula);
    operands.push_back(i == form.condition ? t > (is_integral(dtype) ? 0 : 0.5) : t);
  }
  return operands;
}

Tensor run(const Op& op, const PointwiseForm& form, const std::vector<Tensor>& operands) {
  NoGradGuard no_grad;
  std::vector<In> inputs(operands.begin(), operands.end());
  Scalar numbers[] = {1.25, 0.5, 2.0};
  for (Scalar& n : numbers)
    if (is_integral(operands[0].dtype())) n = int64_t(2);
  return dispatch(op, {inputs.data(), inputs.size()}, {}, {numbers, size_t(form.row->param_count)});
}

void check_form(const Op& op, ScalarType dtype) {
  const PointwiseForm& form = *static_cast<const PointwiseForm*>(op.text);
  INFO(op.name << ", text " << form.text << ", " << to_string(dtype));
  std::vector<Tensor> operands = operands_of(form, dtype), moved;
  for (const Tensor& t : operands) moved.push_back(t.to(kGpu));
  Tensor got, expected = run(op, form, operands);
  CHECK(launches_of([&] { got = run(op, form, moved); }, op.name) == 1);
  CHECK_CLOSE(got.cpu(), expected, dtype == kFloat ? Tolerance{1e-5, 1e-6} : Tolerance{1e-11, 1e-12});
}

}  // namespace

TEST_CASE("every row of pointwise.def, values and gradients") {
  auto forms = all_forms(std::make_integer_sequence<int, generic::kRows>());
  for (auto& texts : forms) {
    for (int text = 0; text < 4; ++text) {
      const PointwiseForm& form = *static_cast<const PointwiseForm*>(texts[text]->text);
      bool has_text = text == 0 || form.row->gradient[text - 1][0];
      if (!has_text || form.inputs == 0) continue;
      bool integers_only = form.row->kind == RowKind::INT, takes_integers = form.row->kind != RowKind::FLOAT;
      if (!integers_only)
        for (ScalarType dtype : {kFloat, kDouble}) check_form(*texts[text], dtype);
      if (takes_integers && text == 0) check_form(*texts[text], kLong);
    }
  }
}

TEST_CASE("operands that are broadcast, strided, of other dtypes, or numbers") {
  Tensor a = formula_tensor({3, 4, 5}), b = formula_tensor({4, 1}), c = formula_tensor({5}, kDouble);
  CHECK_DEVICE(on(a) + on(b));
  CHECK_DEVICE(on(a) * on(c));
  CHECK_DEVICE(on(a).transpose(0, 2) - on(a).transpose(0, 2).contiguous());
  CHECK_DEVICE(on(a).slice(1, 0, 4, 2) / 3);
  CHECK_DEVICE(2 - on(a));
  CHECK_DEVICE(on(formula_tensor({6}, kInt)) * on(formula_tensor({6}, kShort)));
  CHECK_DEVICE(on(formula_tensor({6}, kInt)) / 2);
  CHECK_DEVICE(on(formula_tensor({6}, kHalf)) * on(formula_tensor({6}, kHalf)));
  CHECK_DEVICE(on(formula_tensor({6}, kBFloat16)) + 0.3);
  CHECK_DEVICE(where(on(a) > 0, on(a), 0));
  CHECK_DEVICE(on(a).masked_fill(on(a) < 0, -1));
  CHECK_DEVICE(on(a).to(kBool) | (on(a) > 1));
}

TEST_CASE("in-place ops on the device") {
  Tensor x = formula_tensor({4, 5});
  auto changed = [&](auto on) {
    Tensor y = on(x).clone();
    y.add_(1).mul_(on(x)).select(0, 2).relu_();
    return y;
  };
  CHECK_DEVICE(changed(on));
  auto counted = [&](auto on) { return on(zeros({}, kLong)).add_(1); };
  CHECK_DEVICE(counted(on));
}

TEST_CASE("gradients of pointwise chains on the device") {
  Tensor x = formula_tensor({20}, kDouble);
  auto gradient = [&](auto on) {
    Tensor leaf = on(x).detach().requires_grad_();
    (leaf.tanh() * leaf.exp() + relu(leaf)).sum().backward();
    return leaf.grad();
  };
  CHECK_DEVICE(gradient(on));
}
