#include <tarn/core/cuda/elements.h>

#include <cmath>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/cuda/memory.h>

namespace tarn::inline v1 {

namespace detail {

static_assert(int(Elem::F64) == int(kDouble) && int(Elem::Bool) == int(kBool) &&
              int(Elem::BF16) == int(kBFloat16) && int(Elem::I64) == int(kLong) &&
              int(Elem::F16) == int(kHalf));
static_assert(kWalkRank == kMaxRank);

namespace {

void free_pinned(void* data, size_t, void*) { deallocate_pinned(data); }

// A tensor on src's device whose bytes are what transfer() writes in one piece.
Tensor in_one_piece(const Tensor& dst, const Tensor& src) {
  if (src.strides() == dst.strides()) return src;
  Tensor copy = make_tensor(dst.sizes(), dst.strides(), src.dtype(), src.device());
  copy_elements(copy, src);
  return copy;
}

// The two devices' current streams take their turn: dst may be in use by what its stream was given before.
void copy_between_devices(const Tensor& dst, const Tensor& src) {
  cuda::Stream from = cuda::Stream::current(src.device().index()),
               to = cuda::Stream::current(dst.device().index());
  cuda::Event before, after;
  before.record(to);
  before.block(from);
  {
    cuda::DeviceGuard guard(src.device());
    check_cuda("to", cuda_table().copy(dst.data_ptr(), src.data_ptr(), src.nbytes(), CopyKind::DeviceToDevice,
                                       from.handle()));
  }
  after.record(from);
  after.block(to);
}

}  // namespace

Dims strides_over(const Tensor& t, IntArrayRef sizes) {
  Dims strides(int(sizes.size()), 0);
  int lead = int(sizes.size()) - int(t.dim());
  for (int d = 0; d < t.dim(); ++d) strides[lead + d] = t.sizes()[d] == 1 ? 0 : t.strides()[d];
  return strides;
}

Tensor converted(const Tensor& x, ScalarType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor out = make_tensor(x.sizes(), dtype, x.device());
  copy_elements(out, x);
  return out;
}

Tensor row_major(const Tensor& x, ScalarType dtype) {
  if (!x.defined() || (x.dtype() == dtype && x.is_contiguous())) return x;
  Tensor out = make_tensor(x.sizes(), dtype, x.device());
  copy_elements(out, x);
  return out;
}

Tensor row_major_output(const Tensor& out, ScalarType dtype) {
  if (out.dtype() == dtype && out.is_contiguous()) return out;
  return make_tensor(out.sizes(), dtype, out.device());
}

void finish_output(const Tensor& out, const Tensor& computed) {
  if (!out.is_same(computed)) copy_elements(out, computed);
}

namespace {

// Long rows of few outputs are cut up, so that more blocks than outputs have work. Depends on the shapes
// alone.
int64_t parts_of(int64_t count, int64_t outputs) {
  constexpr int64_t kPart = 16384, kEnough = 512;
  return count >= 2 * kPart && outputs < kEnough ? (count + kPart - 1) / kPart : 1;
}

}  // namespace

void reduce_cuda(const char* op, const Tensor& x, uint32_t dims, Reducer reducer, const Tensor& out,
                 double divide) {
  if (out.numel() == 0) return;
  bool floating = is_floating(x.dtype()) && is_floating(out.dtype());
  ScalarType compute = compute_dtype_of(floating ? out.dtype() : x.dtype());
  Tensor in = converted(x, compute), target = row_major_output(out, compute);
  Dims kept_sizes, kept_strides, sizes, strides;
  for (int d = 0; d < x.dim(); ++d) {
    bool reduced = dims >> d & 1;
    (reduced ? sizes : kept_sizes).push_back(in.sizes()[d]);
    (reduced ? strides : kept_strides).push_back(in.strides()[d]);
  }
  Dims out_strides = contiguous_strides(kept_sizes);
  ReduceCall call{};
  call.reducer = reducer;
  call.compute = compute_of(compute);
  call.out = target.data_ptr();
  call.in = in.data_ptr();
  call.count = numel_of(sizes, op);
  call.parts = parts_of(call.count, target.numel());
  call.divide = divide;
  call.kept = walk_of<2>(kept_sizes, {IntArrayRef(out_strides), IntArrayRef(kept_strides)});
  call.reduced = walk_of<1>(sizes, {IntArrayRef(strides)});
  Tensor partial;
  if (call.parts > 1) {
    partial = make_tensor({target.numel(), call.parts}, compute, x.device());
    call.out = partial.data_ptr();
    call.divide = 0;
  }
  launch_cuda(op, &CudaTable::reduce, call);
  if (partial.defined()) reduce_cuda(op, partial, 2, reducer, target, divide);
  finish_output(out, target);
}

void index_rows_cuda(const char* op, IndexKind kind, const Tensor& table, const Tensor& indices,
                     const Tensor& rows, int64_t padding) {
  int64_t width = table.sizes()[1], no_step = 0, one = 1;
  if (rows.numel() == 0) return;
  bool gathers = kind == IndexKind::Gather;
  IndexCall call{};
  call.kind = kind;
  call.type = Elem(table.dtype());
  call.to = gathers ? rows.data_ptr() : table.data_ptr();
  call.from = gathers ? table.data_ptr() : rows.data_ptr();
  call.index = indices.data_ptr<int64_t>();
  call.n = indices.numel();
  call.index_step = 1;
  call.other_step = call.x_step = width;
  call.size = table.sizes()[0];
  call.skip = padding;
  call.lines =
      walk_of<3>({&width, 1}, {IntArrayRef(&no_step, 1), IntArrayRef(&one, 1), IntArrayRef(&one, 1)});
  launch_cuda(op, &CudaTable::index, call);
}

void copy_elements_cuda(const Tensor& dst, const Tensor& src) {
  ensure(src.device() == dst.device(), "copy_elements: tensors on ", src.device(), " and ", dst.device());
  if (dst.dtype() == src.dtype() && dst.is_contiguous() && src.is_contiguous() &&
      dst.sizes() == src.sizes()) {
    count_cuda_launch("copy");
    return check_cuda("copy", cuda_table().copy(dst.data_ptr(), src.data_ptr(), dst.nbytes(),
                                                CopyKind::DeviceToDevice, current_cuda_stream()));
  }
  Dims strides = strides_over(src, dst.sizes());
  launch_cuda("copy", &CudaTable::copy_elements,
              CopyCall{.to = dst.data_ptr(),
                       .from = src.data_ptr(),
                       .to_type = Elem(dst.dtype()),
                       .from_type = Elem(src.dtype()),
                       .walk = walk_of<2>(dst.sizes(), {dst.strides(), IntArrayRef(strides)})});
}

void fill_elements_cuda(const Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0) return;
  bool floating = is_floating(dst.dtype());
  bool zero = floating               ? value.to_double() == 0 && !std::signbit(value.to_double())
              : dst.dtype() == kBool ? !value.to<bool>()
                                     : value.to_int64() == 0;
  if (zero && dst.is_contiguous()) {
    count_cuda_launch("fill");
    return check_cuda("fill", cuda_table().clear(dst.data_ptr(), dst.nbytes(), current_cuda_stream()));
  }
  launch_cuda("fill", &CudaTable::fill,
              FillCall{.to = dst.data_ptr(),
                       .type = Elem(dst.dtype()),
                       .real = floating ? value.to_double() : 0,
                       .integer = dst.dtype() == kBool ? value.to<bool>()
                                  : floating           ? 0
                                                       : value.to_int64(),
                       .walk = walk_of<1>(dst.sizes(), {dst.strides()})});
}

void transfer(const Tensor& dst, const Tensor& src, bool non_blocking) {
  if (dst.numel() == 0) return;
  bool to_device = !dst.is_cpu();
  Tensor from = in_one_piece(dst, src);
  if (to_device && !src.is_cpu()) return copy_between_devices(dst, from);
  const Tensor& host = to_device ? from : dst;
  Device device = to_device ? dst.device() : src.device();
  cuda::DeviceGuard guard(device);
  void* stream = current_cuda_stream();
  count_cuda_launch("to");
  check_cuda("to", cuda_table().copy(dst.data_ptr(), from.data_ptr(), dst.nbytes(),
                                     to_device ? CopyKind::HostToDevice : CopyKind::DeviceToHost, stream));
  bool pinned = host.is_pinned();
  if (pinned && non_blocking) return note_pinned_use(host.get().storage->data, stream);
  // From pageable memory the runtime has taken a copy of its own by now.
  if (!to_device || pinned) check_cuda("to", cuda_table().synchronize_stream(stream));
}

Tensor make_pinned(IntArrayRef sizes, ScalarType dtype) {
  size_t bytes = size_t(numel_of(sizes, "pin_memory")) * element_size(dtype);
  void* data = bytes ? allocate_pinned(bytes) : nullptr;
  return make_foreign(data, sizes, {}, dtype, Device(), free_pinned, nullptr);
}

}  // namespace detail

bool Tensor::is_pinned() const {
  const detail::StorageImpl& storage = *get().storage;
  return storage.deleter == detail::free_pinned && storage.data;
}

}  // namespace tarn::inline v1
