#include <tarn/autograd/gradcheck.h>

#include <cmath>

#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1::autograd {

namespace {

variable_list requiring_grad(const variable_list& tensors) {
  variable_list kept;
  for (const Tensor& t : tensors)
    if (t.defined() && t.requires_grad()) kept.push_back(t);
  return kept;
}

void check_inputs(const char* op, const variable_list& wanted) {
  check(!wanted.empty(), op, ": no input requires grad; call requires_grad_() on what is to be checked");
  for (const Tensor& t : wanted) {
    check(t.dtype() == kDouble, op, ": inputs that require grad must be Double, got ", t.dtype());
    for (int d = 0; d < t.dim(); ++d)
      check(t.sizes()[d] <= 1 || t.strides()[d] != 0, op, ": an input of sizes ", t.sizes(), " and strides ",
            t.strides(), " repeats memory; call clone() first");
  }
}

// The address of element i in row-major order.
double* element(const Tensor& t, int64_t i) {
  int64_t offset = 0;
  for (int d = int(t.dim()) - 1; d >= 0; --d) {
    offset += i % t.sizes()[d] * t.strides()[d];
    i /= t.sizes()[d];
  }
  return static_cast<double*>(t.data_ptr()) + offset;
}

// All outputs that require grad, one element after the other.
std::vector<double> values(const variable_list& outputs) {
  std::vector<double> all;
  for (const Tensor& out : requiring_grad(outputs)) {
    Tensor dense = contiguous(detail::cast(out.detach(), kDouble));
    const double* p = static_cast<const double*>(dense.data_ptr());
    all.insert(all.end(), p, p + dense.numel());
  }
  return all;
}

// Column of the Jacobian: d outputs / d one element. f reads the input's memory anew, so moving it is enough.
std::vector<double> numeric_column(const CheckedFunction& f, const variable_list& inputs, double* place,
                                   double eps) {
  const double x = *place;
  *place = x + eps;
  std::vector<double> above = values(f(inputs));
  *place = x - eps;
  std::vector<double> below = values(f(inputs));
  *place = x;
  for (size_t i = 0; i < above.size(); ++i) above[i] = (above[i] - below[i]) / (2 * eps);
  return above;
}

// Rows of the Jacobian: d one element of an output / d inputs, as one list of gradients per output element.
std::vector<variable_list> analytic_rows(const variable_list& outputs, const variable_list& wanted) {
  std::vector<variable_list> rows;
  for (const Tensor& out : outputs) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      Tensor one = zeros(out.sizes(), out.options());
      one.view({-1}).select(0, i).fill_(1);
      rows.push_back(grad({out}, wanted, {one}, /*retain_graph=*/true, /*create_graph=*/false,
                          /*allow_unused=*/true));
    }
  }
  return rows;
}

double gradient_at(const Tensor& gradient, int64_t i) {
  return gradient.defined() ? *element(detail::cast(gradient.detach(), kDouble), i) : 0.0;
}

// Empty where the Jacobians agree.
std::string first_difference(const char* op, const CheckedFunction& f, const variable_list& inputs,
                             const GradcheckOptions& options) {
  variable_list wanted = requiring_grad(inputs);
  check_inputs(op, wanted);
  variable_list outputs = requiring_grad(f(inputs));
  check(!outputs.empty(), op, ": no output requires grad, so there is nothing to check");
  std::vector<variable_list> rows = analytic_rows(outputs, wanted);
  for (size_t n = 0; n < wanted.size(); ++n) {
    for (int64_t i = 0; i < wanted[n].numel(); ++i) {
      std::vector<double> column = numeric_column(f, inputs, element(wanted[n], i), options.eps);
      ensure(column.size() == rows.size(), op, ": the outputs' sizes changed between calls");
      for (size_t row = 0; row < rows.size(); ++row) {
        double analytic = gradient_at(rows[row][n], i), numeric = column[row];
        if (std::abs(analytic - numeric) <= options.atol + options.rtol * std::abs(numeric)) continue;
        return str(op, ": autograd says ", analytic, ", differences say ", numeric, " for output element ",
                   row, " with respect to element ", i, " of input ", n, " of those that require grad");
      }
    }
  }
  return "";
}

bool report(const std::string& difference, const GradcheckOptions& options) {
  if (!difference.empty() && options.raise_exception) fail(difference);
  return difference.empty();
}

}  // namespace

bool gradcheck(const CheckedFunction& f, const variable_list& inputs, GradcheckOptions options) {
  return report(first_difference("gradcheck", f, inputs, options), options);
}

bool gradgradcheck(const CheckedFunction& f, const variable_list& inputs, GradcheckOptions options) {
  check_inputs("gradgradcheck", requiring_grad(inputs));
  variable_list all = inputs;
  for (const Tensor& out : requiring_grad(f(inputs)))
    all.push_back(randn(out.sizes(), kDouble).requires_grad_());
  const size_t count = inputs.size();
  auto gradients = [&](const variable_list& points) {
    variable_list in(points.begin(), points.begin() + int64_t(count));
    variable_list weights(points.begin() + int64_t(count), points.end());
    variable_list found =
        grad(requiring_grad(f(in)), requiring_grad(in), weights, true, /*create_graph=*/true,
             /*allow_unused=*/true);
    return requiring_grad(found);
  };
  // A gradient that depends on nothing, such as that of floor, leaves nothing to compare.
  if (gradients(all).empty()) return true;
  return report(first_difference("gradgradcheck", gradients, all, options), options);
}

}  // namespace tarn::inline v1::autograd
