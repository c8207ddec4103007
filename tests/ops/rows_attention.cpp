// Rows of attention.
#include <tarn/core/ops/attention.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/random.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// With dropout the weights that stay are scaled up, so that the mean over many keys stays the mean.
void check_dropout() {
  manual_seed(1);
  Tensor q = formula_tensor({1, 4}), k = formula_tensor({20000, 4}) * 0, v = k + 1;
  double kept = values_of(scaled_dot_product_attention(q, k, v, {}, 0.25))[0];
  CHECK(std::abs(kept - 1) < 5 * std::sqrt(0.25 / 0.75 / 20000));
  CHECK(kept != 1);
}

}  // namespace

std::vector<Row> attention_rows() {
  return {
      {.name = "scaled_dot_product_attention",
       .grad = true,
       .samples = {S(scaled_dot_product_attention(x, y, z), {2, 3, 4}, {2, 5, 4}, {2, 5, 3}),
                   S(scaled_dot_product_attention(x, y, z), {3, 4}, {5, 4}, {5, 2}),
                   S(scaled_dot_product_attention(x, y, z), {2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}),
                   S_PY("scaled_dot_product_attention(x, y, z, w)", scaled_dot_product_attention(x, y, z, w),
                        {2, 3, 4}, {2, 5, 4}, {2, 5, 3}, {3, 5}),
                   S_PY("scaled_dot_product_attention(x, y, z, w)", scaled_dot_product_attention(x, y, z, w),
                        {2, 3, 4}, {2, 5, 4}, {2, 5, 3}, mask({2, 3, 5})),
                   // The second row may look at nothing.
                   S_PY("scaled_dot_product_attention(x, y, z, w)", scaled_dot_product_attention(x, y, z, w),
                        {3, 2}, {3, 2}, {3, 2}, listed({1, 0, 1, 0, 0, 0, 1, 1, 1}, {3, 3}).as(kBool)),
                   S_PY("scaled_dot_product_attention(x, y, z, w)", scaled_dot_product_attention(x, y, z, w),
                        {2, 2}, {2, 2}, {2, 2}, listed({0, 1, -INFINITY, -INFINITY}, {2, 2}).no_grad()),
                   S_PY("scaled_dot_product_attention(x, y, z, is_causal=True)",
                        scaled_dot_product_attention(x, y, z, {}, 0, true), {2, 4, 3}, {2, 4, 3}, {2, 4, 3}),
                   S_PY("scaled_dot_product_attention(x, y, z, is_causal=True)",
                        scaled_dot_product_attention(x, y, z, {}, 0, true), {2, 3, 2}, {2, 5, 2}, {2, 5, 2}),
                   S_PY("scaled_dot_product_attention(x, y, z, scale=0.25)",
                        scaled_dot_product_attention(x, y, z, {}, 0, false, 0.25), {2, 3, 2}, {2, 4, 2},
                        {2, 4, 2}),
                   S_PY("scaled_dot_product_attention(x, y, z, enable_gqa=True)",
                        scaled_dot_product_attention(x, y, z, {}, 0, false, {}, true), {1, 4, 3, 2},
                        {1, 2, 4, 2}, {1, 2, 4, 2}),
                   S(scaled_dot_product_attention(x, y, z), {0, 3, 4}, {0, 5, 4}, {0, 5, 3})},
       .errors =
           {E("scaled_dot_product_attention: query, key and value must have at least 2 dims, got [4], "
              "[5, 4], [5, 4]",
              scaled_dot_product_attention(x, y, z), {4}, {5, 4}, {5, 4}),
            E("scaled_dot_product_attention: query [3, 4] and key [5, 2] must agree in their last size",
              scaled_dot_product_attention(x, y, z), {3, 4}, {5, 2}, {5, 4}),
            E("scaled_dot_product_attention: key [5, 4] and value [6, 4] must agree in their length "
              "(dim -2)",
              scaled_dot_product_attention(x, y, z), {3, 4}, {5, 4}, {6, 4}),
            E("scaled_dot_product_attention: give attn_mask or is_causal, not both",
              scaled_dot_product_attention(x, y, z, w, 0, true), {3, 4}, {5, 4}, {5, 4}, {3, 5}),
            E("scaled_dot_product_attention: attn_mask must be Bool or Float, got Long",
              scaled_dot_product_attention(x, y, z, w), {3, 4}, {5, 4}, {5, 4}, typed(kLong, {3, 5})),
            E("scaled_dot_product_attention: dropout_p must be between 0 and 1, got 2",
              scaled_dot_product_attention(x, y, z, {}, 2), {3, 4}, {5, 4}, {5, 4}),
            E("scaled_dot_product_attention: the 4 heads of query [4, 3, 2] are no multiple of the 3 of "
              "key [3, 3, 2]",
              scaled_dot_product_attention(x, y, z, {}, 0, false, {}, true), {4, 3, 2}, {3, 3, 2},
              {3, 3, 2})},
       .property = check_dropout,
       .no_scalar = "takes (..., L, E)"},
  };
}

}  // namespace tarn::testing
