// Rows of the reductions, softmax and cumulative sums.
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

// The errors that every reduction over dims shares.
std::vector<ErrorRow> dim_errors(const std::string& op, Call bad_dim, Call twice) {
  std::vector<ErrorRow> errors{
      {op + ": dim 2 is outside of a tensor of rank 2; use -2 to 1", op + " over dim 2", bad_dim, {{2, 3}}},
      {"tensor: this tensor is undefined; give it a value first",
       op + " of an undefined tensor",
       bad_dim,
       {undefined()}}};
  if (twice)
    errors.push_back({op + ": dim 1 is given twice in [1, -1]", op + " over [1, -1]", twice, {{2, 3}}});
  return errors;
}

std::vector<ErrorRow> join_errors(std::vector<ErrorRow> errors, const std::vector<ErrorRow>& more) {
  errors.insert(errors.end(), more.begin(), more.end());
  return errors;
}

std::vector<Row> mean_rows() {
  return {
      {.name = "sum",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(sum(x), {3, 23}), S(sum(x, {1}), {3, 23}), S(sum(x, {0}, true), {3, 23}),
                   S(sum(x, {-1, 0}), {2, 3, 5}), S(x.sum({1, 2}, true), {2, 3, 4, 2}), S(sum(x), {}),
                   S(sum(x, {0}), {0, 3}), S(sum(x, {1}), {0, 3}), S(sum(x), special()),
                   S_PY("sum(x, [1], dtype=kDouble)", sum(x, {1}, false, kDouble), {2, 3}),
                   S_PY("sum(x, dtype=kFloat)", sum(x, kFloat), typed(kInt, {5})), S(sum(x, {1}), {3, 301}),
                   S(sum(x, {0}), {301, 3}), S(sum(x, {0, 2}), {5, 7, 9})},
       .errors = dim_errors("sum", TARN_ROW_CALL(sum(x, {2})), TARN_ROW_CALL(sum(x, {1, -1})))},
      {.name = "mean",
       .grad = true,
       .samples = {S(mean(x), {3, 23}), S(mean(x, {1}), {3, 23}), S(mean(x, {0}, true), {3, 23}),
                   S(x.mean({0, 2, 3}), {2, 3, 4, 2}), S(mean(x), {}), S(mean(x, {1}), {0, 3}),
                   S(mean(x, {0}), {0, 3}), S(mean(x), special()),
                   S_PY("mean(x, dtype=kFloat)", mean(x, kFloat), typed(kInt, {5})),
                   S(mean(x), listed({3e38, 3e38, 3e38, 3e38}).no_grad().as(kDouble))},
       .errors = {E("mean: dim 2 is outside of a tensor of rank 2; use -2 to 1", mean(x, {2}), {2, 3}),
                  E("mean: dim 1 is given twice in [1, -1]", mean(x, {1, -1}), {2, 3}),
                  E("tensor: this tensor is undefined; give it a value first", mean(x), undefined())}},
  };
}

