// The public functions of the pointwise family.
#include <tarn/core/ops/pointwise.h>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise_form.h>

namespace tarn::inline v1 {

using detail::dispatch;
using detail::dispatch_inplace;
using generic::RowId;

namespace {

// The op of a row's value; bit i of Mask: operand i is a number.
template <int Row, unsigned Mask = 0>
constexpr const detail::Op& op = detail::PointwiseOp<Row, 0, Mask>::op;

// In-place methods are const, as all methods of the handle are.
Tensor& self(const Tensor& x) { return const_cast<Tensor&>(x); }

template <int Row, unsigned Mask = 0, size_t N>
Tensor& inplace(const Tensor& x, const detail::In (&inputs)[N], detail::Scalars scalars = {}) {
  dispatch_inplace(op<Row, Mask>, inputs, {}, scalars);
  return self(x);
}

}  // namespace

// clang-format off
#define TARN_PUBLIC_ROWS
#define UNARY(kind, name, value, d0)                                                               \
  Tensor name(const Tensor& x) { return dispatch(op<RowId::kRow_##name>, {x}); }                   \
  Tensor Tensor::name() const { return tarn::name(*this); }                                        \
  Tensor& Tensor::name##_() const { return inplace<RowId::kRow_##name>(*this, {*this}); }
#define UNARY1(kind, name, p, dp, value, d0)                                                       \
  Tensor name(const Tensor& x, const Scalar& p) { return dispatch(op<RowId::kRow_##name>, {x}, {}, p); } \
  Tensor Tensor::name(const Scalar& p) const { return tarn::name(*this, p); }                      \
  Tensor& Tensor::name##_(const Scalar& p) const { return inplace<RowId::kRow_##name>(*this, {*this}, p); }
#define UNARY2(kind, name, p, dp, q, dq, value, d0)                                                \
  Tensor name(const Tensor& x, const Scalar& p, const Scalar& q) {                                 \
    return dispatch(op<RowId::kRow_##name>, {x}, {}, {p, q});                                      \
  }                                                                                                \
  Tensor Tensor::name(const Scalar& p, const Scalar& q) const { return tarn::name(*this, p, q); }  \
  Tensor& Tensor::name##_(const Scalar& p, const Scalar& q) const {                                \
    return inplace<RowId::kRow_##name>(*this, {*this}, {p, q});                                    \
  }
#define UNARY3(kind, name, p, dp, q, dq, r, dr, value, d0)                                         \
  Tensor name(const Tensor& x, const Scalar& p, const Scalar& q, const Scalar& r) {                \
    return dispatch(op<RowId::kRow_##name>, {x}, {}, {p, q, r});                                   \
  }                                                                                                \
  Tensor Tensor::name(const Scalar& p, const Scalar& q, const Scalar& r) const {                   \
    return tarn::name(*this, p, q, r);                                                             \
  }                                                                                                \
  Tensor& Tensor::name##_(const Scalar& p, const Scalar& q, const Scalar& r) const {               \
    return inplace<RowId::kRow_##name>(*this, {*this}, {p, q, r});                                 \
  }
#define BINARY(kind, name, value, d0, d1)                                                          \
  Tensor name(const Tensor& a, const Tensor& b) { return dispatch(op<RowId::kRow_##name>, {a, b}); } \
  Tensor name(const Tensor& a, const Scalar& b) { return dispatch(op<RowId::kRow_##name, 2>, {a}, {}, b); } \
  Tensor name(const Scalar& a, const Tensor& b) { return dispatch(op<RowId::kRow_##name, 1>, {b}, {}, a); } \
  Tensor Tensor::name(const Tensor& other) const { return tarn::name(*this, other); }              \
  Tensor Tensor::name(const Scalar& other) const { return tarn::name(*this, other); }              \
  Tensor& Tensor::name##_(const Tensor& other) const {                                             \
    return inplace<RowId::kRow_##name>(*this, {*this, other});                                     \
  }                                                                                                \
  Tensor& Tensor::name##_(const Scalar& other) const {                                             \
    return inplace<RowId::kRow_##name, 2>(*this, {*this}, other);                                  \
  }
#define BINARY1(kind, name, p, dp, value, d0, d1)                                                  \
  Tensor name(const Tensor& a, const Tensor& b, const Scalar& p) {                                 \
    return dispatch(op<RowId::kRow_##name>, {a, b}, {}, p);                                        \
  }                                                                                                \
  Tensor name(const Tensor& a, const Scalar& b, const Scalar& p) {                                 \
    return dispatch(op<RowId::kRow_##name, 2>, {a}, {}, {b, p});                                   \
  }                                                                                                \
  Tensor name(const Scalar& a, const Tensor& b, const Scalar& p) {                                 \
    return dispatch(op<RowId::kRow_##name, 1>, {b}, {}, {a, p});                                   \
  }                                                                                                \
  Tensor Tensor::name(const Tensor& other, const Scalar& p) const { return tarn::name(*this, other, p); } \
  Tensor Tensor::name(const Scalar& other, const Scalar& p) const { return tarn::name(*this, other, p); } \
  Tensor& Tensor::name##_(const Tensor& other, const Scalar& p) const {                            \
    return inplace<RowId::kRow_##name>(*this, {*this, other}, p);                                  \
  }                                                                                                \
  Tensor& Tensor::name##_(const Scalar& other, const Scalar& p) const {                            \
    return inplace<RowId::kRow_##name, 2>(*this, {*this}, {other, p});                             \
  }
#define TERNARY(kind, name, value, d0, d1, d2)                                                     \
  Tensor name(const Tensor& a, const Tensor& b, const Tensor& c) {                                 \
    return dispatch(op<RowId::kRow_##name>, {a, b, c});                                            \
  }                                                                                                \
  Tensor Tensor::name(const Tensor& b, const Tensor& c) const { return tarn::name(*this, b, c); }  \
  Tensor& Tensor::name##_(const Tensor& b, const Tensor& c) const {                                \
    return inplace<RowId::kRow_##name>(*this, {*this, b, c});                                      \
  }
#define TERNARY1(kind, name, p, dp, value, d0, d1, d2)                                             \
  Tensor name(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& p) {                \
    return dispatch(op<RowId::kRow_##name>, {a, b, c}, {}, p);                                     \
  }                                                                                                \
  Tensor Tensor::name(const Tensor& b, const Tensor& c, const Scalar& p) const {                   \
    return tarn::name(*this, b, c, p);                                                             \
  }                                                                                                \
  Tensor& Tensor::name##_(const Tensor& b, const Tensor& c, const Scalar& p) const {               \
    return inplace<RowId::kRow_##name>(*this, {*this, b, c}, p);                                   \
  }
#include <tarn/core/ops/pointwise.def>
// clang-format on

// --- pow ---

Tensor pow(const Tensor& a, const Tensor& b) { return dispatch(op<RowId::kRow_pow>, {a, b}); }
Tensor pow(const Scalar& a, const Tensor& b) { return dispatch(op<RowId::kRow_pow, 1>, {b}, {}, a); }
Tensor pow(const Tensor& a, const Scalar& b) {
  double e = b.to_double();
  bool floating = a.is_floating_point();
  if (e == 2 && (floating || (!b.is_floating() && a.dtype() != kBool))) return square(a);
  if (floating && e == 0.5) return sqrt(a);
  if (floating && e == -0.5) return rsqrt(a);
  if (floating && e == -1) return reciprocal(a);
  check(floating || b.is_floating() || e >= 0, "pow: integers cannot be raised to the negative power ", b,
        "; convert the tensor to a floating dtype first");
  return dispatch(op<RowId::kRow_pow, 2>, {a}, {}, b);
}
Tensor Tensor::pow(const Tensor& exponent) const { return tarn::pow(*this, exponent); }
Tensor Tensor::pow(const Scalar& exponent) const { return tarn::pow(*this, exponent); }
Tensor& Tensor::pow_(const Tensor& exponent) const {
  return inplace<RowId::kRow_pow>(*this, {*this, exponent});
}
Tensor& Tensor::pow_(const Scalar& exponent) const {
  return inplace<RowId::kRow_pow, 2>(*this, {*this}, exponent);
}

// --- division with rounding ---

namespace {
bool rounds_down(std::string_view mode) {
  check(mode == "floor" || mode == "trunc", "div: rounding_mode must be \"floor\" or \"trunc\", got \"", mode,
        "\"");
  return mode == "floor";
}
}  // namespace

Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return div(a, b);
  return dispatch(rounds_down(*rounding_mode) ? op<RowId::kRow_div_floor> : op<RowId::kRow_div_trunc>,
                  {a, b});
}
Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return div(a, b);
  return dispatch(rounds_down(*rounding_mode) ? op<RowId::kRow_div_floor, 2> : op<RowId::kRow_div_trunc, 2>,
                  {a}, {}, b);
}
Tensor floor_divide(const Tensor& a, const Tensor& b) { return div(a, b, "floor"); }
Tensor floor_divide(const Tensor& a, const Scalar& b) { return div(a, b, "floor"); }
Tensor Tensor::div(const Tensor& b, std::optional<std::string_view> mode) const {
  return tarn::div(*this, b, mode);
}
Tensor Tensor::div(const Scalar& b, std::optional<std::string_view> mode) const {
  return tarn::div(*this, b, mode);
}
Tensor& Tensor::div_(const Tensor& b, std::optional<std::string_view> mode) const {
  if (!mode) return div_(b);
  if (rounds_down(*mode)) return inplace<RowId::kRow_div_floor>(*this, {*this, b});
  return inplace<RowId::kRow_div_trunc>(*this, {*this, b});
}
Tensor& Tensor::div_(const Scalar& b, std::optional<std::string_view> mode) const {
  if (!mode) return div_(b);
  if (rounds_down(*mode)) return inplace<RowId::kRow_div_floor, 2>(*this, {*this}, b);
  return inplace<RowId::kRow_div_trunc, 2>(*this, {*this}, b);
}
Tensor Tensor::floor_divide(const Tensor& other) const { return tarn::floor_divide(*this, other); }
Tensor Tensor::floor_divide(const Scalar& other) const { return tarn::floor_divide(*this, other); }
Tensor& Tensor::floor_divide_(const Tensor& other) const { return div_(other, "floor"); }
Tensor& Tensor::floor_divide_(const Scalar& other) const { return div_(other, "floor"); }

// --- bitwise_not, clamp, lerp ---

Tensor bitwise_not(const Tensor& x) {
  return x.dtype() == kBool ? logical_not(x) : dispatch(op<RowId::kRow_bitwise_not>, {x});
}
Tensor Tensor::bitwise_not() const { return tarn::bitwise_not(*this); }
Tensor& Tensor::bitwise_not_() const {
  return dtype() == kBool ? logical_not_() : inplace<RowId::kRow_bitwise_not>(*this, {*this});
}

Tensor clamp_min(const Tensor& x, const Tensor& min) { return maximum(x, min); }
Tensor clamp_min(const Tensor& x, const Scalar& min) {
  return dispatch(op<RowId::kRow_clamp_min, 2>, {x}, {}, min);
}
Tensor clamp_max(const Tensor& x, const Tensor& max) { return minimum(x, max); }
Tensor clamp_max(const Tensor& x, const Scalar& max) {
  return dispatch(op<RowId::kRow_clamp_max, 2>, {x}, {}, max);
}
Tensor Tensor::clamp_min(const Tensor& min) const { return maximum(min); }
Tensor Tensor::clamp_min(const Scalar& min) const { return tarn::clamp_min(*this, min); }
Tensor& Tensor::clamp_min_(const Tensor& min) const { return maximum_(min); }
Tensor& Tensor::clamp_min_(const Scalar& min) const {
  return inplace<RowId::kRow_clamp_min, 2>(*this, {*this}, min);
}
Tensor Tensor::clamp_max(const Tensor& max) const { return minimum(max); }
Tensor Tensor::clamp_max(const Scalar& max) const { return tarn::clamp_max(*this, max); }
Tensor& Tensor::clamp_max_(const Tensor& max) const { return minimum_(max); }
Tensor& Tensor::clamp_max_(const Scalar& max) const {
  return inplace<RowId::kRow_clamp_max, 2>(*this, {*this}, max);
}

Tensor clamp(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  check(min || max, "clamp: at least one of min and max must be given");
  if (!max) return clamp_min(x, *min);
  if (!min) return clamp_max(x, *max);
  return dispatch(op<RowId::kRow_clamp, 6>, {x}, {}, {*min, *max});
}
Tensor clamp(const Tensor& x, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  bool has_min = min && min->defined(), has_max = max && max->defined();
  check(has_min || has_max, "clamp: at least one of min and max must be given");
  if (!has_max) return clamp_min(x, *min);
  if (!has_min) return clamp_max(x, *max);
  return dispatch(op<RowId::kRow_clamp_tensor>, {x, *min, *max});
}
Tensor Tensor::clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return tarn::clamp(*this, min, max);
}
Tensor Tensor::clamp(const std::optional<Tensor>& min, const std::optional<Tensor>& max) const {
  return tarn::clamp(*this, min, max);
}
Tensor& Tensor::clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  check(min || max, "clamp_: at least one of min and max must be given");
  if (!max) return clamp_min_(*min);
  if (!min) return clamp_max_(*max);
  return inplace<RowId::kRow_clamp, 6>(*this, {*this}, {*min, *max});
}
Tensor& Tensor::clamp_(const std::optional<Tensor>& min, const std::optional<Tensor>& max) const {
  bool has_min = min && min->defined(), has_max = max && max->defined();
  check(has_min || has_max, "clamp_: at least one of min and max must be given");
  if (!has_max) return clamp_min_(*min);
  if (!has_min) return clamp_max_(*max);
  return inplace<RowId::kRow_clamp_tensor>(*this, {*this, *min, *max});
}

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  return dispatch(op<RowId::kRow_lerp>, {a, b, weight});
}
Tensor lerp(const Tensor& a, const Tensor& b, const Scalar& weight) {
  return dispatch(op<RowId::kRow_lerp, 4>, {a, b}, {}, weight);
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const { return tarn::lerp(*this, end, weight); }
Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const { return tarn::lerp(*this, end, weight); }
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  return inplace<RowId::kRow_lerp>(*this, {*this, end, weight});
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) const {
  return inplace<RowId::kRow_lerp, 4>(*this, {*this, end}, weight);
}

// --- where, masked_fill ---

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return dispatch(op<RowId::kRow_where>, {condition, a, b});
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  return dispatch(op<RowId::kRow_where, 4>, {condition, a}, {}, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  return dispatch(op<RowId::kRow_where, 2>, {condition, b}, {}, a);
}
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b) {
  return dispatch(op<RowId::kRow_where, 6>, {condition}, {}, {a, b});
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tarn::where(condition, *this, other);
}
Tensor Tensor::where(const Tensor& condition, const Scalar& other) const {
  return tarn::where(condition, *this, other);
}

namespace {
void check_fill_value(const Tensor& value) {
  check(value.dim() == 0, "masked_fill: the value must be a 0-dim tensor, got sizes ", value.sizes());
}
}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return dispatch(op<RowId::kRow_masked_fill, 4>, {x, mask}, {}, value);
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  check_fill_value(value);
  return dispatch(op<RowId::kRow_masked_fill>, {x, mask, value});
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return tarn::masked_fill(*this, mask, value);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return tarn::masked_fill(*this, mask, value);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  check_fill_value(value);
  return inplace<RowId::kRow_masked_fill>(*this, {*this, mask, value});
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  return inplace<RowId::kRow_masked_fill, 4>(*this, {*this, mask}, value);
}

Tensor Tensor::max(const Tensor& other) const { return tarn::maximum(*this, other); }
Tensor Tensor::min(const Tensor& other) const { return tarn::minimum(*this, other); }

// --- activations ---

Tensor gelu(const Tensor& x, std::string_view approximate) {
  check(approximate == "none" || approximate == "tanh",
        "gelu: approximate must be \"none\" or \"tanh\", got \"", approximate, "\"");
  return dispatch(approximate == "none" ? op<RowId::kRow_gelu_erf> : op<RowId::kRow_gelu_tanh>, {x});
}

namespace {
double inverse_alpha(const Scalar& alpha) {
  check(alpha.to_double() != 0, "celu: alpha must not be 0");
  return 1 / alpha.to_double();
}
constexpr double kSeluAlpha = 1.6732632423543772848170429916717,
                 kSeluScale = 1.0507009873554804934193349852946;
}  // namespace

Tensor celu(const Tensor& x, const Scalar& alpha) { return elu(x, alpha, 1, inverse_alpha(alpha)); }
Tensor& celu_(const Tensor& x, const Scalar& alpha) { return x.elu_(alpha, 1, inverse_alpha(alpha)); }
Tensor selu(const Tensor& x) { return elu(x, kSeluAlpha, kSeluScale); }
Tensor& selu_(const Tensor& x) { return x.elu_(kSeluAlpha, kSeluScale); }

}  // namespace tarn::inline v1
