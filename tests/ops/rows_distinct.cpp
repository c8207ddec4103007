// Rows of distinct values, search, histograms, differences and statistics.
#include <tarn/core/ops/order.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

constexpr const char* kUndefined = "tensor: this tensor is undefined; give it a value first";

std::vector<Row> unique_rows() {
  return {
      {.name = "unique",
       .dtypes = kEveryDtype,
       .samples = {S_PY("torch.unique(x, True, True, True)", unique(x, true, true, true), many({3, 23})),
                   S_PY("torch._unique2(x)", unique(x), tied({23})),
                   S_PY("torch._unique2(x, True, True)", _unique2(x, true, true), tied({3, 5})),
                   S_PY("torch._unique2(x, True, False, True)", unique(x, true, false, true), tied({13})),
                   S_PY("torch.unique(x, True, True, True)", unique(x, true, true, true), many({601})),
                   S_PY("torch.unique(x, True, True, True)", unique(x, true, true, true), {}),
                   S_PY("torch.unique(x, True, True, True)", unique(x, true, true, true), {0, 3}),
                   S_PY("torch.unique(x, True, True, True)", unique(x, true, true, true), special()),
                   S_PY("torch.unique(x, True, True, True, 1)", unique(x, true, true, true, 1),
                        tied({2, 11}))},
       .errors = {E(kUndefined, unique(x), undefined()),
                  E("unique: dim 2 is outside of a tensor of rank 2; use -2 to 1",
                    unique(x, true, false, false, 2), {2, 3}),
                  E("unique: a 0-dim tensor has no dim 0", unique(x, true, false, false, 0), {})}},
      {.name = "unique_dim",
       .dtypes = kEveryDtype,
       .samples = {S_PY("torch._VF.unique_dim(x, 0, True, True, True)", unique_dim(x, 0, true, true, true),
                        tied({9, 2})),
                   S_PY("torch._VF.unique_dim(x, 1, True, True, True)", unique_dim(x, 1, true, true, true),
                        tied({2, 7, 2})),
                   S_PY("torch._VF.unique_dim(x, 0)[0]", std::get<0>(unique_dim(x, 0)), tied({13})),
                   S_PY("torch._VF.unique_dim(x, -1, True, True, True)", unique_dim(x, -1, true, true, true),
                        listed({1, 2, 1, 0, 3, 0, 1, 2, 1}, {3, 3})),
                   S_PY("torch._VF.unique_dim(x, 0, True, True, True)", unique_dim(x, 0, true, true, true),
                        {0, 3})},
       .errors = {E("unique: slices along dim 0 of a tensor of shape [3, 0] are empty", unique_dim(x, 0),
                    {3, 0}),
                  E("unique: dim 2 is outside of a tensor of rank 2; use -2 to 1", unique_dim(x, 2), {2, 3}),
                  E("unique: a 0-dim tensor has no dim 0", unique_dim(x, 0), {})},
       .no_scalar = "needs a dim"},
      {.name = "unique_consecutive",
       .dtypes = kEveryDtype,
       .samples = {S_PY("torch.unique_consecutive(x, True, True)", unique_consecutive(x, true, true),
                        listed({1, 1, 2, 2, 2, 0, 1, 1})),
                   S_PY("torch._VF.unique_consecutive(x)", unique_consecutive(x), listed({3, 3, 0, 3})),
                   S_PY("torch.unique_consecutive(x, True, True)", unique_consecutive(x, true, true), {}),
                   S_PY("torch.unique_consecutive(x, True, True)", unique_consecutive(x, true, true), {0, 3}),
                   S_PY("torch.unique_consecutive(x, True, True)", unique_consecutive(x, true, true),
                        listed({1, NAN, NAN, 0, -0.0, 2})),
                   S_PY("torch.unique_consecutive(x, True, True, 1)", unique_consecutive(x, true, true, 1),
                        listed({1, 1, 2, 2, 0, 0, 0, 1}, {2, 4}))},
       .errors = {E(kUndefined, unique_consecutive(x), undefined()),
                  E("unique_consecutive: dim 2 is outside of a tensor of rank 2; use -2 to 1",
                    unique_consecutive(x, false, false, 2), {2, 3}),
                  E("unique_consecutive: slices along dim 0 of a tensor of shape [3, 0] are empty",
                    unique_consecutive(x, false, false, 0), {3, 0})}},
  };
}

Input ascending(std::vector<int64_t> sizes) {
  Formula f{.a = 1, .b = 0, .m = 1000, .c = 6, .d = 2};
  return {std::move(sizes), {f, f}};
}