std::vector<Row> extreme_rows() {
  return {
      {.name = "amax",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(amax(x, {1}), {3, 23}), S(amax(x), {3, 5}), S(amax(x, {0}, true), {3, 23}),
                   S(amax(x, {0, 2}), {2, 3, 4}), S(amax(x), {}), S(amax(x, {1}), {0, 3}),
                   S(amax(x, {1}), tied({3, 7})), S(amax(x), special().no_grad())},
       .errors = {E("amax: dim 2 is outside of a tensor of rank 2; use -2 to 1", amax(x, {2}), {2, 3}),
                  E("amax: dim 1 is given twice in [1, -1]", amax(x, {1, -1}), {2, 3}),
                  E("amax: dim 0 of a tensor of shape [0, 3] is empty and has no maximum", amax(x, {0}),
                    {0, 3})}},
      {.name = "amin",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(amin(x, {1}), {3, 23}), S(amin(x), {3, 5}), S(amin(x, {0}, true), {3, 23}),
                   S(amin(x, {0, 2}), {2, 3, 4}), S(amin(x), {}), S(amin(x, {1}), {0, 3}),
                   S(amin(x, {1}), tied({3, 7})), S(amin(x), special().no_grad())},
       .errors = {E("amin: dim 2 is outside of a tensor of rank 2; use -2 to 1", amin(x, {2}), {2, 3}),
                  E("amin: dim 1 is given twice in [1, -1]", amin(x, {1, -1}), {2, 3}),
                  E("amin: dim 0 of a tensor of shape [0, 3] is empty and has no minimum", amin(x, {0}),
                    {0, 3})}},
      {.name = "max",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(max(x, 1), {3, 23}), S(max(x), {3, 23}), S(max(x, 0, true), {3, 23}),
                   S(max(x, -1), {2, 3, 4}), S(max(x, 0), {}), S(max(x), {}), S(max(x, 1), {0, 3}),
                   S(max(x, 1), tied({3, 7})), S(max(x), tied({7})), S(max(x, 0), special().no_grad())},
       .errors = {E("max: dim 2 is outside of a tensor of rank 2; use -2 to 1", max(x, 2), {2, 3}),
                  E("max: dim 0 of a tensor of shape [0, 3] is empty and has no maximum", max(x, 0), {0, 3}),
                  E("tensor: this tensor is undefined; give it a value first", max(x), undefined())}},
      {.name = "min",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(min(x, 1), {3, 23}), S(min(x), {3, 23}), S(min(x, 0, true), {3, 23}),
                   S(min(x, -1), {2, 3, 4}), S(min(x, 0), {}), S(min(x), {}), S(min(x, 1), {0, 3}),
                   S(min(x, 1), tied({3, 7})), S(min(x), tied({7})), S(min(x, 0), special().no_grad())},
       .errors = {E("min: dim 2 is outside of a tensor of rank 2; use -2 to 1", min(x, 2), {2, 3}),
                  E("min: dim 0 of a tensor of shape [0, 3] is empty and has no minimum", min(x, 0), {0, 3}),
                  E("tensor: this tensor is undefined; give it a value first", min(x), undefined())}},
      {.name = "argmax",
       .dtypes = kEveryDtype,
       .samples = {S(argmax(x, 1), {3, 23}), S(argmax(x), {3, 23}), S(argmax(x, 0, true), {3, 23}),
                   S(argmax(x), {}), S(argmax(x, 1), {0, 3}), S(argmax(x, 1), tied({3, 7})),
                   S(argmax(x), special())},
       .errors = {E("argmax: dim 2 is outside of a tensor of rank 2; use -2 to 1", argmax(x, 2), {2, 3}),
                  E("argmax: dim 0 of a tensor of shape [0, 3] is empty and has no maximum", argmax(x, 0),
                    {0, 3}),
                  E("argmax: the first tensor is undefined", argmax(x), undefined())}},
      {.name = "argmin",
       .dtypes = kEveryDtype,
       .samples = {S(argmin(x, 1), {3, 23}), S(argmin(x), {3, 23}), S(argmin(x, 0, true), {3, 23}),
                   S(argmin(x), {}), S(argmin(x, 1), {0, 3}), S(argmin(x, 1), tied({3, 7})),
                   S(argmin(x), special())},
       .errors = {E("argmin: dim 2 is outside of a tensor of rank 2; use -2 to 1", argmin(x, 2), {2, 3}),
                  E("argmin: dim 0 of a tensor of shape [0, 3] is empty and has no minimum", argmin(x, 0),
                    {0, 3}),
                  E("argmin: the first tensor is undefined", argmin(x), undefined())}},
  };
}

