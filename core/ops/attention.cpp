// scaled_dot_product_attention, made of other ops: the scores are held as a whole.
#include <tarn/core/ops/attention.h>

#include <cmath>
#include <limits>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/ops/widen.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

constexpr const char* kName = "scaled_dot_product_attention";

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, kName,
        ": query, key and value must have at least 2 dims, got ", q.sizes(), ", ", k.sizes(), ", ",
        v.sizes());
  check(is_floating(q.dtype()), kName, ": not implemented for dtype ", q.dtype());
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(), kName,
        ": query, key and value must have one dtype, got ", q.dtype(), ", ", k.dtype(), ", ", v.dtype());
  check(q.size(-1) == k.size(-1), kName, ": query ", q.sizes(), " and key ", k.sizes(),
        " must agree in their last size");
  check(k.size(-2) == v.size(-2), kName, ": key ", k.sizes(), " and value ", v.sizes(),
        " must agree in their length (dim -2)");
}

// Each head of x (..., H, S, E) `times` times in a row.
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  Dims sizes(x.sizes());
  sizes.insert(sizes.size() - 2, times);
  return x.unsqueeze(-3).expand(sizes).flatten(-4, -3);
}

int64_t heads_per_key(const Tensor& q, const Tensor& x, const char* what) {
  check(q.dim() >= 3 && x.dim() >= 3, kName, ": enable_gqa needs heads in dim -3, got query ", q.sizes(),
        " and ", what, " ", x.sizes());
  int64_t heads = x.size(-3);
  check(heads > 0 && q.size(-3) % heads == 0, kName, ": the ", q.size(-3), " heads of query ", q.sizes(),
        " are no multiple of the ", heads, " of ", what, " ", x.sizes());
  return q.size(-3) / heads;
}

// Bool (L, S): row i sees keys 0 to i.
Tensor causal_mask(int64_t rows, int64_t keys, Device device) {
  TensorOptions options = TensorOptions(kLong).device(device);
  return arange(rows, options).unsqueeze(1) >= arange(keys, options);
}

// softmax over keys; rows that see none (all of `hidden` true) are zeros, with zero gradients.
Tensor masked_softmax(const Tensor& scores, const Tensor& hidden) {
  Tensor blind = all(hidden, -1, true);
  return where(blind, 0, softmax(where(blind, 0, scores), -1));
}

Tensor attention_weights(const Tensor& scores, const std::optional<Tensor>& given, bool is_causal) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (is_causal) {
    Tensor seen = causal_mask(scores.size(-2), scores.size(-1), scores.device());
    return softmax(where(seen, scores, kHidden), -1);
  }
  if (!given || !given->defined()) return softmax(scores, -1);
  if (given->dtype() == kBool) {
    Tensor hidden = logical_not(*given);
    return masked_softmax(where(hidden, kHidden, scores), hidden);
  }
  Tensor mask = widened(*given);
  return masked_softmax(scores + mask, mask == kHidden);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check_operands(query, key, value);
  bool masked = attn_mask && attn_mask->defined();
  check(!(masked && is_causal), kName, ": give attn_mask or is_causal, not both");
  if (masked)
    check(attn_mask->dtype() == kBool || attn_mask->dtype() == query.dtype(), kName,
          ": attn_mask must be Bool or ", query.dtype(), ", got ", attn_mask->dtype());
  check(dropout_p >= 0 && dropout_p <= 1, kName, ": dropout_p must be between 0 and 1, got ", dropout_p);

  Tensor q = widened(query), k = widened(key), v = widened(value);
  if (enable_gqa) {
    k = repeat_heads(k, heads_per_key(query, key, "key"));
    v = repeat_heads(v, heads_per_key(query, value, "value"));
  }
  double factor = scale.value_or(1 / std::sqrt(double(query.size(-1))));
  Tensor weights = attention_weights(matmul(q * factor, k.mT()), attn_mask, is_causal);
  return cast(matmul(dropout(weights, dropout_p, true), v), query.dtype());
}

}  // namespace tarn::inline v1
