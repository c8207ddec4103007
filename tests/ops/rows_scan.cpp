// Rows of running results and of reductions that pass NaNs over.
#include <tarn/core/ops/reduction.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

constexpr const char* kUndefined = "tensor: this tensor is undefined; give it a value first";

std::vector<Row> running_rows() {
  return {
      {.name = "cumprod",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(cumprod(x, 1), unit({3, 7})), S(cumprod(x, 0), unit({5, 3})),
                   S(x.cumprod(-2), unit({2, 3, 4})), S(cumprod(x, 0), {}), S(cumprod(x, 0), {0, 3}),
                   S_PY("cumprod(x, 0, dtype=kDouble)", cumprod(x, 0, kDouble), {5}),
                   S(cumprod(x, 0), listed({2, 0, 3, 4})), S(cumprod(x, 0), listed({2, 3, 0, 5, 0, 4, 2})),
                   S(cumprod(x, 1), listed({0, 2, 3, 1, 2, 3, 4, 0, 0}, {3, 3})),
                   S(cumprod(x, 0), listed({2, INFINITY, NAN, 1}).no_grad())},
       .inplace = {I(x.cumprod_(1), cumprod(x, 1), unit({2, 3})), I(x.cumprod_(0), cumprod(x, 0), {2, 2})},
       .errors = {E("cumprod: dim 2 is outside of a tensor of rank 2; use -2 to 1", cumprod(x, 2), {2, 3}),
                  E("cumprod: products in Bool are not made; give an integer dtype", cumprod(x, 0, kBool),
                    {3}),
                  E("cumprod_: the tensor is Float, the dtype asked for Double", x.cumprod_(0, kDouble), {3}),
                  E(kUndefined, cumprod(x, 0), undefined())}},
      {.name = "logcumsumexp",
       .grad = true,
       .samples = {S(logcumsumexp(x, 1), {3, 7}), S(logcumsumexp(x, 0), {5, 3}),
                   S(x.logcumsumexp(-2), {2, 3, 4}), S(logcumsumexp(x, 0), {}), S(logcumsumexp(x, 0), {0, 3}),
                   S(logcumsumexp(x, 0), listed({1000, -1000, 1001, 999})),
                   S(logcumsumexp(x, 0), listed({-INFINITY, -INFINITY, 1, INFINITY, 2}).no_grad()),
                   S(logcumsumexp(x, 0), listed({1, NAN, 2}).no_grad())},
       .errors = {E("logcumsumexp: dim 2 is outside of a tensor of rank 2; use -2 to 1", logcumsumexp(x, 2),
                    {2, 3}),
                  E("logcumsumexp: needs a floating tensor, got Long; call to(kFloat) first",
                    logcumsumexp(x, 0), typed(kLong, {3})),
                  E(kUndefined, logcumsumexp(x, 0), undefined())}},
      {.name = "cummax",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(cummax(x, 1), {3, 23}), S(cummax(x, 0), {5, 3}), S(x.cummax(-2), {2, 3, 4}),
                   S(cummax(x, 0), {}), S(cummax(x, 0), {0, 3}), S(cummax(x, 1), tied({3, 7})),
                   S(cummax(x, 0), special().no_grad())},
       .errors = {E("cummax: dim 2 is outside of a tensor of rank 2; use -2 to 1", cummax(x, 2), {2, 3}),
                  E("cummax: dim 1 is outside of a tensor of rank 0; use -1 to 0", cummax(x, 1), {}),
                  E(kUndefined, cummax(x, 0), undefined())}},
      {.name = "cummin",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(cummin(x, 1), {3, 23}), S(cummin(x, 0), {5, 3}), S(x.cummin(-2), {2, 3, 4}),
                   S(cummin(x, 0), {}), S(cummin(x, 0), {0, 3}), S(cummin(x, 1), tied({3, 7})),
                   S(cummin(x, 0), special().no_grad())},
       .errors = {E("cummin: dim 2 is outside of a tensor of rank 2; use -2 to 1", cummin(x, 2), {2, 3}),
                  E("cummin: dim 1 is outside of a tensor of rank 0; use -1 to 0", cummin(x, 1), {}),
                  E(kUndefined, cummin(x, 0), undefined())}},
  };
}

