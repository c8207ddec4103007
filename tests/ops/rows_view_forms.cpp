// Rows of the views that are made of other views.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

#define VIEW .dtypes = kEveryDtype, .grad = true, .view = true

std::vector<Row> moving_rows() {
  return {
      {.name = "swapdims",
       VIEW,
       .samples = {S(swapdims(x, 0, 2), {2, 3, 4}), S(x.swapdims(0, 0), {}), S(x.swapaxes(0, 1), {0, 3})},
       .few_errors = "another name of transpose"},
      {.name = "adjoint",
       VIEW,
       .samples = {S(adjoint(x), {2, 3, 4}), S(x.adjoint(), {3, 2}), S(adjoint(x), {}),
                   S(adjoint(x), {0, 3})},
       .errors = {E("adjoint: the tensor must be 0-dim or have at least 2 dims, got sizes [3]", adjoint(x),
                    {3})},
       .few_errors = "takes nothing but the tensor"},
      {.name = "moveaxis",
       VIEW,
       .samples = {S(moveaxis(x, 0, 2), {2, 3, 4}), S(x.moveaxis(-1, 0), {2, 3}), S(moveaxis(x, 0, 0), {}),
                   S(moveaxis(x, {0, 1}, {1, 2}), {2, 0, 4}), S(x.moveaxis({0, 1}, {1, 2}), {2, 3, 4})},
       .few_errors = "another name of movedim"},
  };
}

std::vector<Row> piece_rows() {
  return {
      {.name = "tensor_split",
       VIEW,
       .samples = {S(tensor_split(x, 3), {7, 2}), S(x.tensor_split(2, 1), {2, 4}), S(tensor_split(x, 4), {2}),
                   S(tensor_split(x, {1, 4}, 0), {5, 3}), S(x.tensor_split({1, 3}, -1), {2, 3}),
                   S(tensor_split(x, {4, 1, -1}), {6}), S(tensor_split(x, 2), {0, 3})},
       .errors = {E("tensor_split: a 0-dim tensor cannot be split", tensor_split(x, 1), {}),
                  E("tensor_split: a 0-dim tensor cannot be split", tensor_split(x, {1, 2}), {}),
                  E("tensor_split: the number of sections must be positive, got 0", tensor_split(x, 0), {5}),
                  E("tensor_split: dim 1 is outside of a tensor of rank 1; use -1 to 0",
                    tensor_split(x, 1, 1), {5})},
       .no_scalar = "a 0-dim tensor cannot be split"},
      {.name = "hsplit",
       VIEW,
       .samples = {S(hsplit(x, 2), {3, 4}), S(hsplit(x, 3), {6}), S(hsplit(x, {1, 3}), {2, 4}),
                   S(hsplit(x, 2), {0, 4})},
       .errors = {E("hsplit: a 0-dim tensor cannot be split", hsplit(x, 1), {}),
                  E("hsplit: dim 1 of a tensor of sizes [2, 3] cannot be cut into 2 equal sections",
                    hsplit(x, 2), {2, 3}),
                  E("hsplit: the number of sections must be positive, got -1", hsplit(x, -1), {2, 3})},
       .no_scalar = "a 0-dim tensor cannot be split"},
      {.name = "vsplit",
       VIEW,
       .samples = {S(vsplit(x, 2), {4, 3}), S(vsplit(x, {1, 3}), {4, 2}), S(vsplit(x, 2), {0, 4})},
       .errors = {E("vsplit: the tensor must have at least 2 dims, got sizes [4]", vsplit(x, 2), {4}),
                  E("vsplit: dim 0 of a tensor of sizes [3, 2] cannot be cut into 2 equal sections",
                    vsplit(x, 2), {3, 2}),
                  E("vsplit: the number of sections must be positive, got 0", vsplit(x, 0), {2, 3})},
       .no_scalar = "needs two dims"},
      {.name = "dsplit",
       VIEW,
       .samples = {S(dsplit(x, 2), {2, 3, 4}), S(dsplit(x, {1, 3}), {1, 2, 4}), S(dsplit(x, 2), {0, 4, 2})},
       .errors = {E("dsplit: the tensor must have at least 3 dims, got sizes [4, 4]", dsplit(x, 2), {4, 4}),
                  E("dsplit: dim 2 of a tensor of sizes [2, 2, 3] cannot be cut into 2 equal sections",
                    dsplit(x, 2), {2, 2, 3}),
                  E("dsplit: the number of sections must be positive, got 0", dsplit(x, 0), {2, 3, 2})},
       .no_scalar = "needs three dims"},
  };
}

std::vector<Row> rank_rows() {
  return {
      {.name = "view_as",
       VIEW,
       .samples = {S(x.view_as(y), {2, 3}, Input({3, 2}).no_grad()),
                   S(x.view_as(y), {}, Input({1}).no_grad()), S(x.view_as(y), {0, 3}, Input({0}).no_grad())},
       .errors = {E("view: a tensor of sizes [2, 3] (6 elements) cannot take sizes [4]", x.view_as(y), {2, 3},
                    {4})},
       .no_layouts = "whether a view is possible depends on the strides",
       .few_errors = "as view"},
      {.name = "atleast_1d",
       VIEW,
       .samples = {S(atleast_1d(x), {}), S(atleast_1d(x), {3}), S(atleast_1d(x), {0, 3})},
       .few_errors = "takes any tensor"},
      {.name = "atleast_2d",
       VIEW,
       .samples = {S(atleast_2d(x), {}), S(atleast_2d(x), {3}), S(atleast_2d(x), {2, 3}),
                   S(atleast_2d(x), {0})},
       .few_errors = "takes any tensor"},
      {.name = "atleast_3d",
       VIEW,
       .samples = {S(atleast_3d(x), {}), S(atleast_3d(x), {3}), S(atleast_3d(x), {2, 3}),
                   S(atleast_3d(x), {2, 3, 2}), S(atleast_3d(x), {0})},
       .few_errors = "takes any tensor"},
      {.name = "sum_to_size",
       .dtypes = kFloats,
       .grad = true,
       .samples = {S(x.sum_to_size({2, 1}), {2, 3}), S(x.sum_to_size({3}), {2, 3}),
                   S(x.sum_to_size({1, 3}), {4, 2, 3}), S(x.sum_to_size({}), {2, 3}),
                   S(x.sum_to_size({2, 3}), {2, 3}), S(x.sum_to_size({}), {}),
                   S(x.sum_to_size({1, 3}), {0, 3})},
       .errors = {E("sum_to_size: sizes [2] do not expand to those of the tensor, [2, 3]", x.sum_to_size({2}),
                    {2, 3}),
                  E("sum_to_size: sizes [1, 2, 3] do not expand to those of the tensor, [2, 3]",
                    x.sum_to_size({1, 2, 3}), {2, 3}),
                  E("sum_to_size: sizes must not be negative, got [-1]", x.sum_to_size({-1}), {3})},
       .uncompared = {kLong, kInt, kShort, kChar, kByte, kBool},
       .why_uncompared = "sums of integers are Long"},
  };
}

}  // namespace

std::vector<Row> view_form_rows() { return join({moving_rows(), piece_rows(), rank_rows()}); }

}  // namespace tarn::testing
