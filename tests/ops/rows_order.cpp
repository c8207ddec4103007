// Rows of sorting, ranks and running results. Places of tied elements are compared where PyTorch says which
// it takes.
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/reduction.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

// 0, 1, ..., 12 by sevens: no two elements are equal in any dtype but Bool.
Input distinct(std::vector<int64_t> sizes) {
  Formula f{.a = 7, .b = 3, .m = 61, .c = 0, .d = 1};
  return {std::move(sizes), {f, f}};
}

constexpr const char* kUndefined = "tensor: this tensor is undefined; give it a value first";

std::vector<Row> sort_rows() {
  return {
      {.name = "sort",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S_PY("torch.sort(x, stable=True, dim=1)", sort(x, 1), {3, 23}),
                   S(sort(x, 0, true), distinct({7, 3})), S(sort(x), {2, 3, 5}), S(sort(x), {}),
                   S(sort(x, 0), {0, 3}), S(sort(x, 1), {3, 0}),
                   S_PY("torch.sort(x, stable=True, dim=1)", sort(x, std::optional<bool>(true), 1),
                        tied({3, 23})),
                   S_PY("torch.sort(x, stable=True, dim=1, descending=True)",
                        x.sort(std::optional<bool>(true), 1, true), tied({3, 23})),
                   S_PY("torch.sort(x, stable=True)", x.sort(), special().no_grad()),
                   S_PY("torch.sort(x, stable=True, descending=True)", sort(x, -1, true),
                        special().no_grad()),
                   S_PY("torch.sort(x, stable=True)", sort(x), {2, 601}),
                   S_PY("torch.sort(x, stable=True, dim=0, descending=True)", sort(x, 0, true), {601, 2}),
                   S_PY("torch.sort(x, stable=True)", sort(x), many({601}).as(kShort)),
                   S_PY("torch.sort(x, stable=True)", sort(x), many({601}).as(kHalf).no_grad()),
                   S_PY("torch.sort(x, stable=True)", sort(x), mask({5, 601}))},
       .errors = {E("sort: dim 2 is outside of a tensor of rank 2; use -2 to 1", sort(x, 2), {2, 3}),
                  E("sort: dim -3 is outside of a tensor of rank 2; use -2 to 1", sort(x, -3), {2, 3}),
                  E(kUndefined, sort(x), undefined())}},
      {.name = "argsort",
       .dtypes = kEveryDtype,
       .samples = {S_PY("torch.argsort(x, stable=True)", argsort(x), many({3, 23})),
                   S(argsort(x, 0), distinct({7, 3})),
                   S_PY("torch.argsort(x, stable=True)", argsort(x, true), tied({23})),
                   S_PY("torch.argsort(x, stable=True, dim=0, descending=True)", x.argsort(true, 0, true),
                        tied({23})),
                   S(x.argsort(-1, true), distinct({2, 5})), S(argsort(x), {}), S(argsort(x, 1), {0, 3})},
       .errors = {E("sort: dim 2 is outside of a tensor of rank 2; use -2 to 1", argsort(x, 2), {2, 3}),
                  E("sort: dim 1 is outside of a tensor of rank 1; use -1 to 0", argsort(x, true, 1), {3}),
                  E(kUndefined, argsort(x), undefined())}},
      {.name = "msort",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(msort(x), distinct({5, 3})), S(x.msort(), {2, 3, 2}), S(msort(x), {}),
                   S(msort(x), {0, 3})},
       .errors = {E(kUndefined, msort(x), undefined())},
       .few_errors = "takes nothing but a tensor"},
      {.name = "topk",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(topk(x, 2, 0), distinct({5, 3})), S(topk(x, 3), distinct({2, 3, 5})),
                   S(topk(x, 2, -1, false), distinct({3, 7})), S(x.topk(1), {}), S(topk(x, 0), {}),
                   S(topk(x, 0, 1), {2, 3}), S(topk(x, 2, 1), {0, 3}), S(topk(x, 3, 1), distinct({2, 61})),
                   S(topk(x, 60), distinct({61})),
                   S_PY("topk(x, 9)[0]", std::get<0>(topk(x, 9)), tied({23}).no_grad()),
                   S_PY("topk(x, 5)[0]", std::get<0>(topk(x, 5)), special().no_grad()),
                   S_PY("topk(x, 5, 0, False)[0]", std::get<0>(topk(x, 5, 0, false, false)),
                        special().no_grad())},
       .errors = {E("topk: k 4 is outside of dim 1 of a tensor of shape [2, 3]; use 0 to 3", topk(x, 4),
                    {2, 3}),
                  E("topk: k -1 is outside of dim 0 of a tensor of shape [2, 3]; use 0 to 2", topk(x, -1, 0),
                    {2, 3}),
                  E("topk: dim 2 is outside of a tensor of rank 2; use -2 to 1", topk(x, 1, 2), {2, 3})}},
  };
}

