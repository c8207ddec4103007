#include <tarn/tests/ops/pointwise_row.h>

#include <tarn/core/ops/copy.h>

namespace tarn::testing {

namespace {

Input number(double value, ScalarType dtype) { return listed({value}, {}).as(dtype).no_grad(); }

bool lists(const std::vector<ScalarType>& dtypes, ScalarType t) {
  return std::find(dtypes.begin(), dtypes.end(), t) != dtypes.end();
}

template <class T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

const std::vector<double> kPairsLeft{0,  -0.0, 1,  -1, 2.5, -2.5, INFINITY, -INFINITY, NAN, 1,   0,
                                     -2, 3,    -3, 7,  -7,  6,    100,      INFINITY,  0.5, -0.5};
const std::vector<double> kPairsRight{-0.0, 0,  1, 1,  2.5, -2.5, INFINITY, 1,         1, NAN, 1,
                                      2,    -2, 2, -3, 3,   0.25, -0.5,     -INFINITY, 2, 3};

}  // namespace

Row unary_row(UnaryRow r) {
  std::string function = r.python ? r.python : r.name, text = function + "(x)",
              write = r.name + std::string("_(x)");
  Row row{.name = r.name, .dtypes = r.dtypes, .grad = r.grad};
  row.f32 = r.f32;
  row.f64 = r.f64;
  row.uncompared = r.uncompared;
  row.why_uncompared = r.why_uncompared;
  // 69 elements: several vectors of any width, and a tail.
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{3, 23}, {}, {0, 3}, {2, 2, 1, 3, 2}})
    row.samples.push_back({text, r.call, {{sizes, r.range}}});
  if (r.special) row.samples.push_back({text, r.call, {r.special_grad ? special() : special().no_grad()}});
  if (r.special && !r.special_grad) row.samples.push_back({text, r.call, {finite()}});
  row.inplace.push_back({write, r.write, r.call, {{{3, 23}, r.range}}});

  std::string op = r.error_name ? r.error_name : r.name;
  row.errors.push_back({op + ": the first tensor is undefined", text, r.call, {undefined()}});
  if (r.write_expanded)
    row.errors.push_back(
        {op + ": cannot write in place to a tensor of sizes [3, 2] and strides [0, 1], where several "
              "elements share one place; call clone() first",
         write,
         r.write_expanded,
         {{{2}, r.range}}});
  row.errors.push_back(
      {op + "_: a tensor made in InferenceMode cannot be written outside of it; call clone() first",
       write,
       [write_to = r.write](const Tensors& in) {
         Tensors made;
         {
           InferenceMode inference;
           made = {clone(in[0])};
         }
         return write_to(made);
       },
       {{{2}, r.range}}});
  if (r.floating && lists(r.dtypes, kLong))
    row.errors.push_back({op + "_: the result is Float, which cannot be written to a tensor of Long",
                          write,
                          r.write,
                          {Input{{2}, r.range}.as(kLong)}});
  append_to(row.samples, r.more);
  append_to(row.inplace, r.inplace);
  append_to(row.errors, r.errors);
  return row;
}

Row binary_row(BinaryRow r) {
  std::string op = r.name, both = op + "(x, y)", right = op + "(x, y.item())", left = op + "(y.item(), x)";
  // Where PyTorch takes tensors only, number() makes one that is promoted as the number would be.
  std::string right_python = r.numbers ? right : op + "(x, number(y.item(), x))";
  std::string left_python = op + "(number(y.item(), x), x)";
  Row row{.name = r.name, .dtypes = r.dtypes, .grad = r.grad};
  row.f32 = r.f32;
  row.f64 = r.f64;
  row.uncompared = r.uncompared;
  row.why_uncompared = r.why_uncompared;
  auto in = [&](std::vector<int64_t> sizes) {
    Input input(std::move(sizes), r.range);
    input.smooth = r.smooth;
    return input;
  };
  auto add = [&](std::vector<Input> inputs) { row.samples.push_back({both, r.call, std::move(inputs)}); };
  add({in({3, 23}), in({3, 23})});
  add({in({4, 1, 3}), in({2, 1})});
  add({in({}), in({3})});
  add({in({0, 3}), in({3})});
  add({in({2, 5}), in({5})});
  if (r.special && r.special_grad) add({listed(kPairsLeft), listed(kPairsRight)});
  if (r.special && !r.special_grad) add({listed(kPairsLeft).no_grad(), listed(kPairsRight).no_grad()});
  bool takes_floats = lists(r.dtypes, kFloat);
  if (r.mixed && takes_floats) {
    add({in({3}).as(kInt), in({3})});
    add({in({3}).as(kHalf), in({}).as(kDouble)});
    add({in({3}).as(kHalf), in({3}).as(kBFloat16)});
    add({in({}).as(kLong), in({3}).as(kHalf)});
  }
  if (r.mixed) {
    add({in({3}).as(kByte), in({3}).as(kChar)});
    add({in({}).as(kLong), in({3}).as(kInt)});
    add({in({3}).as(kShort), in({1}).as(kLong)});
  }
  if (takes_floats) {
    row.samples.push_back({right, r.call_scalar, {in({2, 9}), number(r.number, kDouble)}, right_python});
    if (r.call_left)
      row.samples.push_back({left, r.call_left, {in({2, 9}), number(r.number, kDouble)}, left_python});
    row.samples.push_back(
        {right, r.call_scalar, {in({9}).as(kInt), number(r.number, kDouble)}, right_python});
  }
  row.samples.push_back({right, r.call_scalar, {in({9}).as(kShort), number(2, kLong)}, right_python});

  row.inplace.push_back({"x." + op + "_(y)", r.write, r.call, {in({3, 23}), in({3, 23})}});
  row.inplace.push_back({"x." + op + "_(y)", r.write, r.call, {in({4, 5}), in({5})}});
  row.inplace.push_back(
      {"x." + op + "_(y.item())", r.write_scalar, r.call_scalar, {in({4, 5}), number(2, kLong)}});

  if (r.error_name) op = r.error_name;
  row.errors.push_back({op + ": shapes [2, 3] and [4, 2] do not broadcast: dim 1 is 3 and 2",
                        both,
                        r.call,
                        {in({2, 3}).as(r.dtypes.front()), in({4, 2}).as(r.dtypes.front())}});
  row.errors.push_back({op + ": the first tensor is undefined", both, r.call, {undefined(), in({2})}});
  row.errors.push_back({op + "_: the result has sizes [2, 3], the tensor written in place [3]",
                        "y." + op + "_(x)",
                        r.write_small,
                        {in({2, 3}).as(r.dtypes.front()), in({3}).as(r.dtypes.front())}});
  append_to(row.samples, r.more);
  append_to(row.inplace, r.inplace);
  append_to(row.errors, r.errors);
  return row;
}

}  // namespace tarn::testing