std::vector<Row> search_rows() {
  return {
      {.name = "searchsorted",
       .dtypes = kNumbers,
       .samples = {S(searchsorted(x, y), ascending({13}), {3, 7}),
                   S_PY("searchsorted(x, y, right=True)", searchsorted(x, y, false, true), ascending({13}),
                        tied({3, 7})),
                   S_PY("searchsorted(x, y, out_int32=True, side='right')",
                        searchsorted(x, y, true, false, "right"), ascending({13}), tied({3, 7})),
                   S_PY("searchsorted(x, y, side='left')", searchsorted(x, y, false, false, "left"),
                        ascending({13}), tied({7})),
                   S(searchsorted(x, y), listed({1, 3, 5, 7, 2, 4, 6, 8}, {2, 4}),
                     listed({3, 6, 9, 1, 4, 8}, {2, 3})),
                   S_PY("searchsorted(x, y, sorter=z)", searchsorted(x, y, false, false, nullopt, z),
                        listed({5, 1, 3}), listed({1, 2, 6}), index_list({1, 2, 0})),
                   S(searchsorted(x, 3), ascending({13})), S(searchsorted(x, 2.5), ascending({13}).as(kInt)),
                   S(searchsorted(x, y), ascending({13}), {}), S(searchsorted(x, y), {0}, {3}),
                   S(searchsorted(x, y), ascending({13}), {0, 2}),
                   S(searchsorted(x, y), ascending({13}).as(kInt), listed({0.5, 2, NAN})),
                   S(searchsorted(x, y), listed({-INFINITY, 0, 1, INFINITY, NAN}),
                     listed({-INFINITY, 0, 0.5, INFINITY, NAN}))},
       .errors =
           {E("searchsorted: the sorted sequence must have at least 1 dim", searchsorted(x, y), {}, {3}),
            E("searchsorted: a number needs a sorted sequence of 1 dim, got shape [2, 3]", searchsorted(x, 3),
              {2, 3}),
            E("searchsorted: a sorted sequence of shape [2, 3] must have 1 dim or agree in all dims but "
              "the last with values of shape [3, 4]",
              searchsorted(x, y), {2, 3}, {3, 4}),
            E("searchsorted: side must be left or right, got up", searchsorted(x, y, false, false, "up"), {3},
              {3}),
            E("searchsorted: side left contradicts right = true", searchsorted(x, y, false, true, "left"),
              {3}, {3}),
            E("searchsorted: sorter of shape [2] must have the shape of the sorted sequence, [3]",
              searchsorted(x, y, false, false, nullopt, z), {3}, {3}, index_list({0, 1})),
            E("searchsorted: sorter must be Long, got Int", searchsorted(x, y, false, false, nullopt, z), {3},
              {3}, index_list({0, 1, 2}).as(kInt)),
            E("searchsorted: sorter has the place 7 in a sequence of 3",
              searchsorted(x, y, false, false, nullopt, z), {3}, {3}, index_list({7, 7, 7}))},
       .uncompared = {kBool},
       .why_uncompared = "PyTorch has none"},
      {.name = "bucketize",
       .dtypes = kNumbers,
       .samples = {S(bucketize(x, y), {3, 7}, ascending({13})),
                   S_PY("bucketize(x, y, out_int32=True, right=True)", bucketize(x, y, true, true),
                        tied({3, 7}), ascending({13})),
                   S(bucketize(x, y), {}, ascending({13})), S(bucketize(x, y), {0, 2}, ascending({13})),
                   S(bucketize(3, x), ascending({13})),
                   S_PY("bucketize(2.5, x)", bucketize(2.5, x), ascending({5}))},
       .errors = {E("bucketize: boundaries must have 1 dim, got shape [2, 3]", bucketize(x, y), {3}, {2, 3}),
                  E("bucketize: boundaries must have 1 dim, got shape []", bucketize(3, x), {}),
                  E("searchsorted: a tensor is undefined", bucketize(x, y), undefined(), {3})},
       .uncompared = {kBool},
       .why_uncompared = "PyTorch has none"},
      {.name = "argwhere",
       .dtypes = kEveryDtype,
       .samples = {S(argwhere(x), tied({3, 5})), S(x.argwhere(), mask({2, 3, 2})), S(argwhere(x), {}),
                   S(argwhere(x), {0, 3}), S(argwhere(x), special())},
       .errors = {E("nonzero: the tensor is undefined", argwhere(x), undefined())},
       .few_errors = "takes nothing but a tensor"},
  };
}

