// Rows of writing and taking by lists of places, and of scatter_reduce.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

using namespace indexing;

namespace {

#define MOVES .dtypes = kEveryDtype, .grad = true

std::vector<Row> slice_writing_rows() {
  return {
      {.name = "index_put",
       MOVES,
       .samples = {S_PY("x.index_put((y,), z)", index_put(x, {y}, z), {5, 3}, index_list({4, 0}), {2, 3}),
                   S_PY("x.index_put((y,), z, True)", index_put(x, {y}, z, true), {5, 3},
                        index_list({4, 0, 4}), {3}),
                   S_PY("x.index_put((y, z), w, True)", index_put(x, {y, z}, w, true), {3, 4},
                        index_list({1, 1, 0}), index_list({2, 2, 0}), {3}),
                   S_PY("x.index_put((y,), z)", x.index_put({y}, z), {3, 4}, mask({3, 4}), {}),
                   S_PY("x + z", index_put(x, {"..."}, z, true), {}, Input({1}).no_grad(), {}),
                   S_PY("x.index_put((y,), z)", index_put(x, {y}, z), {0, 3}, index_list({}, {0}), {3})},
       .inplace = {I(index_put_(x, {y}, z, true), index_put(x, {y}, z, true), {5, 3}, index_list({4, 0, 4}),
                     {3, 3})},
       .errors = {E("index_put_: shapes [4] and [2, 3] do not broadcast: dim 1 is 4 and 3",
                    index_put(x, {y}, z), {5, 3}, index_list({4, 0}), {4}),
                  E("index_put_: an index for 3 dims is too long for a tensor of sizes [2, 3]",
                    index_put(x, {0, 0, 0}, y), {2, 3}, {}),
                  E("index_put: index -3 is outside of a dim of size 2; x has sizes [2, 3] with the indexed "
                    "dims in front",
                    index_put(x, {y}, z), {2, 3}, index_list({0, -3}), {})}},
      {.name = "index_add",
       MOVES,
       .samples = {S(index_add(x, 0, y, z), {5, 3}, index_list({4, 0, 4}), {3, 3}),
                   S(x.index_add(1, y, z), {2, 4, 3}, index_list({1, 3}), {2, 2, 3}),
                   S_PY("index_add(x, -1, y, z, alpha=2)", index_add(x, -1, y, z, 2), {2, 3},
                        index_list({2, 0}), {2, 2}),
                   S_PY("x + z[0]", index_add(x, 0, y, z), {}, index_list({0}), {1}),
                   S(index_add(x, 0, y, z), {5, 3}, index_list({}, {0}), {0, 3}),
                   S(index_add(x, 0, y, z), {0, 3}, index_list({}, {0}).as(kInt), {0, 3})},
       .inplace = {I(x.index_add_(0, y, z), index_add(x, 0, y, z), {5, 3}, index_list({4, 0, 4}), {3, 3})},
       .errors = {E("index_add: index must be Int or Long, got Float", index_add(x, 0, y, z), {5}, {2}, {2}),
                  E("index_add: index must have at most 1 dim, got sizes [1, 2]", index_add(x, 0, y, z), {5},
                    index_list({0, 1}, {1, 2}), {2}),
                  E("index_add: src must have sizes [2, 3], got [3, 3]", index_add(x, 0, y, z), {5, 3},
                    index_list({0, 1}), {3, 3}),
                  E("index_add: src must have the dtype of the tensor, Float, got Double",
                    index_add(x, 0, y, z), {5}, index_list({0}), typed(kDouble, {1})),
                  E("index_add_: dim 1 is outside of a tensor of rank 1; use -1 to 0", x.index_add_(1, y, z),
                    {5}, index_list({0}), {1}),
                  E("index_add: alpha of integers must be an integer, got 0.5", index_add(x, 0, y, z, 0.5),
                    typed(kLong, {5}), index_list({0}), typed(kLong, {1})),
                  E("index_put: index 5 is outside of a dim of size 5; x has sizes [5] with the indexed dims "
                    "in front",
                    index_add(x, 0, y, z), {5}, index_list({5}), {1})}},
      {.name = "index_copy",
       MOVES,
       .samples = {S(index_copy(x, 0, y, z), {5, 3}, index_list({4, 0}), {2, 3}),
                   S(x.index_copy(-2, y, z), {2, 4, 3}, index_list({1, 3}), {2, 2, 3}),
                   S_PY("x * 0 + z[0]", index_copy(x, 0, y, z), {}, index_list({0}), {1}),
                   S(index_copy(x, 0, y, z), {5, 3}, index_list({}, {0}), {0, 3})},
       .inplace = {I(x.index_copy_(1, y, z), index_copy(x, 1, y, z), {3, 5}, index_list({4, 0}), {3, 2})},
       .errors = {E("index_copy: index must be Int or Long, got Float", index_copy(x, 0, y, z), {5}, {2},
                    {2}),
                  E("index_copy: src must have sizes [2], got [1]", index_copy(x, 0, y, z), {5},
                    index_list({0, 1}), {1}),
                  E("index_copy_: src must have the dtype of the tensor, Float, got Half",
                    x.index_copy_(0, y, z), {5}, index_list({0}), typed(kHalf, {1}))}},
      {.name = "index_fill",
       MOVES,
       .samples = {S(index_fill(x, 0, y, 2), {5, 3}, index_list({4, 0})),
                   S(x.index_fill(1, y, 3), {2, 4}, index_list({1, 1})),
                   S(index_fill(x, -1, y, z), {2, 3}, index_list({2, 0}), {}),
                   S(index_fill(x, 0, y, 1), {}, index_list({0})),
                   S(index_fill(x, 0, y, 1), {5, 3}, index_list({}, {0}))},
       .inplace = {I(x.index_fill_(0, y, 2), index_fill(x, 0, y, 2), {5, 3}, index_list({4, 0})),
                   I(x.index_fill_(1, y, z), index_fill(x, 1, y, z), {2, 3}, index_list({1}), {})},
       .errors = {E("index_fill_: index must be Int or Long, got Float", index_fill(x, 0, y, 1), {5}, {2}),
                  E("index_fill_: value must be a number or a 0-dim tensor, got sizes [2]",
                    index_fill(x, 0, y, z), {5}, index_list({0}), {2}),
                  E("index_fill_: dim 1 is outside of a tensor of rank 1; use -1 to 0",
                    index_fill(x, 1, y, 1), {5}, index_list({0}))}},
  };
}

std::vector<Row> place_rows() {
  return {
      {.name = "masked_scatter",
       MOVES,
       .samples = {S(masked_scatter(x, y, z), {3, 4}, mask({3, 4}), {12}),
                   S(x.masked_scatter(y, z), {3, 4}, mask({4}), {4, 4}),
                   S(masked_scatter(x, y, z), {4}, mask({3, 4}), {12}),
                   S(masked_scatter(x, y, z), {}, mask({}), {1}),
                   S(masked_scatter(x, y, z), {0, 3}, mask({3}), {0})},
       .inplace = {I(x.masked_scatter_(y, z), masked_scatter(x, y, z), {3, 4}, mask({3, 4}), {12})},
       .errors = {E("masked_scatter_: mask must be Bool, got Float", masked_scatter(x, y, z), {3}, {3}, {3}),
                  E("masked_scatter_: source must have the dtype of the tensor, Float, got Double",
                    masked_scatter(x, y, z), {3}, mask({3}), typed(kDouble, {3})),
                  E("masked_scatter_: source has 1 elements, the mask asks for 3", x.masked_scatter_(y, z),
                    {3}, listed({1}, {3}).as(kBool), {1}),
                  E("masked_scatter: shapes [3] and [4] do not broadcast: dim 0 is 3 and 4",
                    masked_scatter(x, y, z), {3}, mask({4}), {3})}},
      {.name = "take",
       MOVES,
       .samples = {S(take(x, y), {3, 5}, index_list({0, 14, 7, 7}, {2, 2})),
                   S(x.take(y), {3}, index_list({1}, {})), S(take(x, y), {3, 5}, index_list({-1, -15})),
                   S(take(x, y), {}, index_list({0})), S(take(x, y), {3}, index_list({}, {0})),
                   S(take(x, y), {0}, index_list({}, {0, 2}))},
       .errors =
           {E("take: index must be Long, got Int", take(x, y), {3}, index_list({0}).as(kInt)),
            E("take: index must be Long, got Float", take(x, y), {3}, {2}),
            E("index: index 3 is outside of a dim of size 3; x has sizes [3] with the indexed dims in front",
              take(x, y), {3}, index_list({3}))}},
      {.name = "put",
       MOVES,
       .samples = {S(x.put(y, z), {3, 5}, index_list({0, 14, 7}), {3}),
                   S_PY("x.put(y, z, True)", put(x, y, z, true), {3, 5}, index_list({1, -1, 1, 4}, {2, 2}),
                        {2, 2}),
                   S_PY("x.put(y, z)", put(x, y, z), {}, index_list({0}), {1}),
                   S_PY("x.put(y, z)", put(x, y, z), {0, 3}, index_list({}, {0}), {0})},
       .inplace = {I(x.put_(y, z), put(x, y, z), {3, 5}, index_list({0, -1, 7}), {3}),
                   I(x.put_(y, z, true), put(x, y, z, true), {3, 5}, index_list({2, 2, 7}), {3})},
       .errors = {E("put_: index must be Long, got Float", put(x, y, z), {3}, {2}, {2}),
                  E("put_: index has 2 elements, source 1", put(x, y, z), {3}, index_list({0, 1}), {1}),
                  E("put_: source must have the dtype of the tensor, Float, got Double", x.put_(y, z), {3},
                    index_list({0}), typed(kDouble, {1})),
                  E("put: index 15 is outside of a tensor of 15 elements", put(x, y, z), {3, 5},
                    index_list({15}), {1})}},
      {.name = "take_along_dim",
       MOVES,
       .samples = {S(take_along_dim(x, y, 1), {3, 5}, index_below(5, {3, 2})),
                   S(x.take_along_dim(y, 0), {3, 5}, index_below(3, {4, 1})),
                   S(take_along_dim(x, y, -1), {1, 4}, index_below(4, {3, 2})),
                   S(take_along_dim(x, y), {3, 5}, index_below(15, {2, 2})),
                   S(take_along_dim(x, y), {}, index_list({0}, {})),
                   S(take_along_dim(x, y, 0), {3, 2}, index_list({}, {0, 2}))},
       .errors = {E("take_along_dim: index must be Long, got Float", take_along_dim(x, y, 0), {3}, {3}),
                  E("take_along_dim: index of sizes [2] must have the rank of a tensor of sizes [3, 5]",
                    take_along_dim(x, y, 0), {3, 5}, index_list({0, 1})),
                  E("take_along_dim: shapes [1, 5] and [1, 2] do not broadcast: dim 1 is 5 and 2",
                    take_along_dim(x, y, 0), {3, 5}, index_list({0, 1}, {1, 2})),
                  E("gather: index 3 is outside of dim 0 of a tensor of sizes [3]", take_along_dim(x, y, 0),
                    {3}, index_list({3}))}},
  };
}

std::vector<Row> scatter_reduce_rows() {
  return {
      {.name = "scatter_reduce",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(scatter_reduce(x, 1, y, z, "sum"), {3, 5}, index_below(5, {3, 4}), {3, 4}),
                   S_PY("x.scatter_reduce(0, y, z, 'sum', include_self=False)",
                        scatter_reduce(x, 0, y, z, "sum", false), {3, 5}, index_below(3, {4, 5}), {4, 5}),
                   S(x.scatter_reduce(0, y, z, "mean"), {3}, index_list({0, 0, 2, 0}), {4}),
                   S_PY("x.scatter_reduce(0, y, z, 'mean', include_self=False)",
                        scatter_reduce(x, 0, y, z, "mean", false), {3}, index_list({0, 0, 2, 0}), {4}),
                   S(scatter_reduce(x, 0, y, z, "prod"), positive({3}), index_list({0, 0, 2, 0}),
                     positive({4})),
                   S_PY("x.scatter_reduce(0, y, z, 'prod', include_self=False)",
                        scatter_reduce(x, 0, y, z, "prod", false), positive({3}), index_list({0, 0, 2, 0}),
                        positive({4})),
                   S(scatter_reduce(x, 0, y, z, "prod"), listed({0, 2, 3}), index_list({0, 0, 2, 1}),
                     listed({2, 3, 0, 5})),
                   S(scatter_reduce(x, 1, y, z, "amax"), {3, 5}, index_below(5, {3, 4}), {3, 4}),
                   S_PY("x.scatter_reduce(1, y, z, 'amin', include_self=False)",
                        scatter_reduce(x, 1, y, z, "amin", false), {3, 5}, index_below(5, {3, 4}), {3, 4}),
                   S(scatter_reduce(x, 0, y, z, "amin"), listed({1, 2, 3}), index_list({0, 0, 2, 1}),
                     listed({1, 1, 0, 5})),
                   S(scatter_reduce(x, 0, y, z, "amax"), {}, index_list({0}, {}), {}),
                   S(scatter_reduce(x, 0, y, z, "amax"), {3}, index_list({}, {0}), {0}),
                   S(scatter_reduce(x, 0, y, z, "prod"), {0, 3}, index_list({}, {0, 3}), {0, 3})},
       .inplace = {I(x.scatter_reduce_(1, y, z, "amax"), scatter_reduce(x, 1, y, z, "amax"), {3, 5},
                     index_below(5, {3, 4}), {3, 4})},
       .errors = {E("scatter_reduce: reduce must be sum, prod, mean, amax or amin, got \"max\"",
                    scatter_reduce(x, 0, y, z, "max"), {5}, index_list({0}), {1}),
                  E("scatter_reduce: index must be Int or Long, got Float", scatter_reduce(x, 0, y, z, "sum"),
                    {5}, {2}, {2}),
                  E("scatter_reduce: index 5 is outside of dim 0 of a tensor of sizes [5]",
                    scatter_reduce(x, 0, y, z, "amax"), {5}, index_list({5}), {1}),
                  E("scatter_reduce: index of sizes [3] is larger than src of sizes [2]",
                    scatter_reduce(x, 0, y, z, "prod"), {5}, index_list({0, 1, 2}), {2}),
                  E("scatter_reduce: src must have the dtype of the tensor, Float, got Double",
                    scatter_reduce(x, 0, y, z, "mean"), {5}, index_list({0}), typed(kDouble, {1}))},
       .uncompared = {kBool},
       .why_uncompared = "sums of Bool are not meant"},
  };
}

}  // namespace

std::vector<Row> index_along_rows() {
  return join({slice_writing_rows(), place_rows(), scatter_reduce_rows()});
}

}  // namespace tarn::testing
