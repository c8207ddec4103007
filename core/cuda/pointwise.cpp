// Runs a pointwise form on a device. Operands of the compute type go to the kernel as they lie, broadcast or
// strided; others are converted first, and so is the result.
#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/ops/pointwise_form.h>

namespace tarn::inline v1::detail {

namespace {

static_assert(kCallSlots == generic::kSlots);

// By way of the common dtype where that has fewer bits than the compute type, as on the CPU.
Tensor operand(const Tensor& t, ScalarType common, ScalarType native) {
  bool narrow = common == kHalf || common == kBFloat16 || (native == kLong && t.dim() == 0);
  return converted(narrow && native != kBool ? converted(t, common) : t, native);
}

}  // namespace

void pointwise_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  const PointwiseForm& form = *static_cast<const PointwiseForm*>(a.op.text);
  ScalarType common = pointwise_dtype(form, a), compute = compute_dtype_of(common);
  ScalarType result = form.row->kind == RowKind::COMPARE ? kBool : compute;
  Tensor target =
      out->dtype() == result ? *out : make_tensor(out->sizes(), out->strides(), result, out->device());

  PointwiseCall call{};
  call.row = form.row_index();
  call.text = form.text;
  call.compute = compute_of(compute);
  call.out = target.data_ptr();
  Tensor inputs[kCallSlots];
  Dims strides[1 + kCallSlots];
  std::array<IntArrayRef, 1 + kCallSlots> refs;
  for (Dims& s : strides) s = Dims(int(out->dim()), 0);
  strides[0] = target.strides();
  for (int i = 0; i < form.inputs; ++i) {
    int slot = form.input_slots[i];
    bool is_condition = i == form.condition;
    if (a[i].is_cpu()) {  // a number
      put_pointwise_number(&call.number[slot], form, compute, is_condition ? compute : common, a[i].item());
      continue;
    }
    inputs[i] = operand(a[i], common, is_condition ? kBool : compute);
    call.in[slot] = inputs[i].data_ptr();
    strides[1 + slot] = strides_over(inputs[i], out->sizes());
  }
  for (int i = 0; i < form.numbers; ++i)
    put_pointwise_number(&call.number[form.number_slots[i]], form, compute, common, a.scalar(i));
  for (int i = 0; i < form.row->param_count; ++i)
    put_pointwise_number(&call.params[i], form, compute, common, a.scalar(form.numbers + i));
  for (int k = 0; k < 1 + kCallSlots; ++k) refs[k] = strides[k];
  call.walk = walk_of<1 + kCallSlots>(out->sizes(), refs);
  launch_cuda(a.op.name, &CudaTable::pointwise, call);
  if (!target.is_same(*out)) copy_elements(*out, target);
}

}  // namespace tarn::inline v1::detail