std::vector<Row> histogram_rows() {
  return {
      {.name = "bincount",
       .dtypes = kIntegers,
       .samples = {S(bincount(x), listed({3, 1, 0, 3, 7})),
                   S(bincount(x, y), index_below(6, {23}), typed(kFloat, {23})),
                   S(bincount(x, y), index_below(6, {23}), typed(kDouble, {23})),
                   S(bincount(x, y), index_below(6, {23}), typed(kInt, {23})),
                   S_PY("bincount(x, None, 9)", x.bincount(Tensor(), 9), index_below(6, {23})),
                   S_PY("bincount(x, minlength=3)", bincount(x, {}, 3), {0}),
                   S(bincount(x), index_below(6, {23}, kByte))},
       .errors = {E("bincount: needs an integer tensor, got Float", bincount(x), {3}),
                  E("bincount: needs a tensor of 1 dim, got shape []", bincount(x), typed(kLong, {})),
                  E("bincount: elements must not be negative, got -2", bincount(x), index_list({1, -2})),
                  E("bincount: the element 1152921504606846976 is too large", bincount(x),
                    index_list({1152921504606846976.0})),
                  E("bincount: minlength must not be negative, got -1", bincount(x, {}, -1), index_list({1})),
                  E("bincount: weights of shape [3] must have the shape of the tensor, [2]", bincount(x, y),
                    index_list({1, 2}), {3})},
       .no_scalar = "needs 1 dim"},
      {.name = "histc",
       .dtypes = kSingleDouble,
       .samples = {S(histc(x, 7, -1, 2), {3, 23}), S(histc(x, 5), {3, 23}), S(x.histc(4, 0, 3), tied({23})),
                   S(histc(x), {601}), S(histc(x, 3), {}), S(histc(x, 4), {0}),
                   S(histc(x, 3), listed({2, 2, 2})),
                   S(histc(x, 4, 0, 4), listed({NAN, 1, 2, 4, -INFINITY, INFINITY, 5}))},
       .errors = {E("histc: needs a floating tensor, got Long; call to(kFloat) first", histc(x),
                    typed(kLong, {3})),
                  E("histc: the number of bins must be positive, got 0", histc(x, 0), {3}),
                  E("histc: max must be larger than min, got 3 and 1", histc(x, 4, 3, 1), {3}),
                  E("histc: the range from 1 to inf is not finite", histc(x, 4), listed({1, INFINITY}))},
       .uncompared = {kHalf, kBFloat16},
       .why_uncompared = "PyTorch rounds to 16 bits what it cuts to a bin"},
  };
}

std::vector<Row> difference_rows() {
  return {
      {.name = "diff",
       .dtypes = kEveryDtype,
       .grad = true,
       .samples = {S(diff(x), {3, 7}), S(diff(x, 2, 0), {5, 3}), S(x.diff(3, 1), {2, 6, 2}),
                   S(diff(x, 0), {2, 3}), S(diff(x, 9), {2, 3}), S(diff(x, 1, 0), {0, 3}),
                   S(diff(x, 1, 1, y, z), {2, 3}, {2, 1}, {2, 2}), S(diff(x, 2, 0, y), {3, 2}, {1, 2}),
                   S(diff(x, 1, 0), {1, 3}),
                   S_PY("diff(x, 1, 0, None, y)", diff(x, 1, 0, nullopt, y), {3, 2}, {1, 2})},
       .errors = {E("diff: needs a tensor of at least 1 dim", diff(x), {}),
                  E("diff: n must not be negative, got -1", diff(x, -1), {3}),
                  E("diff: dim 2 is outside of a tensor of rank 2; use -2 to 1", diff(x, 1, 2), {2, 3})},
       .no_scalar = "needs a dim"},
      {.name = "trapezoid",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(trapezoid(x), {3, 7}), S(trapezoid(x, y), {3, 7}, {7}),
                   S_PY("trapezoid(x, dx=0.5, dim=0)", trapezoid(x, 0.5, 0), {5, 3}),
                   S_PY("trapezoid(x, y, dim=1)", trapezoid(x, y, 1), {2, 3, 4}, {3}),
                   S_PY("trapezoid(x, y, dim=1)", trapezoid(x, y, 1), {2, 3, 4}, {3, 4}),
                   S_PY("trapezoid(x, dim=0)", trapezoid(x, 1, 0), Input{0, 3}.no_grad()),
                   S(trapezoid(x), {3, 1}), S(trapezoid(x), typed(kInt, {2, 4}))},
       .errors = {E("trapezoid: needs a tensor of at least 1 dim", trapezoid(x), {}),
                  E("trapezoid: x of shape [4] must have as many points as y of shape [2, 3] along dim 1",
                    trapezoid(x, y), {2, 3}, {4}),
                  E("trapezoid: x of shape [2, 3] does not fit y of shape [3]", trapezoid(x, y), {3}, {2, 3}),
                  E("trapezoid: dim 2 is outside of a tensor of rank 2; use -2 to 1", trapezoid(x, 1, 2),
                    {2, 3})},
       .no_scalar = "needs a dim"},
      {.name = "cumulative_trapezoid",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(cumulative_trapezoid(x), {3, 7}), S(cumulative_trapezoid(x, y), {3, 7}, {7}),
                   S_PY("cumulative_trapezoid(x, dx=0.5, dim=0)", cumulative_trapezoid(x, 0.5, 0), {5, 3}),
                   S_PY("cumulative_trapezoid(x, y, dim=1)", cumulative_trapezoid(x, y, 1), {2, 3, 4},
                        {3, 4}),
                   S(cumulative_trapezoid(x), {3, 0}), S(cumulative_trapezoid(x), {3, 1})},
       .errors =
           {E("cumulative_trapezoid: needs a tensor of at least 1 dim", cumulative_trapezoid(x), {}),
            E("cumulative_trapezoid: x of shape [4] must have as many points as y of shape [2, 3] along "
              "dim 1",
              cumulative_trapezoid(x, y), {2, 3}, {4}),
            E("cumulative_trapezoid: dim 2 is outside of a tensor of rank 2; use -2 to 1",
              cumulative_trapezoid(x, 1, 2), {2, 3})},
       .no_scalar = "needs a dim"},
      {.name = "dist",
       .grad = true,
       .samples = {S(dist(x, y), {3, 7}, {3, 7}), S(dist(x, y, 1), {3, 7}, {7}), S(x.dist(y, 3), {5}, {5}),
                   S_PY("dist(x, y, torch.inf)", dist(x, y, INFINITY), rough({7}), rough({7})),
                   S(dist(x, y), {}, {}), S(dist(x, y), {0}, {0}),
                   S(dist(x, y, 0), tied({7}).no_grad(), tied({7}).no_grad())},
       .errors = {E("sub: shapes [2] and [3] do not broadcast: dim 0 is 2 and 3", dist(x, y), {2}, {3}),
                  E("norm: needs a floating tensor, got Long; call to(kFloat) first", dist(x, y),
                    typed(kLong, {3}), typed(kLong, {3})),
                  E("sub: the first tensor is undefined", dist(x, y), undefined(), {3})}},
  };
}

