// Gradients: against PyTorch's, against finite differences, and the same for every memory layout and in
// place.
#include <tarn/autograd/autograd.h>
#include <tarn/autograd/gradcheck.h>
#include <tarn/core/ops/copy.h>

#include <tarn/tests/ops/finite_differences.h>
#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/runner.h>

namespace tarn::testing {

namespace {

bool takes_part(const Input& input, const Tensor& t) {
  return t.defined() && t.is_floating_point() && input.grad;
}

// The inputs of a sample as leaves that require grad, and which of them do.
struct Leaves {
  Tensors all, wanted;
  std::vector<size_t> numbers;
};

Leaves make_leaves(const std::vector<Input>& inputs, ScalarType dtype, Layout layout = Layout::Contiguous) {
  Leaves leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor t = make(inputs[i], int(i), dtype, layout);
    if (takes_part(inputs[i], t)) {
      t.requires_grad_();
      leaves.wanted.push_back(t);
      leaves.numbers.push_back(i);
    }
    leaves.all.push_back(t);
  }
  return leaves;
}

struct Outputs {
  Tensors used, weights;
};

Outputs with_weights(const Tensors& outputs) {
  Outputs o;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].defined() && outputs[k].requires_grad()) {
      o.used.push_back(outputs[k]);
      o.weights.push_back(gradient_weight(outputs[k], int(k)));
    }
  return o;
}

Tensors gradients_of(const Call& call, const Leaves& leaves) {
  Outputs o = with_weights(call(leaves.all));
  REQUIRE(!o.used.empty());
  Tensors grads = autograd::grad(o.used, leaves.wanted, o.weights, false, false, true);
  for (size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].defined()) {
      grads[i] = detail::make_tensor(leaves.wanted[i].sizes(), leaves.wanted[i].dtype());
      fill_with(grads[i], [](int64_t) { return 0; });
    }
  return grads;
}

void check_against_golden(const Row& row, const Sample& sample, ScalarType dtype) {
  INFO(sample.text << " of " << to_string(dtype));
  Leaves leaves = make_leaves(sample.inputs, dtype);
  if (leaves.wanted.empty()) return;
  std::string key = golden_key(row, sample, dtype);
  // PyTorch's result may be a constant, or have no gradient, where ours has.
  if (!golden(key, str("grad", leaves.numbers[0])).found) {
    Tensors out = sample.call(leaves.all);
    for (const Tensor& t : out) CHECK_FALSE(t.requires_grad());
    return;
  }
  Tensors grads = gradients_of(sample.call, leaves);
  // The gradient of one input is no more precise than another input's dtype.
  Tolerance tolerance = gradient_tolerance(row, dtype);
  for (const Tensor& t : leaves.wanted)
    if (tolerance.relative < gradient_tolerance(row, t.dtype()).relative)
      tolerance = gradient_tolerance(row, t.dtype());
  for (size_t i = 0; i < grads.size(); ++i) {
    INFO("gradient of input " << leaves.numbers[i]);
    GoldenValue want = golden(key, str("grad", leaves.numbers[i]));
    REQUIRE(want.found);
    CHECK_CLOSE(grads[i], want.value, tolerance);
  }
}

void check_layouts(const Row& row, const Sample& sample) {
  if (row.no_layouts) return;
  Leaves plain = make_leaves(sample.inputs, kDouble);
  if (plain.wanted.empty() || with_weights(sample.call(plain.all)).used.empty()) return;
  Tensors want = gradients_of(sample.call, plain);
  for (Layout layout : kTwins) {
    INFO(sample.text << " of " << to_string(layout) << " inputs");
    Tensors got = gradients_of(sample.call, make_leaves(sample.inputs, kDouble, layout));
    for (size_t i = 0; i < want.size(); ++i) CHECK_CLOSE(got[i], want[i], gradient_tolerance(row, kDouble));
  }
}

