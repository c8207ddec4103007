// Rows of ranges, triangles' places, powers, windows, and tensors like another one.
#include <tarn/core/ops/creation.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

std::vector<Row> range_rows() {
  return {
      {.name = "range",
       .samples = {S(range(0, 4)), S(range(1, 2, 0.25)), S(range(3, -3, -2)), S(range(2, 2)),
                   S(range(0.5, 3)), S_PY("range(0, 10, 3, dtype=kLong)", range(0, 10, 3, kLong)),
                   S_PY("range(0, 1, 0.125, dtype=kDouble)", range(0, 1, 0.125, kDouble))},
       .errors = {E("range: step must not be 0 or NaN, got 0", range(0, 5, 0)),
                  E("range: a step of -1 does not lead from 0 to 5", range(0, 5, -1)),
                  E("range: start and end must be finite, got 0 and inf", range(0, INFINITY)),
                  E("range: from 0 to 1e+300 by 1 are too many values", range(0, 1e300))}},
      {.name = "logspace",
       .samples = {S(logspace(0, 2, 5)), S(logspace(-1, 1, 4)), S(logspace(0, 8, 9, 2.0)),
                   S(logspace(1, 0, 1)), S(logspace(0, 1, 0)),
                   S_PY("logspace(0, 1, 33, dtype=kDouble)", logspace(0, 1, 33, 10, kDouble)),
                   S_PY("logspace(0, 4, 5, 2, dtype=kInt)", logspace(0, 4, 5, 2, kInt))},
       .errors = {E("logspace: steps must be 0 or more, got -1", logspace(0, 1, -1))},
       .few_errors = "takes any numbers"},
      {.name = "tril_indices",
       .samples = {S(tril_indices(3, 4)), S(tril_indices(4, 3, 1)), S(tril_indices(4, 3, -2)),
                   S(tril_indices(2, 3, 9)), S(tril_indices(2, 3, -9)), S(tril_indices(0, 3)),
                   S_PY("tril_indices(2, 2, 0, dtype=kInt)", tril_indices(2, 2, 0, kInt))},
       .errors =
           {E("tril_indices: sizes must be 0 or more, got -1 and 2", tril_indices(-1, 2)),
            E("tril_indices: the dtype must be Int or Long, got Float", tril_indices(2, 2, 0, kFloat)),
            E("tril_indices: the number of elements of [4611686018427387904, 4, 2] does not fit in int64",
              tril_indices(int64_t(1) << 62, 4))}},
      {.name = "triu_indices",
       .samples = {S(triu_indices(3, 4)), S(triu_indices(4, 3, 1)), S(triu_indices(4, 3, -2)),
                   S(triu_indices(2, 3, 9)), S(triu_indices(2, 3, -9)), S(triu_indices(0, 3)),
                   S_PY("triu_indices(2, 2, 0, dtype=kInt)", triu_indices(2, 2, 0, kInt))},
       .errors =
           {E("triu_indices: sizes must be 0 or more, got 1 and -2", triu_indices(1, -2)),
            E("triu_indices: the dtype must be Int or Long, got Double", triu_indices(2, 2, 0, kDouble)),
            E("triu_indices: the number of elements of [4611686018427387904, 4, 2] does not fit in int64",
              triu_indices(int64_t(1) << 62, 4))}},
      {.name = "vander",
       .dtypes = kNumbers,
       .grad = true,
       .samples = {S(vander(x), Input({4}).no_grad()),
                   S_PY("x.reshape(-1, 1) ** torch.arange(3, -1, -1)", vander(x), {4}),
                   S_PY("x.reshape(-1, 1) ** torch.arange(5)", vander(x, 5, true), {3}),
                   S(vander(x, 2), Input({4}).no_grad()), S(vander(x, 5, true), Input({3}).no_grad()),
                   S(vander(x, 0), Input({3}).no_grad()), S(vander(x, 1), Input({3}).no_grad()),
                   S(vander(x), Input({0}).no_grad())},
       .errors = {E("vander: the tensor must have 1 dim, got sizes [2, 3]", vander(x), {2, 3}),
                  E("vander: n must be 0 or more, got -1", vander(x, -1), {3}),
                  E("vander: the tensor must have 1 dim, got sizes []", vander(x), {})},
       .uncompared = {kBool},
       .why_uncompared = "powers of Bool are Long in both",
       .no_scalar = "needs a tensor of one dim"},
  };
}

#define LENGTH(op) E(#op ": the length must be 0 or more, got -1", op(-1))
#define FLOATING(op) E(#op ": needs a floating dtype, got Long", op(3, true, kLong))