std::vector<Row> nan_rows() {
  return {
      {.name = "nansum",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(nansum(x, {1}), {3, 23}), S(nansum(x), {3, 5}), S(x.nansum({0, -1}, true), {2, 3, 4}),
                   S(nansum(x), {}), S(nansum(x, {0}), {0, 3}),
                   S(nansum(x, {1}), listed({1, NAN, NAN, NAN}, {2, 2})), S(nansum(x), special().no_grad()),
                   S_PY("nansum(x, [0], dtype=kDouble)", nansum(x, {0}, false, kDouble), {5})},
       .errors = {E("sum: dim 2 is outside of a tensor of rank 2; use -2 to 1", nansum(x, {2}), {2, 3}),
                  E("sum: dim 1 is given twice in [1, -1]", nansum(x, {1, -1}), {2, 3}),
                  E(kUndefined, nansum(x), undefined())}},
      {.name = "nanmean",
       .grad = true,
       .samples = {S(nanmean(x, {1}), {3, 23}), S(nanmean(x), {3, 5}), S(x.nanmean({0, -1}, true), {2, 3, 4}),
                   S(nanmean(x), {}), S(nanmean(x, {0}), {0, 3}), S(nanmean(x), {0}),
                   S(nanmean(x, {1}), listed({1, NAN, 3, 5}, {2, 2})),
                   S(nanmean(x, {1}), listed({1, NAN, NAN, NAN}, {2, 2}).no_grad())},
       .errors = {E("sum: dim 2 is outside of a tensor of rank 2; use -2 to 1", nanmean(x, {2}), {2, 3}),
                  E("nanmean: needs a floating tensor, got Long; call to(kFloat) first", nanmean(x),
                    typed(kLong, {3})),
                  E(kUndefined, nanmean(x), undefined())}},
      {.name = "count_nonzero",
       .dtypes = kEveryDtype,
       .samples = {S(count_nonzero(x, {1}), tied({3, 23})), S(count_nonzero(x), {3, 5}),
                   S(x.count_nonzero({0, -1}), {2, 3, 4}), S(count_nonzero(x), {}),
                   S(count_nonzero(x, {0}), {0, 3}), S(count_nonzero(x), special())},
       .errors = {E("sum: dim 2 is outside of a tensor of rank 2; use -2 to 1", count_nonzero(x, {2}),
                    {2, 3}),
                  E("sum: dim 1 is given twice in [1, -1]", count_nonzero(x, {1, -1}), {2, 3}),
                  E("tensor: this tensor is undefined; give it a value first", count_nonzero(x),
                    undefined())}},
      {.name = "aminmax",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S_PY("aminmax(x, dim=1)", aminmax(x, 1), {3, 23}), S(aminmax(x), {3, 5}),
                   S_PY("x.aminmax(dim=0, keepdim=True)", x.aminmax(0, true), {3, 5}), S(aminmax(x), {}),
                   S_PY("aminmax(x, dim=0)", aminmax(x, 0), {}),
                   S_PY("aminmax(x, dim=1)", aminmax(x, 1), {0, 3}),
                   S_PY("aminmax(x, dim=1)", aminmax(x, 1), tied({3, 7})),
                   S(aminmax(x), special().no_grad())},
       .errors = {E("aminmax: dim 2 is outside of a tensor of rank 2; use -2 to 1", aminmax(x, 2), {2, 3}),
                  E("aminmax: a tensor of shape [0, 3] has no elements to compare", aminmax(x), {0, 3}),
                  E(kUndefined, aminmax(x), undefined())}},
      {.name = "any (over several dims)",
       .dtypes = kEveryDtype,
       .samples = {S(any(x, {0, 2}), tied({3, 2, 4})), S(x.any({0, -1}, true), mask({2, 3, 4})),
                   S(any(x, {0, 1}), {0, 3}), S_PY("any(x)", any(x, IntArrayRef{}), {})},
       .errors = {E("any: dim 2 is outside of a tensor of rank 2; use -2 to 1", any(x, {0, 2}), {2, 3}),
                  E("any: dim 1 is given twice in [1, -1]", any(x, {1, -1}), {2, 3}),
                  E(kUndefined, any(x, {0, 1}), undefined())}},
      {.name = "all (over several dims)",
       .dtypes = kEveryDtype,
       .samples = {S(all(x, {0, 2}), tied({3, 2, 4})), S(x.all({0, -1}, true), mask({2, 3, 4})),
                   S(all(x, {0, 1}), {0, 3}), S_PY("all(x)", all(x, IntArrayRef{}), {})},
       .errors = {E("all: dim 2 is outside of a tensor of rank 2; use -2 to 1", all(x, {0, 2}), {2, 3}),
                  E("all: dim 1 is given twice in [1, -1]", all(x, {1, -1}), {2, 3}),
                  E(kUndefined, all(x, {0, 1}), undefined())}},
  };
}

}  // namespace

std::vector<Row> scan_rows() { return join({running_rows(), nan_rows()}); }

}  // namespace tarn::testing