// Finite differences need inputs without kinks, and few enough elements.
bool checkable(const Sample& sample, int64_t most_elements) {
  int64_t elements = 0;
  bool any = false;
  for (const Input& i : sample.inputs) {
    if (!i.smooth && i.dtype.value_or(kDouble) == kDouble) return false;
    int64_t count = 1;
    for (int64_t size : i.sizes) count *= size;
    elements += count;
    any |= i.grad && !i.dtype;
    if (i.dtype && is_floating(*i.dtype) && *i.dtype != kDouble) return false;
  }
  return any && elements <= most_elements;
}

bool all_finite(const Tensors& tensors) {
  for (const Tensor& t : tensors)
    for (double value : values_of(t))
      if (!std::isfinite(value)) return false;
  return true;
}

using Check = std::string (*)(const Call& f, const Tensors& inputs);

void run_check(const Sample& sample, Check check, int64_t most_elements = 300) {
  if (!checkable(sample, most_elements)) return;
  INFO(sample.text);
  Leaves leaves = make_leaves(sample.inputs, kDouble);
  if (leaves.wanted.empty()) return;
  Outputs outputs = with_weights(sample.call(leaves.all));
  if (outputs.used.empty() || !all_finite(outputs.used)) return;
  // The check sees the leaves only; the other inputs stay as they are.
  auto f = [&](const Tensors& wanted) {
    Tensors all = leaves.all;
    for (size_t i = 0; i < wanted.size(); ++i) all[leaves.numbers[i]] = wanted[i];
    return sample.call(all);
  };
  CHECK(check(f, leaves.wanted) == "");
}

// The library's own checkers, of the whole Jacobian: every element of every output.
template <auto Checker>
std::string whole_jacobian(const Call& f, const Tensors& inputs) {
  std::string error = error_of([&] { Checker(f, inputs, {}); });
  return error == "no error" ? "" : error;
}
constexpr int64_t kJacobianElements = 40;

}  // namespace

void test_gradients(const Row& row) {
  for (const Sample& sample : row.samples) {
    check_against_golden(row, sample, kDouble);
    check_against_golden(row, sample, kFloat);
    check_layouts(row, sample);
    run_check(sample, check_first_gradients);
    run_check(sample, whole_jacobian<autograd::gradcheck>, kJacobianElements);
  }
}

void run_gradients(const Row& row) {
  for (const Sample& sample : row.samples) {
    Leaves leaves = make_leaves(sample.inputs, kDouble);
    if (leaves.wanted.empty()) continue;
    Outputs o = with_weights(sample.call(leaves.all));
    if (o.used.empty()) continue;
    Tensors grads = autograd::grad(o.used, leaves.wanted, o.weights, true, row.second, true);
    Outputs again = with_weights(grads);
    if (!again.used.empty()) autograd::grad(again.used, leaves.wanted, again.weights, false, false, true);
  }
}

void test_second_gradients(const Row& row) {
  for (const Sample& sample : row.samples) {
    run_check(sample, check_second_gradients);
    run_check(sample, whole_jacobian<autograd::gradgradcheck>, kJacobianElements);
  }
}

void test_third_gradients(const Row& row) {
  for (const Sample& sample : row.samples) run_check(sample, check_third_gradients);
}

void test_inplace_gradients(const Row& row) {
  for (const InPlace& form : row.inplace) {
    INFO(form.text);
    Leaves leaves = make_leaves(form.inputs, kDouble);
    Tensors want = gradients_of(form.value, leaves);
    auto on_a_copy = [&](const Tensors& all) {
      Tensors copies = all;
      copies[0] = clone(all[0]);
      form.write(copies);
      return Tensors{copies[0]};
    };
    Tensors got = gradients_of(on_a_copy, make_leaves(form.inputs, kDouble));
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK_CLOSE(got[i], want[i], gradient_tolerance(row, kDouble));
    // A leaf that requires grad must not be overwritten.
    std::string error = error_of([&] { form.write(leaves.all); });
    CHECK(error.find("a leaf that requires grad") != std::string::npos);
  }
}

}  // namespace tarn::testing