std::vector<Row> softmax_rows() {
  return {
      {.name = "softmax",
       .grad = true,
       .samples = {S(softmax(x, 1), {3, 23}), S(softmax(x, 0), {3, 23}), S(softmax(x, 1), {2, 3, 4, 2}),
                   S(softmax(x, 0), {}), S(softmax(x, 1), {0, 3}), S(softmax(x, 0), {0, 3}),
                   S(softmax(x, 0), listed({1e30, 1e30, 0})),
                   S(softmax(x, 0), listed({-INFINITY, 1, 2}).no_grad()), S(softmax(x, 0, kDouble), {5})},
       .errors = dim_errors("softmax", TARN_ROW_CALL(softmax(x, 2)), nullptr),
       .few_errors = "takes one dim"},
      {.name = "log_softmax",
       .grad = true,
       .samples = {S(log_softmax(x, 1), {3, 23}), S(log_softmax(x, 0), {3, 23}),
                   S(log_softmax(x, 1), {2, 3, 4, 2}), S(log_softmax(x, 0), {}), S(log_softmax(x, 1), {0, 3}),
                   S(log_softmax(x, 0), listed({1e30, 1e30, 0})),
                   S(log_softmax(x, 0), listed({-INFINITY, 1, 2}).no_grad()),
                   S(log_softmax(x, 0, kDouble), {5})},
       .errors = dim_errors("log_softmax", TARN_ROW_CALL(log_softmax(x, 2)), nullptr),
       .few_errors = "takes one dim"},
  };
}

std::vector<Row> moment_rows() {
  return {
      {.name = "prod",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(prod(x), unit({3, 5})), S(prod(x, 1), unit({3, 5})), S(prod(x, 0, true), unit({3, 5})),
                   S(prod(x), {}), S(prod(x, 0), {0, 3}), S(prod(x), listed({2, 0, 3})),
                   S(prod(x), listed({0, 0, 3})), S(prod(x, 1), listed({1, 2, 0, 3, 4, 5}, {2, 3}))},
       .errors = dim_errors("prod", TARN_ROW_CALL(prod(x, 2)), nullptr),
       .few_errors = "takes one dim"},
      {.name = "var",
       .grad = true,
       .samples = {S(var(x), {3, 23}), S(var(x, {1}), {3, 23}), S(var(x, {0}, true, true), {3, 23}),
                   S(var(x, {0, 2}, false), {2, 3, 4}), S(var(x, false), {7}),
                   S(x.var({1}, false, true), {3, 5}), S(var(x, {0}), {1, 3}), S(var(x), {}),
                   S(var(x, {0}), {0, 3}), S(var(x, {1}), {0, 3})},
       .errors = dim_errors("var", TARN_ROW_CALL(var(x, {2})), TARN_ROW_CALL(var(x, {1, -1})))},
      {.name = "std",
       .grad = true,
       .samples = {S(x.std(), {3, 23}), S_PY("torch.std(x, [1])", tarn::std(x, {1}), {3, 23}),
                   S(x.std({0}, true, true), {3, 23}), S(x.std({0, 2}, false), {2, 3, 4}),
                   S(x.std(false), {7}), S(x.std(), {}), S(x.std({0}), {0, 3})},
       .errors = dim_errors("std", TARN_ROW_CALL(x.std({2})), TARN_ROW_CALL(x.std({1, -1})))},
      {.name = "var_mean",
       .grad = true,
       .samples = {S(var_mean(x, {1}), {3, 23}), S(var_mean(x, {0}, true, true), {3, 23}),
                   S(var_mean(x, {0, 2}, false), {2, 3, 4}), S(var_mean(x, {0}), {}),
                   S(var_mean(x, {0}), {0, 3})},
       .errors =
           dim_errors("var_mean", TARN_ROW_CALL(var_mean(x, {2})), TARN_ROW_CALL(var_mean(x, {1, -1})))},
      {.name = "std_mean",
       .grad = true,
       .samples = {S(std_mean(x, {1}), {3, 23}), S(std_mean(x, {0}, true, true), {3, 5}),
                   S(std_mean(x, {0, 2}, false), {2, 3, 4}), S(std_mean(x), {7}), S(std_mean(x, {0}), {}),
                   S(std_mean(x, {0}), {0, 3})},
       .errors =
           dim_errors("std_mean", TARN_ROW_CALL(std_mean(x, {2})), TARN_ROW_CALL(std_mean(x, {1, -1})))},
      {.name = "norm",
       .grad = true,
       .samples = {S(norm(x), {3, 23}), S(norm(x, 1), {3, 23}), S(norm(x, 2, {1}), {3, 23}),
                   S(norm(x, 3, {0}, true), {3, 23}), S(norm(x, 0.5, {1}), {3, 5}), S(norm(x), {}),
                   S(norm(x, 2, {0}), {0, 3}), S_PY("norm(x, torch.inf)", norm(x, INFINITY), {3, 23}),
                   S(norm(x, 0, {1}).detach(), {3, 5}), S(norm(x), listed({0, 0, 0}))},
       .errors = dim_errors("norm", TARN_ROW_CALL(norm(x, 2, {2})), TARN_ROW_CALL(norm(x, 2, {1, -1})))},
      {.name = "logsumexp",
       .grad = true,
       .samples = {S(logsumexp(x, {1}), {3, 23}), S(logsumexp(x, {0}, true), {3, 23}),
                   S(logsumexp(x, {0, 2}), {2, 3, 4}), S(logsumexp(x, {0}), {}), S(logsumexp(x, {1}), {0, 3}),
                   S(logsumexp(x, {0}), listed({1000, 1001, 999})),
                   S(logsumexp(x, {0}), listed({-INFINITY, -INFINITY}).no_grad()),
                   S(logsumexp(x, {0}), listed({INFINITY, 1, -INFINITY}).no_grad())},
       .errors =
           dim_errors("logsumexp", TARN_ROW_CALL(logsumexp(x, {2})), TARN_ROW_CALL(logsumexp(x, {1, -1})))},
  };
}