std::vector<Row> window_rows() {
  return {
      {.name = "hann_window",
       .samples = {S(hann_window(8)), S(hann_window(7, false)), S(hann_window(1)), S(hann_window(0)),
                   S_PY("hann_window(9, dtype=kDouble)", hann_window(9, true, kDouble))},
       .errors = {LENGTH(hann_window), FLOATING(hann_window)},
       .few_errors = "takes a length only"},
      {.name = "hamming_window",
       .samples = {S(hamming_window(8)), S(hamming_window(7, false)), S(hamming_window(1, false)),
                   S(hamming_window(5, true, 0.6, 0.3)),
                   S_PY("hamming_window(9, dtype=kDouble)", hamming_window(9, true, 0.54, 0.46, kDouble))},
       .errors = {LENGTH(hamming_window), E("hamming_window: needs a floating dtype, got Int",
                                            hamming_window(3, true, 0.5, 0.5, kInt))},
       .few_errors = "takes a length only"},
      {.name = "blackman_window",
       .samples = {S(blackman_window(8)), S(blackman_window(7, false)), S(blackman_window(1)),
                   S_PY("blackman_window(9, dtype=kDouble)", blackman_window(9, true, kDouble))},
       .errors = {LENGTH(blackman_window), FLOATING(blackman_window)},
       .few_errors = "takes a length only"},
      {.name = "bartlett_window",
       .samples = {S(bartlett_window(8)), S(bartlett_window(7, false)), S(bartlett_window(1)),
                   S_PY("bartlett_window(9, dtype=kDouble)", bartlett_window(9, true, kDouble))},
       .errors = {LENGTH(bartlett_window), FLOATING(bartlett_window)},
       .few_errors = "takes a length only"},
      {.name = "kaiser_window",
       .samples = {S(kaiser_window(8)), S(kaiser_window(7, false)), S(kaiser_window(1)),
                   S(kaiser_window(6, true, 3.0)), S(kaiser_window(6, false, 0.0)),
                   S_PY("kaiser_window(9, dtype=kDouble)", kaiser_window(9, true, 12, kDouble))},
       .errors = {LENGTH(kaiser_window),
                  E("kaiser_window: needs a floating dtype, got Long", kaiser_window(3, true, 12, kLong)),
                  E("kaiser_window: beta must be from 0 to 700, got -1", kaiser_window(3, true, -1))}},
  };
}

void check_new_empty() {
  Tensor x = formula_tensor({2, 3}, kInt);
  CHECK(x.new_empty({4, 5}).sizes() == IntArrayRef{4, 5});
  CHECK(x.new_empty({4}).dtype() == kInt);
  CHECK(x.new_empty({4}, kHalf).dtype() == kHalf);
  CHECK(x.new_empty({}, TensorOptions(kFloat).requires_grad(true)).requires_grad());
}

std::vector<Row> like_rows() {
  return {
      {.name = "new_empty",
       .errors = {E("empty: sizes must not be negative, got [-1]", x.new_empty({-1}), {2})},
       .property = check_new_empty,
       .few_errors = "takes sizes only"},
      {.name = "new_zeros",
       .dtypes = kEveryDtype,
       .samples = {S(x.new_zeros({2, 3}), {4}), S(x.new_zeros({}), {}), S(x.new_zeros({2}), {0}),
                   S_PY("x.new_zeros([3], dtype=kInt)", x.new_zeros({3}, kInt), {2})},
       .errors = {E("zeros: sizes must not be negative, got [-1]", x.new_zeros({-1}), {2})},
       .few_errors = "takes sizes only"},
      {.name = "new_ones",
       .dtypes = kEveryDtype,
       .samples = {S(x.new_ones({2, 3}), {4}), S(x.new_ones({}), {}), S(x.new_ones({0, 2}), {0}),
                   S_PY("x.new_ones([3], dtype=kInt)", x.new_ones({3}, kInt), {2})},
       .errors = {E("ones: sizes must not be negative, got [-1]", x.new_ones({-1}), {2})},
       .few_errors = "takes sizes only"},
      {.name = "new_full",
       .dtypes = kEveryDtype,
       .samples = {S(x.new_full({2, 3}, 2), {4}), S(x.new_full({}, 1), {}), S(x.new_full({0, 2}, 1), {0}),
                   S_PY("x.new_full([3], 2.5, dtype=kInt)", x.new_full({3}, 2.5, kInt), {2})},
       .errors = {E("full: sizes must not be negative, got [-1]", x.new_full({-1}, 1), {2})},
       .few_errors = "takes sizes only"},
  };
}

}  // namespace

std::vector<Row> new_rows() { return join({range_rows(), window_rows(), like_rows()}); }

}  // namespace tarn::testing