// Two variables whose correlation is not near 1.
Input observations() {
  Input input = listed({1, 3, 2, 0.5, -1, 2, -1, 0.5, 3, 1.5}, {2, 5});
  input.smooth = true;
  return input;
}

std::vector<Row> covariance_rows() {
  return {
      {.name = "cov",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(cov(x), {3, 7}), S_PY("cov(x, correction=0)", x.cov(0), {3, 7}), S(cov(x), {7}),
                   S_PY("cov(x, correction=0)", cov(x, 0), {}),
                   S_PY("cov(x, fweights=y)", cov(x, 1, y), {2, 4}, index_list({1, 3, 0, 2})),
                   S_PY("cov(x, aweights=y)", cov(x, 1, nullopt, y), {2, 4}, probability({4})),
                   S_PY("cov(x, correction=0, fweights=y, aweights=z)", cov(x, 0, y, z), {2, 4},
                        index_list({1, 3, 0, 2}), probability({4})),
                   S_PY("cov(x, fweights=y, aweights=z)", cov(x, 1, y, z), {2, 4}, index_list({1, 3, 0, 2}),
                        probability({4})),
                   S(cov(x), {2, 0}), S(cov(x), {2, 1}), S(cov(x), typed(kInt, {2, 5}))},
       .errors = {E("cov: needs a tensor of at most 2 dims, got shape [2, 3, 4]", cov(x), {2, 3, 4}),
                  E("cov: fweights must have shape [3], got [2]", cov(x, 1, y), {2, 3}, index_list({1, 2})),
                  E("cov: fweights must be integers, got Float", cov(x, 1, y), {2, 3}, {3}),
                  E("cov: aweights must not be negative", cov(x, 1, nullopt, y), {2, 2}, listed({1, -1})),
                  E("cov: not implemented for dtype Bool", cov(x), mask({2, 3}))},
       .f16 = {0.05, 0.05},
       .bf16 = {0.2, 0.2}},
      {.name = "corrcoef",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(corrcoef(x), rough({3, 7})), S(x.corrcoef(), rough({2, 5})), S(corrcoef(x), rough({7})),
                   S(corrcoef(x), {}), S(corrcoef(x), {2, 0}),
                   // Apart from the diagonal, where values are cut off at 1.
                   S_PY("corrcoef(x)[0, 1]", corrcoef(x).select(0, 0).select(0, 1), observations())},
       .errors = {E("corrcoef: needs a tensor of at most 2 dims, got shape [2, 3, 4]", corrcoef(x),
                    {2, 3, 4}),
                  E("cov: not implemented for dtype Bool", corrcoef(x), mask({2, 3})),
                  E(kUndefined, corrcoef(x), undefined())},
       .f16 = {0.05, 0.05},
       .bf16 = {0.2, 0.2}},
  };
}

}  // namespace

std::vector<Row> distinct_rows() {
  return join({unique_rows(), search_rows(), histogram_rows(), difference_rows(), covariance_rows()});
}

}  // namespace tarn::testing