std::vector<Row> rank_rows() {
  return {
      {.name = "kthvalue",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(kthvalue(x, 2, 0), distinct({5, 3})), S(kthvalue(x, 4), distinct({2, 3, 5})),
                   S(x.kthvalue(1, 1, true), distinct({3, 7})), S(kthvalue(x, 1), {}),
                   S(kthvalue(x, 1, 1), {0, 3}),
                   S_PY("kthvalue(x, 17)[0]", std::get<0>(kthvalue(x, 17)), special().no_grad()),
                   S_PY("kthvalue(x, 9)[0]", std::get<0>(kthvalue(x, 9)), tied({23}).no_grad())},
       .errors = {E("kthvalue: k 0 is outside of dim 1 of a tensor of shape [2, 3]; use 1 to 3",
                    kthvalue(x, 0), {2, 3}),
                  E("kthvalue: k 4 is outside of dim 1 of a tensor of shape [2, 3]; use 1 to 3",
                    kthvalue(x, 4), {2, 3}),
                  E("kthvalue: dim 0 of a tensor of shape [0, 3] is empty", kthvalue(x, 1, 0), {0, 3}),
                  E("kthvalue: dim 2 is outside of a tensor of rank 2; use -2 to 1", kthvalue(x, 1, 2),
                    {2, 3})}},
      {.name = "median",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(median(x, 1), distinct({3, 8})), S(median(x), distinct({3, 8})),
                   S(x.median(0, true), distinct({7, 3})), S(median(x), tied({23})), S(x.median(), {}),
                   S(median(x, 0), {}), S(median(x, 1), {0, 3}), S(median(x), {0}),
                   S(median(x, 0), listed({1, NAN, 2, NAN})), S(median(x), listed({1, NAN, 2, NAN}))},
       .errors = {E("median: dim 2 is outside of a tensor of rank 2; use -2 to 1", median(x, 2), {2, 3}),
                  E("median: dim 0 of a tensor of shape [0, 3] is empty", median(x, 0), {0, 3}),
                  E("median: an empty tensor of Long has no median", median(x), typed(kLong, {0}))}},
      {.name = "nanmedian",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(nanmedian(x, 1), distinct({3, 8})), S(nanmedian(x), distinct({3, 8})),
                   S(x.nanmedian(0, true), distinct({7, 3})), S(x.nanmedian(), {}), S(nanmedian(x, 0), {}),
                   S(nanmedian(x, 1), {0, 3}), S(nanmedian(x), {0}),
                   S(nanmedian(x, 0), listed({NAN, 3, NAN, 2, 1, 4})),
                   S(nanmedian(x), listed({NAN, 3, NAN, 2, 1, 4})), S(nanmedian(x, 0), listed({NAN, NAN})),
                   S(nanmedian(x), listed({NAN, NAN}))},
       .errors = {E("nanmedian: dim 2 is outside of a tensor of rank 2; use -2 to 1", nanmedian(x, 2),
                    {2, 3}),
                  E("nanmedian: dim 0 of a tensor of shape [0, 3] is empty", nanmedian(x, 0), {0, 3}),
                  E("nanmedian: an empty tensor of Long has no median", nanmedian(x), typed(kLong, {0}))}},
      {.name = "mode",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(mode(x, 1), tied({3, 13})), S(mode(x, 0), distinct({5, 3})),
                   S(x.mode(0, true), tied({7, 3})), S(mode(x), {}), S(mode(x, 1), {0, 3}),
                   S(mode(x), listed({3, 1, 2, 2, 1, 5}))},
       .errors = {E("mode: dim 2 is outside of a tensor of rank 2; use -2 to 1", mode(x, 2), {2, 3}),
                  E("mode: dim 0 of a tensor of shape [0, 3] is empty", mode(x, 0), {0, 3}),
                  E(kUndefined, mode(x), undefined())}},
  };
}

