// Random fused groups beside the same ops run eagerly.
#pragma once

#include <random>
#include <vector>

#include <tarn/compile/fused.h>
#include <tarn/compile/reference.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

namespace tarn::testing {

template <int Row, int Text>
constexpr const detail::Op* row_op() {
  if constexpr (Text == 0 || generic::kPointwiseRows[Row].gradient[Text ? Text - 1 : 0][0] != 0)
    return &detail::PointwiseOp<Row, Text, 0>::op;
  else
    return nullptr;
}
// [row][text]; null where a row has no such gradient.
inline constexpr const detail::Op* kRowOps[][4] = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2)                                             \
  {row_op<generic::kRow_##name, 0>(), row_op<generic::kRow_##name, 1>(), row_op<generic::kRow_##name, 2>(), \
   row_op<generic::kRow_##name, 3>()},
#include <tarn/core/ops/pointwise.def>
};

// Strides of t over the dims of `sizes`, 0 where it is broadcast.
inline Dims strides_over(const Tensor& t, IntArrayRef sizes) {
  Dims strides(int(sizes.size()), 0);
  int shift = int(sizes.size()) - int(t.dim());
  for (int d = 0; d < t.dim(); ++d)
    if (t.sizes()[d] != 1) strides[d + shift] = t.strides()[d];
  return strides;
}

// Grows a group op by op; each op is run eagerly too.
class GroupMaker {
 public:
  explicit GroupMaker(IntArrayRef sizes) : sizes_(sizes) {}

  int input(const Tensor& t) {
    operands_.push_back(t);
    int operand = builder_.add_operand(t.dtype());
    tensors_.push_back(t);
    values_.push_back(builder_.load(operand, t.dim() == 0));
    return int(values_.size()) - 1;
  }

  int apply(const detail::Op& op, const std::vector<int>& in, const std::vector<Scalar>& numbers = {}) {
    const auto& form = *static_cast<const detail::PointwiseForm*>(op.text);
    std::vector<detail::In> tensors;
    std::vector<detail::ExpressionBuilder::Value> values;
    for (int i : in) {
      tensors.push_back(tensors_[size_t(i)]);
      values.push_back(values_[size_t(i)]);
    }
    detail::Args a{op, {tensors.data(), tensors.size()}, {}, {numbers.data(), numbers.size()}};
    Tensor eager = detail::dispatch(op, a.inputs, {}, a.scalars);
    int first = int(scalars_.size());
    scalars_.insert(scalars_.end(), numbers.begin(), numbers.end());
    values_.push_back(builder_.apply(form, values, first, detail::pointwise_dtype(form, a), eager.dtype()));
    values_.back().zero_dim = eager.dim() == 0;
    tensors_.push_back(eager);
    return int(values_.size()) - 1;
  }

  int cast(int x, ScalarType dtype) {
    tensors_.push_back(detail::cast(tensors_[size_t(x)], dtype));
    values_.push_back(builder_.cast(values_[size_t(x)], dtype));
    return int(values_.size()) - 1;
  }

  // The value becomes an output of the group; its eager tensor has the group's sizes.
  void output(int x) {
    want_.push_back(tensors_[size_t(x)]);
    stored_.push_back(x);
  }

  bool is_full(int x) const { return tensors_[size_t(x)].sizes() == IntArrayRef(sizes_); }
  const Tensor& eager(int x) const { return tensors_[size_t(x)]; }
  int count() const { return int(values_.size()); }

  detail::GroupSpec spec() {
    detail::GroupSpec spec;
    for (int x : stored_) {
      outputs_.push_back(
          detail::make_tensor(eager(x).sizes(), eager(x).strides(), eager(x).dtype(), Device()));
      builder_.store(values_[size_t(x)], builder_.add_operand(eager(x).dtype()));
    }
    spec.expression = builder_.take();
    spec.sizes = sizes_;
    spec.lead = Dims(outputs_[0].strides());
    operands_.insert(operands_.end(), outputs_.begin(), outputs_.end());
    for (const Tensor& t : operands_) spec.strides.push_back(strides_over(t, sizes_));
    return spec;
  }

  std::vector<void*> places() const {
    std::vector<void*> places;
    for (const Tensor& t : operands_) places.push_back(t.data_ptr());
    return places;
  }
  const std::vector<Scalar>& scalars() const { return scalars_; }

  // Fills the outputs with a pattern, so that what was not written shows.
  void spoil() {
    for (const Tensor& t : outputs_) std::memset(t.data_ptr(), 0x5a, size_t(t.numel()) * t.element_size());
  }
  // "" if every output has the eager ops' bits.
  std::string wrong() const {
    for (size_t i = 0; i < want_.size(); ++i) {
      std::string difference = bit_difference(outputs_[i], want_[i]);
      if (!difference.empty()) return str("output ", i, ": ", difference);
    }
    return "";
  }

  // The definition: element by element.
  void run_reference(const detail::GroupSpec& spec) const {
    std::vector<int64_t> numbers(spec.expression.numbers.size() + 1);
    detail::put_numbers(spec.expression, scalars_.data(), numbers.data());
    std::vector<void*> first = places();
    for_each_offset(sizes_, Dims(sizes_), [&](int64_t, int64_t linear) {
      std::vector<void*> at = first;
      for (size_t k = 0; k < at.size(); ++k) {
        int64_t rest = linear, offset = 0;
        for (int d = sizes_.size() - 1; d >= 0; --d) {
          offset += rest % sizes_[d] * spec.strides[k][d];
          rest /= sizes_[d];
        }
        at[k] = static_cast<char*>(at[k]) + offset * int64_t(operands_[k].element_size());
      }
      detail::run_element(spec.expression, at.data(), numbers.data());
    });
  }

 private:
  Dims sizes_;
  detail::ExpressionBuilder builder_;
  std::vector<detail::ExpressionBuilder::Value> values_;
  std::vector<Tensor> tensors_, operands_, outputs_, want_;
  std::vector<int> stored_;
  std::vector<Scalar> scalars_;
};

// Keeps a tier for a scope.
class TierScope {
 public:
  explicit TierScope(detail::TierChoice choice) : before_(detail::tier_choice()) {
    detail::set_tier_choice(choice);
  }
  ~TierScope() { detail::set_tier_choice(before_); }

 private:
  detail::TierChoice before_;
};

}  // namespace tarn::testing
