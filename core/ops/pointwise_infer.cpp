// Shape, dtype and layout of a pointwise op's result.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise_form.h>

#include <algorithm>
#include <cmath>

namespace tarn::inline v1::detail {

namespace {

// PyTorch's type promotion: operands fall into three ranks, tensors with dims, 0-dim tensors and numbers; a
// lower rank counts only where its category (bool < integer < floating) is higher.
class Promotion {
 public:
  void add(const Tensor& t) {
    const TensorImpl& impl = t.get();
    ScalarType dtype = impl.dtype;
    if (impl.has(kWrappedNumber)) return merge(2, is_floating(dtype) ? get_default_dtype() : dtype);
    merge(impl.sizes.size() > 0 ? 0 : 1, dtype);
  }
  void add(const Scalar& s) { merge(2, s.is_floating() ? get_default_dtype() : s.type()); }
  ScalarType result() const { return combine(ranks_[0], combine(ranks_[1], ranks_[2])); }

 private:
  void merge(int rank, ScalarType dtype) {
    ScalarType& now = ranks_[rank];
    now = now == ScalarType::Undefined ? dtype : promote_types(now, dtype);
  }
  static ScalarType combine(ScalarType higher, ScalarType lower) {
    if (lower == ScalarType::Undefined) return higher;
    if (higher == ScalarType::Undefined) return lower;
    if (is_floating(higher)) return higher;
    if (higher == kBool || is_floating(lower)) return promote_types(higher, lower);
    return higher;
  }
  ScalarType ranks_[3] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
};

ScalarType promoted_dtype(const PointwiseForm& form, const Args& a) {
  Promotion promotion;
  for (int i = 0; i < form.inputs; ++i)
    if (i != form.condition) promotion.add(a[i]);
  for (int i = 0; i < form.numbers; ++i) promotion.add(a.scalar(i));
  return promotion.result();
}

// Where all tensors have one dtype and any number is of no higher category, no ranks are needed.
ScalarType common_dtype(const PointwiseForm& form, const Args& a) {
  ScalarType dtype = ScalarType::Undefined;
  for (int i = 0; i < form.inputs; ++i) {
    if (i == form.condition) continue;
    const TensorImpl& t = a[i].get();
    if (t.has(kWrappedNumber) || (dtype != ScalarType::Undefined && dtype != t.dtype))
      return promoted_dtype(form, a);
    dtype = t.dtype;
  }
  for (int i = 0; i < form.numbers; ++i) {
    bool yields = is_floating(dtype) || (is_integral(dtype) && !a.scalar(i).is_floating());
    if (!yields) return promoted_dtype(form, a);
  }
  return dtype;
}

bool is_whole(const Scalar& s) { return !s.is_floating() || std::trunc(s.to_double()) == s.to_double(); }

void check_dtypes(const PointwiseForm& form, const Args& a, ScalarType dtype) {
  const PointwiseRow& row = *form.row;
  if (form.condition >= 0)
    check(a[form.condition].dtype() == kBool, a.op.name, ": the condition must be Bool, got ",
          a[form.condition].dtype(), "; compare first, for example x != 0");
  if (row.kind == RowKind::FILL && form.text == 0) {
    ScalarType value = form.numbers ? a.scalar().type() : a[2].dtype();
    bool fits = dtype == kBool || (form.numbers ? is_whole(a.scalar()) : !is_floating(value));
    check(is_floating(dtype) || fits, a.op.name, ": a value of ", value, " cannot be written to a tensor of ",
          dtype);
  }
  if (row.kind == RowKind::INT)
    check(!is_floating(dtype), a.op.name, ": needs integers or Bool, got ", dtype);
  if (dtype == kBool) {
    check(&row != &kPointwiseRows[generic::kRow_neg], "neg: not defined for Bool; use logical_not()");
    check(&row != &kPointwiseRows[generic::kRow_sub], "sub: not defined for Bool; use logical_xor()");
  }
  if (is_floating(dtype)) return;
  for (int i = 0; i < row.param_count; ++i)
    check(is_whole(a.scalar(form.numbers + i)), a.op.name, ": ", row.params[i], " = ",
          a.scalar(form.numbers + i), " must be an integer where the tensors are ", dtype);
}

bool same_layout(const TensorImpl& a, const TensorImpl& b) {
  return a.sizes == b.sizes && (a.flags & b.flags & kContiguousFlag || a.strides == b.strides);
}

// Row-major or channels last; other dense tensors are recognised by strides_like.
bool has_usual_layout(const TensorImpl& t) { return t.flags & (kContiguousFlag | kChannelsLastFlag); }

// Strides of `tensor` over the dims of `sizes`, 0 where it is broadcast.
Dims broadcast_strides(const Tensor& tensor, const Dims& sizes) {
  Dims strides(sizes.size(), 0);
  int shift = sizes.size() - int(tensor.dim());
  for (int d = 0; d < tensor.dim(); ++d)
    if (tensor.sizes()[d] != 1 || sizes[d + shift] == 1) strides[d + shift] = tensor.strides()[d];
  return strides;
}

// The layout that preserves the operands': dims are ordered by the strides of the first operand that tells
// two of them apart, so that permuted inputs give a permuted result (PyTorch's TensorIterator has the same
// order).
Dims result_strides(const PointwiseForm& form, const Args& a, const Dims& sizes) {
  int rank = sizes.size();
  Dims strides[5];
  for (int i = 0; i < form.inputs; ++i) strides[i] = broadcast_strides(a[i], sizes);
  // 1: dim i lies outside of dim j; -1: inside; 0: no operand can tell.
  auto compare = [&](int64_t i, int64_t j) {
    for (int k = 0; k < form.inputs; ++k) {
      int64_t x = strides[k][int(i)], y = strides[k][int(j)];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (sizes[int(i)] > sizes[int(j)]) return 1;
    }
    return 0;
  };
  Dims order(rank);  // innermost first
  for (int i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    for (int at = i, before = i - 1; before >= 0; --before) {
      int c = compare(order[before], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[before], order[at]);
        at = before;
      }
    }
  }
  Dims result(rank);
  int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    int d = int(order[i]);
    result[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return result;
}

void infer_geometry(const PointwiseForm& form, const Args& a, Spec* out) {
  const TensorImpl& first = a[0].get();
  out->device = first.storage->device;
  bool same = true;
  for (int i = 1; i < form.inputs && same; ++i) same = same_layout(first, a[i].get());
  if (same && !has_usual_layout(first)) out->strides = strides_like(a[0]);
  if (same && (has_usual_layout(first) || !out->strides.empty())) {
    out->sizes = first.sizes;
    if (has_usual_layout(first) && !first.has(kContiguousFlag)) out->strides = first.strides;
    return;
  }
  Dims sizes = first.sizes;
  bool row_major = first.has(kContiguousFlag);
  for (int i = 1; i < form.inputs; ++i) {
    const TensorImpl& t = a[i].get();
    if (!(sizes == t.sizes)) sizes = broadcast_sizes(sizes, t.sizes, a.op.name);
    row_major = row_major && t.has(kContiguousFlag);
    if (out->device.is_cpu()) out->device = t.storage->device;
  }
  if (!row_major) out->strides = result_strides(form, a, sizes);
  out->sizes = std::move(sizes);
}

}  // namespace

ScalarType pointwise_dtype(const PointwiseForm& form, const Args& a) {
  if (form.row->kind == RowKind::FILL) return a[0].dtype();
  ScalarType dtype = common_dtype(form, a);
  return form.row->kind == RowKind::FLOAT && !is_floating(dtype) ? get_default_dtype() : dtype;
}

void pointwise_infer(const Args& a, Spec* out) {
  const PointwiseForm& form = *static_cast<const PointwiseForm*>(a.op.text);
  for (int i = 1; i < form.inputs; ++i) check(a[i].defined(), a.op.name, ": input ", i, " is undefined");
  ScalarType dtype = pointwise_dtype(form, a);
  if (!is_floating(dtype) || form.row->kind == RowKind::INT || form.condition >= 0)
    check_dtypes(form, a, dtype);
  infer_geometry(form, a, out);
  out->dtype = form.row->kind == RowKind::COMPARE ? kBool : dtype;
}

}  // namespace tarn::inline v1::detail
