// Rows of the pointwise ops of one tensor: arithmetic, powers, exponentials, trigonometry.
#include <tarn/core/ops/pointwise.h>

#include <tarn/tests/ops/pointwise_row.h>

namespace tarn::testing {

std::vector<Row> unary_rows() {
  return {
      ROW1(neg, .dtypes = kNumbers, .floating = false),
      ROW1(abs, .floating = false),
      ROW1(sign, .floating = false),
      ROW1(square, .dtypes = kNumbers, .floating = false, .uncompared = {kBool},
           .why_uncompared = "PyTorch gives Long"),
      ROW1(reciprocal, .range = kAboveZero),
      ROW1(floor, .floating = false),
      ROW1(ceil, .floating = false),
      ROW1(round, .floating = false,

           .more = {S(round(x), listed({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609}))}),
      ROW1(trunc, .floating = false),
      ROW1(frac),
      ROW1(sqrt, .range = kAboveZero),
      ROW1(rsqrt, .range = kAboveZero),
      ROW1(exp),
      ROW1(exp2),
      ROW1(expm1),
      ROW1(log, .range = kAboveZero),
      ROW1(log2, .range = kAboveZero),
      ROW1(log10, .range = kAboveZero),
      ROW1(log1p, .range = kAboveZero),
      ROW1(sin),
      ROW1(cos),
      ROW1(tan, .f32 = {3e-5, 1e-6}),
      ROW1(asin, .range = kInsideOne),
      ROW1(acos, .range = kInsideOne),
      ROW1(atan),
      ROW1(sinh),
      ROW1(cosh),
      ROW1(tanh),
      ROW1(asinh),
      ROW1(acosh, .range = kAboveOne),
      ROW1(atanh, .range = kInsideOne),
      ROW1(erf),
      ROW1(erfc),
      ROW1(isnan, .grad = false, .floating = false),
      ROW1(isinf, .grad = false, .floating = false),
      ROW1(isfinite, .grad = false, .floating = false),
      ROW1(logical_not, .grad = false, .floating = false),
      {.name = "bitwise_not",
       .dtypes = kIntegersAndBool,
       .samples = {S(bitwise_not(x), many({3, 23})), S(~x, {}), S(bitwise_not(x), {0, 3})},
       .inplace = {I(x.bitwise_not_(), bitwise_not(x), many({3, 23}))},
       .errors = {E("bitwise_not: needs integers or Bool, got Float", bitwise_not(x), {2}),
                  E("bitwise_not: needs integers or Bool, got Half", bitwise_not(x), typed(kHalf, {2})),
                  E("tensor: this tensor is undefined; give it a value first", bitwise_not(x), undefined())}},
  };
}

}  // namespace tarn::testing