std::vector<Row> logic_rows() {
  return {
      {.name = "any",
       .dtypes = kEveryDtype,
       .samples = {S(any(x, 1), tied({3, 23})), S(any(x), mask({3, 5})), S(any(x, 0, true), mask({2, 7})),
                   S(any(x), {}), S(any(x, 0), {0, 3}), S(any(x), {0}), S(any(x), listed({0, 0, 0})),
                   S(any(x), listed({0, NAN, 0}))},
       .errors = dim_errors("any", TARN_ROW_CALL(any(x, 2)), nullptr),
       .few_errors = "takes one dim"},
      {.name = "all",
       .dtypes = kEveryDtype,
       .samples = {S(all(x, 1), tied({3, 23})), S(all(x), mask({3, 5})), S(all(x, 0, true), mask({2, 7})),
                   S(all(x), {}), S(all(x, 0), {0, 3}), S(all(x), {0}), S(all(x), listed({1, 2, 3})),
                   S(all(x), listed({1, 0, NAN}))},
       .errors = dim_errors("all", TARN_ROW_CALL(all(x, 2)), nullptr),
       .few_errors = "takes one dim"},
      {.name = "cumsum",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(cumsum(x, 1), {3, 23}), S(cumsum(x, 0), {3, 23}), S(cumsum(x, -2), {2, 3, 4}),
                   S(cumsum(x, 0), {}), S(cumsum(x, 0), {0, 3}),
                   S_PY("cumsum(x, 0, dtype=kDouble)", cumsum(x, 0, kDouble), {5})},
       .inplace = {I(x.cumsum_(1), cumsum(x, 1), {2, 3}), I(x.cumsum_(0), cumsum(x, 0), {2, 2})},
       .errors = join_errors(
           dim_errors("cumsum", TARN_ROW_CALL(cumsum(x, 2)), nullptr),
           {E("cumsum_: the tensor is Float, the dtype asked for Double", x.cumsum_(0, kDouble), {3}),
            E("cumsum_: sums of Bool do not fit in Bool", x.cumsum_(0), mask({3}))})},
  };
}

}  // namespace

std::vector<Row> reduction_rows() {
  return join({mean_rows(), extreme_rows(), softmax_rows(), moment_rows(), logic_rows()});
}

}  // namespace tarn::testing