std::vector<Row> quantile_rows() {
  return {
      {.name = "quantile",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S(quantile(x, y, 1), {3, 7}, probability({4})), S(quantile(x, 0.3), {3, 7}),
                   S(x.quantile(0.6, 0, true), {3, 7}), S(quantile(x, y), {2, 3}, probability({})),
                   S(quantile(x, y, nullopt, true), {2, 3}, probability({2})), S(quantile(x, 0.25), {}),
                   S(quantile(x, y), {5}, probability({0})),
                   S_PY("quantile(x, y, 1, interpolation='lower')", quantile(x, y, 1, false, "lower"), {3, 7},
                        probability({4}).no_grad()),
                   S_PY("quantile(x, y, 1, interpolation='higher')", x.quantile(y, 1, false, "higher"),
                        {3, 7}, probability({4}).no_grad()),
                   S_PY("quantile(x, 0.5, 1, interpolation='nearest')", quantile(x, 0.5, 1, false, "nearest"),
                        {3, 8}),
                   S_PY("quantile(x, y, 1, interpolation='midpoint')", quantile(x, y, 1, false, "midpoint"),
                        {3, 7}, probability({4}).no_grad()),
                   S(quantile(x, 0.5, 1), listed({1, NAN, 2, 3, 4, 5}, {2, 3})), S(quantile(x, 1), {3, 4}),
                   S(quantile(x, 0), {3, 4}),
                   S(quantile(x, 0.5), listed({-INFINITY, 1, INFINITY}).no_grad())},
       .errors = {E("quantile: q must lie between 0 and 1", quantile(x, 1.5), {3}),
                  E("quantile: q must have the dtype of the tensor, Float, got Double", quantile(x, y), {3},
                    typed(kDouble, {2})),
                  E("quantile: q must be a number or have 1 dim, got shape [1, 2]", quantile(x, y), {3},
                    probability({1, 2})),
                  E("quantile: a tensor of shape [0, 3] has no elements", quantile(x, 0.5), {0, 3}),
                  E("quantile: needs a tensor of Float or Double, got Long", quantile(x, 0.5),
                    typed(kLong, {3})),
                  E("quantile: interpolation must be linear, lower, higher, nearest or midpoint, got cubic",
                    quantile(x, 0.5, 0, false, "cubic"), {3}),
                  E("quantile: dim 2 is outside of a tensor of rank 2; use -2 to 1", quantile(x, 0.5, 2),
                    {2, 3})}},
      {.name = "nanquantile",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S(nanquantile(x, y, 1), {3, 7}, probability({4})), S(nanquantile(x, 0.3), {3, 7}),
                   S(x.nanquantile(0.6, 0, true), {3, 7}), S(x.nanquantile(y), {2, 3}, probability({})),
                   S(nanquantile(x, 0.25), {}), S(nanquantile(x, y), {5}, probability({0})),
                   S(nanquantile(x, 0.3, 1), listed({1, NAN, 2, NAN, NAN, NAN, 4, 8, 6}, {3, 3}))},
       .errors = {E("nanquantile: q must lie between 0 and 1", nanquantile(x, -0.5), {3}),
                  E("nanquantile: a tensor of shape [0, 3] has no elements", nanquantile(x, 0.5), {0, 3}),
                  E("nanquantile: dim 2 is outside of a tensor of rank 2; use -2 to 1",
                    nanquantile(x, 0.5, 2), {2, 3})}},
  };
}

}  // namespace

std::vector<Row> order_rows() { return join({sort_rows(), rank_rows(), quantile_rows()}); }

}  // namespace tarn::testing
